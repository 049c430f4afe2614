// The values of flags, read strictly: a tail that other programs drop, as in "3Q", is an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "flag.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "run/options.h"

namespace rdmabench::inline v1::tools {

// Each throws Error(usage) that names the flag and the value.

/// A whole number within bounds: "1000", "5k", "0x68".
std::uint64_t whole(const Given& given, std::uint64_t min, std::uint64_t max);

/// A number above or equal to 0: "12.5".
double real(const Given& given);

/// Bytes, by powers of 1024: "65536", "64K", "1.5M" (which must come to whole bytes), "0x1000".
std::uint64_t bytes(const Given& given);

/// "10" and "10s" are seconds, "250ms", "2m".
std::chrono::nanoseconds duration(const Given& given);

/// Words separated by commas; none may be empty.
std::vector<std::string> comma_separated(const std::string& text);

/// "8B", "8.03B", "989T", "4k", "1e9": by powers of 1000; B and G are both 10^9. None for another
/// text.
std::optional<double> quantity_of(std::string_view text);

/// "5%" or "0.5%" -> 0.05 or 0.005. The sign must be there: 5 and 0.05 are too easily mistaken.
double parse_percent(const std::string& text);

/// As quantity_of().
double parse_quantity(const std::string& text);

/// "8,16,64" as written, or "2:1024" for every doubling, the last included. Rising.
std::vector<double> parse_quantities(const std::string& text);

/// A value that is not one of the allowed words.
[[noreturn]] void refuse_word(const Given& given, std::string_view words);
[[noreturn]] void refuse_word(const Given& given, std::span<const std::string_view> words);

template <class T>
T whole_as(const Given& given, std::uint64_t min, std::uint64_t max) {
  return static_cast<T>(whole(given, min, max));
}

/// The one of `words` that was given. `explained`: all of them, for the error, where they need it.
template <class T, std::size_t N>
T choice(const Given& given, const std::pair<std::string_view, T> (&words)[N],
         std::string_view explained = {}) {
  std::vector<std::string_view> all;
  for (const auto& [word, value] : words) {
    if (given.text == word) return value;
    all.push_back(word);
  }
  if (!explained.empty()) refuse_word(given, explained);
  refuse_word(given, all);
}

/// Which of `words` was given, in letters of either case.
std::size_t one_of(const Given& given, std::span<const std::string_view> words);

/// An enumeration that counts from 0, or an optional one.
template <class T>
void set_word(T& value, const Given& given, std::span<const std::string_view> words) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(one_of(given, words));
  } else {
    set_word(value.emplace(), given, words);
  }
}

/// The Error of `parse`, with the flag in front.
template <class Parse>
auto named(const Given& given, Parse&& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.fault(), given.name + ": " + error.what());
  }
}

/// Bounds are milliseconds; without any, nothing is checked.
void check_time(std::chrono::nanoseconds value, const Given& given, const run::Bounds& bounds);

/// A whole number, or bytes where the bounds are of bytes or there are none; or their word.
std::int64_t number(const Given& given, const run::Bounds& bounds);

/// Sets a value of an option, read by its type; a bool without bounds becomes true.
template <class T>
void set_value(T& value, const Given& given, const run::Bounds& bounds = {}) {
  if constexpr (std::is_same_v<T, bool>) {
    value = bounds.max == 0 || number(given, bounds) != 0;
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = given.text;
  } else if constexpr (std::is_same_v<T, double>) {
    value = real(given);
  } else if constexpr (requires { value.emplace(); }) {  // an optional one
    set_value(value.emplace(), given, bounds);
  } else if constexpr (requires { std::chrono::duration_cast<T>(duration(given)); }) {
    value = std::chrono::duration_cast<T>(duration(given));
    check_time(value, given, bounds);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    value = comma_separated(given.text);
  } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
    value = parse_size_list(given.text);
  } else if constexpr (std::is_same_v<T, std::vector<run::Requirement>>) {
    value = run::parse_requirements(given.text);
  } else if constexpr (requires { run::names_of(value); }) {
    set_word(value, given, run::names_of(value));
  } else {
    value = static_cast<T>(number(given, bounds));
  }
}

/// Sets an option as the command line of rdmabench does.
void set_option(const run::Option& option, run::Config& config, const Given& given);

template <class T, class C>
C owner_of(T C::*);

/// Flag::set for a member, by set_value() within these bounds.
template <auto Member, std::int64_t Min = 0, std::int64_t Max = 0>
void set(decltype(owner_of(Member))& target, const Given& given) {
  set_value(target.*Member, given, {Min, Max});
}

}  // namespace rdmabench::inline v1::tools
