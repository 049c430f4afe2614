#include "run/user_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::run {
namespace {

constexpr std::size_t kShown = 60;  // characters of a user's text in an error

/// Where the protocol and the report name an option otherwise than errors and Config do.
constexpr std::array<std::array<std::string_view, 2>, 7> kSpelled{
    {{"test", "shape"},
     {"threads", "workers"},
     {"incast_clients", "clients"},
     {"rdma_cm", "connection_manager"},
     {"working_set_bytes", "working_set"},
     {"stride_bytes", "stride"},
     {"misalignment_bytes", "misalignment"}}};

}  // namespace

UserOptions::UserOptions(std::string_view text, std::string_view what, std::size_t most)
    : what_(what) {
  if (text.size() > most) {
    throw Error(Fault::usage, fmt::format("{} has {} bytes", what, text.size()),
                fmt::format("It has at most {}.", most));
  }
  try {
    object_ = parse_object(text, what);
  } catch (const FieldError& error) {
    throw Error(Fault::usage,
                fmt::format("{} is not {}: '{}'", what, error.wanted(), error.shown()));
  }
}

std::string UserOptions::spelled(std::string_view key) {
  for (const auto& [written, name] : kSpelled) {
    if (key == written) return std::string(name);
  }
  return std::string(key);
}

bool UserOptions::has(std::string_view key) {
  const std::string name = spelled(key);
  known_.push_back(name);
  const auto found = object_.find(name);
  return found != object_.end() && !found->is_null();
}

void UserOptions::authentication(control::Authentication& value) {
  constexpr std::array<std::string_view, 2> kWays{"token", "munge"};
  std::string file;
  std::size_t way = 0;
  bool insecure = false;
  text("token_file", file);
  const bool has_way = has("auth");
  if (has_way) {
    take("auth", [&](const std::string& name) {
      way = index_of(name, get_string(object_, name, kMaxValue), kWays);
    });
  }
  flag("insecure", insecure);
  if (insecure ? has_way || !file.empty() : way == 1 && !file.empty()) {
    throw Error(Fault::usage,
                fmt::format("more than one of `insecure`, `auth` and `token_file` in {}", what_),
                "Both sides prove who they are in one way, or in none.");
  }
  if (insecure) {
    value = control::Authentication::insecure();
  } else if (way == 1) {
    value = control::Authentication::munge();
  } else if (!file.empty()) {
    value = control::Authentication::token_file(file);
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

void UserOptions::texts(std::string_view key, std::vector<std::string>& values) {
  take(key, [&](const std::string& name) {
    std::vector<std::string> list;
    for (const nlohmann::json& item : get_list(object_, name, kMaxItems)) {
      if (!item.is_string()) {
        throw Error(Fault::usage,
                    fmt::format("`{}[{}]` of {} is not text", name, list.size(), what_));
      }
      list.push_back(item.get<std::string>());
    }
    values = std::move(list);
  });
}

void UserOptions::sizes(std::string_view key, std::uint64_t max,
                        std::vector<std::uint64_t>& values) {
  if (!has(key)) return;
  const nlohmann::json& value = object_.at(spelled(key));
  if (value.is_array() && value.empty()) {
    throw Error(Fault::usage, fmt::format("`{}` of {} is empty", spelled(key), what_),
                "It must have one size at least.");
  }
  if (value.is_array()) return numbers(key, std::uint64_t{1}, max, values);
  if (!value.is_string()) {
    std::uint64_t one = 0;
    number(key, 1, max, one);
    values = {one};
    return;
  }
  parsed(key, values, parse_size_list);
  const std::uint64_t largest = *std::max_element(values.begin(), values.end());
  if (largest > max) {
    throw Error(Fault::usage, fmt::format("`{}` of {} has {} bytes", spelled(key), what_, largest),
                fmt::format("It must be a size from 1 to {}.", max));
  }
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

}  // namespace rdmabench::run
