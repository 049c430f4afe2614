#include "authentication.h"

#include <array>

#include "base/refuse.h"
#include "values.h"

namespace rdmabench::tools {
namespace {

using control::Authentication;

std::string way_of(const Authentication& to) {
  return to.method() == Authentication::Method::munge ? "munge" : "";
}

void set_token_file(Authentication& to, const Given& given) {
  refuse_if(given.text.empty(), "an empty --token-file", "Name the file.");
  to = run::authentication_of(given.text, way_of(to), to.is_insecure());
}

void set_auth(Authentication& to, const Given& given) {
  if (given.text != "token" && given.text != "munge") refuse_word(given, "token or munge");
  to = run::authentication_of(to.file(), given.text, to.is_insecure());
}

void set_insecure(Authentication& to, const Given& /*given*/) {
  to = run::authentication_of(to.file(), way_of(to), true);
}

}  // namespace

std::span<const Flag<Authentication>> authentication_flags() {
  const auto row = [](Spelling spelling, std::string_view text, Flag<Authentication>::Set set) {
    return Flag<Authentication>{spelling, 0, Handling::mapped, text, "", set};
  };
  static const std::array kFlags{
      row("--token-file=PATH",
          "the secret that both sides share [RDMABENCH_TOKEN_FILE, else ~/.config/rdmabench/token, "
          "made at first use]",
          set_token_file),
      row("--auth=METHOD", "how both sides authenticate each other: token, or munge [token]",
          set_auth),
      row("--insecure", "no authentication; must be given on both sides", set_insecure)};
  return kFlags;
}

std::string who_is_served(const Authentication& authentication) {
  return authentication.is_insecure() ? ", insecure: anyone who can connect is served" : "";
}

}  // namespace rdmabench::tools
