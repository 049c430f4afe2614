
#include "flag.h"

#include "base/refuse.h"
#include "values.h"

namespace rdmabench::inline v1::tools {
namespace {

using control::Authentication;

std::string way_of(const Authentication& to) {
  return to.method() == Authentication::Method::munge ? "munge" : "";
}

constexpr Flag<Authentication> row(Spelling spelling, std::string_view text,
                                   Flag<Authentication>::Set set) {
  return {spelling, 0, Handling::mapped, text, "", set};
}
constexpr Flag<Authentication> kFlags[] = {
    row("--token-file=PATH",
        "the secret that both sides share [RDMABENCH_TOKEN_FILE, else ~/.config/rdmabench/token, "
        "made at first use]",
        [](Authentication& to, const Given& given) {
          refuse_if(given.text.empty(), "an empty --token-file", "Name the file.");
          to = run::authentication_of(given.text, way_of(to), to.is_insecure());
        }),
    row("--auth=METHOD", "how both sides authenticate each other: token, or munge [token]",
        [](Authentication& to, const Given& given) {
          if (given.text != "token" && given.text != "munge") refuse_word(given, "token or munge");
          to = run::authentication_of(to.file(), given.text, to.is_insecure());
        }),
    row("--insecure", "no authentication; must be given on both sides",
        [](Authentication& to, const Given& /*given*/) {
          to = run::authentication_of(to.file(), way_of(to), true);
        })};

}  // namespace

std::span<const Flag<Authentication>> authentication_flags() {
  return kFlags;
}

std::string who_is_served(const Authentication& authentication) {
  return authentication.is_insecure() ? ", insecure: anyone who can connect is served" : "";
}

}  // namespace rdmabench::inline v1::tools
