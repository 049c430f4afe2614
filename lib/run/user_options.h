// A JSON object that a user wrote: reads the keys that are known, and refuses the others.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/walk.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::run {

/// Each key is read by one of the calls, which leaves its value alone where the object has not the
/// key or has null there. They throw Error(usage) that names the key in backquotes, what it is and
/// what it must be. It may be the `fields` of walk_option().
class UserOptions {
 public:
  static constexpr std::size_t kMaxText = 1 << 20;  ///< bytes of the whole object
  static constexpr std::size_t kMaxValue = 4096;    ///< bytes of one text: a path
  static constexpr std::size_t kMaxParsed = 256;    ///< bytes of one that is parsed further
  static constexpr std::size_t kMaxItems = 4096;    ///< of one list

  /// `what` is for errors: "the configuration". `most` is of the whole object, in bytes.
  UserOptions(std::string_view text, std::string_view what, std::size_t most = kMaxText);

  template <class T>
  void number(std::string_view key, std::int64_t min, std::uint64_t max, T& value) {
    take(key, [&](const std::string& name) {
      MessageFields(&object_).number(name.c_str(), min, max, value);
    });
  }
  /// Any that the type holds.
  template <class T>
  void number(std::string_view key, T& value) {
    number(key, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), value);
  }
  template <class Flag>  // bool, or an optional one
  void flag(std::string_view key, Flag& value) {
    take(key, [&](const std::string& name) { value = get_bool(object_, name); });
  }
  void text(std::string_view key, std::string& value) {
    take(key, [&](const std::string& name) { value = get_string(object_, name, kMaxValue); });
  }
  template <class T, class Walk>
  void optional(std::string_view key, std::optional<T>& value, Walk walk_value) {
    if (has(key)) walk_value(value.emplace());
  }
  /// `token_file`, `auth` and `insecure`.
  void authentication(control::Authentication& value);
  /// A short text that `parse` reads, which throws Error(usage); '?' for what a terminal could
  /// choke on, since errors quote it.
  template <class T, class Parse>
  void parsed(std::string_view key, T& value, Parse&& parse) {
    take(key, [&](const std::string& name) {
      const std::string text = ascii_only(get_string(object_, name, kMaxParsed));
      try {
        value = parse(text);
      } catch (const Error& error) {
        throw error.at(fmt::format("`{}` of {}", name, what_));
      }
    });
  }
  template <class Enum, std::size_t kCount>
  void name(std::string_view key, const std::array<std::string_view, kCount>& names, Enum& value) {
    take(key, [&](const std::string& as) {
      value = static_cast<Enum>(index_of(as, get_string(object_, as, kMaxValue), names));
    });
  }

  void real(std::string_view key, double min, double max, double& value) {
    take(key, [&](const std::string& name) { value = get_double(object_, name, min, max); });
  }
  /// A time, whose key ends in "_s".
  template <class Duration>
  void seconds(std::string_view key, double min, double max, Duration& value) {
    double number = std::chrono::duration<double>(value).count();
    if (!has(key)) return;
    real(key, min, max, number);
    value = std::chrono::round<Duration>(std::chrono::duration<double>(number));
  }
  /// A list of texts, each as long as a whole object may be.
  void texts(std::string_view key, std::vector<std::string>& values) {
    take(key, [&](const std::string& name) {
      values = get_string_list(object_, name, kMaxItems, std::size_t{1} << 28);
    });
  }
  template <class T>
  void numbers(std::string_view key, T min, T max, std::vector<T>& values) {
    take(key, [&](const std::string& name) {
      const auto list = get_uint_list(object_, name, kMaxItems, static_cast<std::uint64_t>(min),
                                      static_cast<std::uint64_t>(max));
      values.assign(list.begin(), list.end());
    });
  }
  /// An object within this one: calls read(UserOptions&), then refuses what that left over.
  template <class Read>
  void object(std::string_view key, Read&& read) {
    take(key, [&](const std::string& name) {
      UserOptions inner(get_object(object_, name), fmt::format("`{}` of {}", name, what_));
      read(inner);
      inner.refuse_others();
    });
  }
  /// Sizes in bytes: 8, [8, 64], or a text as parse_size_list() reads it.
  void sizes(std::string_view key, std::vector<std::uint64_t>& values);

  /// Whether the key is given. It counts as known from then on.
  bool has(std::string_view key);

  /// Throws Error(usage) that names a key which no call has asked for, and the nearest known one.
  void refuse_others() const;

 private:
  template <class Read>
  void take(std::string_view key, Read&& read) {
    if (!has(key)) return;
    try {
      read(std::string(key));
    } catch (const FieldError& error) {
      refuse(error);
    }
  }
  UserOptions(nlohmann::json object, std::string what)
      : what_(std::move(what)), object_(std::move(object)) {}
  std::size_t index_of(std::string_view key, std::string_view word,
                       std::span<const std::string_view> names) const;
  [[noreturn]] void refuse(const FieldError& error) const;

  std::string what_;
  nlohmann::json object_;
  std::vector<std::string> known_;
};

}  // namespace rdmabench::inline v1::run
