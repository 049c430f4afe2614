#include "run/user_options.h"

#include <fmt/ranges.h>

#include "base/nearest.h"
#include "rdmabench/base/units.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::run {
namespace {

constexpr std::size_t kShown = 60;  // characters of a user's text in an error

}  // namespace

UserOptions::UserOptions(std::string_view text, std::string_view what, std::size_t most)
    : what_(what) {
  if (text.size() > most) {
    throw Error(Fault::usage, fmt::format("{} has {} bytes", what, text.size()),
                fmt::format("It has at most {}.", most));
  }
  try {
    object_ = parse_object(text);
  } catch (const FieldError& error) {
    throw Error(Fault::usage,
                fmt::format("{} is not {}: '{}'", what, error.wanted(), error.shown()));
  }
}

bool UserOptions::has(std::string_view key) {
  const std::string& name = known_.emplace_back(key);
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

control::Authentication authentication_of(const std::string& token_file, std::string_view way,
                                          bool insecure) {
  const bool munge = way == "munge";
  if (insecure ? !way.empty() || !token_file.empty() : munge && !token_file.empty()) {
    throw Error(Fault::usage, "more than one of `insecure`, `auth` and `token_file` together",
                "Both sides prove who they are in one way, or in none.");
  }
  return insecure             ? control::Authentication::insecure()
         : munge              ? control::Authentication::munge()
         : token_file.empty() ? control::Authentication()
                              : control::Authentication::token_file(token_file);
}

void UserOptions::authentication(control::Authentication& value) {
  constexpr std::array<std::string_view, 2> kWays{"token", "munge"};
  std::string file;
  std::optional<std::size_t> way;
  bool insecure = false;
  text("token_file", file);
  optional("auth", way, [&](std::size_t& given) { name("auth", kWays, given); });
  flag("insecure", insecure);
  if (way || insecure || !file.empty()) {
    value = authentication_of(file, way ? kWays.at(*way) : "", insecure);
  }
}

void UserOptions::refuse(const FieldError& error) const {
  throw Error(Fault::usage, fmt::format("`{}` of {} is {}", error.key(), what_, error.shown()),
              fmt::format("It must be {}.", error.wanted()));
}

std::size_t UserOptions::index_of(std::string_view key, std::string_view word,
                                  std::span<const std::string_view> names) const {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw Error(Fault::usage, fmt::format("`{}` of {} is '{}'", key, what_, ascii_only(word, kShown)),
              fmt::format("It must be one of {}.", fmt::join(names, ", ")));
}

void UserOptions::sizes(std::string_view key, std::vector<std::uint64_t>& values) {
  if (!has(key)) return;
  const nlohmann::json& value = object_.at(std::string(key));
  if (value.is_array() && value.empty()) {
    throw Error(Fault::usage, fmt::format("`{}` of {} is empty", key, what_),
                "It must have one size at least.");
  }
  if (value.is_array()) return numbers(key, std::uint64_t{1}, kMaxSize, values);
  if (value.is_string()) return parsed(key, values, parse_size_list);
  values = {0};
  number(key, 1, kMaxSize, values.front());
}

void UserOptions::refuse_others() const {
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string shown = ascii_only(key, kShown);
    const std::string near = nearest(shown, known_);
    throw Error(
        Fault::usage, fmt::format("{} has the unknown key `{}`", what_, shown),
        near.empty() ? "docs/c.md lists the keys." : fmt::format("Did you mean `{}`?", near));
  }
}

}  // namespace rdmabench::inline v1::run
