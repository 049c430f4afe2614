// The values of flags, read strictly: a tail that other programs drop, as in "3Q", is an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "flag.h"
#include "run/options.h"

namespace rdmabench::tools {

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

/// Sets an option as the command line of rdmabench does.
void set_option(const run::Option& option, run::Config& config, const Given& given);

/// A value that is not one of the allowed words.
[[noreturn]] void refuse_word(const Given& given, std::string_view words);

template <class T>
T whole_as(const Given& given, std::uint64_t min, std::uint64_t max) {
  return static_cast<T>(whole(given, min, max));
}

/// The one of `words` that was given.
template <class T, std::size_t N>
T choice(const Given& given, const std::pair<std::string_view, T> (&words)[N],
         std::string_view all_of_them) {
  for (const auto& [word, value] : words) {
    if (given.text == word) return value;
  }
  refuse_word(given, all_of_them);
}

// Flag::set for a member, `&Flags::member`, or for a member of a member: `&Flags::a, &A::member`.
template <class T, class C>
C owner_of(T C::*);
template <auto Member>
using Owner = decltype(owner_of(Member));

template <auto First, auto... Rest>
void turn_on(Owner<First>& target, const Given& /*given*/) {
  ((target.*First).*....*Rest) = true;
}
template <auto First, auto... Rest>
void turn_off(Owner<First>& target, const Given& /*given*/) {
  ((target.*First).*....*Rest) = false;
}
template <auto First, auto... Rest>
void set_text(Owner<First>& target, const Given& given) {
  ((target.*First).*....*Rest) = given.text;
}
template <auto First, auto... Rest>
void set_bytes(Owner<First>& target, const Given& given) {
  ((target.*First).*....*Rest) = bytes(given);
}
template <auto First, auto... Rest>
void set_real(Owner<First>& target, const Given& given) {
  ((target.*First).*....*Rest) = real(given);
}
template <auto First, auto... Rest>
void set_duration(Owner<First>& target, const Given& given) {
  ((target.*First).*....*Rest) = duration(given);
}
/// An integer, an enumeration or an optional of one.
template <std::uint64_t Min, std::uint64_t Max, auto First, auto... Rest>
void set_number(Owner<First>& target, const Given& given) {
  auto& member = ((target.*First).*....*Rest);
  member = static_cast<std::remove_reference_t<decltype(member)>>(whole(given, Min, Max));
}

}  // namespace rdmabench::tools
