#include "values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/number.h"
#include "base/refuse.h"
#include "base/text.h"

namespace rdmabench::inline v1::tools {
namespace {

/// "0x68", which perftest and nccl-tests accept; nothing where the text does not begin so.
std::optional<std::uint64_t> hexadecimal(const Given& given) {
  if (!given.text.starts_with("0x") && !given.text.starts_with("0X")) return std::nullopt;
  const auto value = parse_number<std::uint64_t>(std::string_view(given.text).substr(2), 16);
  refuse_if(!value, fmt::format("{} '{}' is not a number", given.name, given.text),
            "Write a number such as 104 or 0x68.");
  return value;
}

/// "1.5M" in bytes; nothing for any other text. parse_size() reads whole numbers only.
std::optional<std::uint64_t> fraction(const std::string& text) {
  constexpr double kMost = 1ULL << 50U;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [tail, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || text.find('.') == std::string_view::npos || tail == text.data())
    return {};
  const double all = value * static_cast<double>(parse_size(std::string("1").append(tail, end)));
  if (!(all >= 0) || all > kMost || all != std::floor(all)) return {};
  return static_cast<std::uint64_t>(all);
}

/// The number at the front of `text`, which is left with what follows it.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> power(std::string_view suffix) {
  constexpr std::string_view kLetters = "kKMGBTP";
  constexpr double kPowers[]{1e3, 1e3, 1e6, 1e9, 1e9, 1e12, 1e15};
  if (suffix.empty()) return 1;
  const std::size_t at = suffix.size() == 1 ? kLetters.find(suffix[0]) : std::string_view::npos;
  return at == std::string_view::npos ? std::nullopt : std::optional(kPowers[at]);
}

}  // namespace

std::uint64_t whole(const Given& given, std::uint64_t min, std::uint64_t max) {
  const std::optional<std::uint64_t> hex = hexadecimal(given);
  const std::uint64_t value = hex ? *hex : named(given, [&] { return parse_count(given.text); });
  refuse_if(value < min || value > max, fmt::format("{} {}", given.name, given.text),
            fmt::format("It may be {} to {}.", min, max));
  return value;
}

double real(const Given& given) {
  const auto value = parse_number<double>(given.text);
  if (value && *value >= 0) return *value;
  throw Error(Fault::usage,
              fmt::format("{} '{}' is not a number of 0 or more", given.name, given.text),
              "Write a number such as 12.5.");
}

std::uint64_t bytes(const Given& given) {
  if (const std::optional<std::uint64_t> hex = hexadecimal(given)) return *hex;
  return named(given, [&] {
    const std::optional<std::uint64_t> parts = fraction(given.text);
    return parts ? *parts : parse_size(given.text);
  });
}

std::chrono::nanoseconds duration(const Given& given) {
  return named(given, [&] { return parse_duration(given.text); });
}

void check_time(std::chrono::nanoseconds value, const Given& given, const run::Bounds& bounds) {
  const std::chrono::milliseconds least(bounds.min), most(bounds.max);
  refuse_if(bounds.max != 0 && (value < least || value > most),
            fmt::format("{} {}", given.name, given.text),
            fmt::format("It may be {} to {} ms.", bounds.min, bounds.max));
}

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ',')) {
    words.emplace_back(word);
    refuse_if(word.empty(), fmt::format("'{}' has an empty item", text),
              "Separate items by single commas.");
  }
  return words;
}

std::size_t one_of(const Given& given, std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), lower(given.text));
  if (found == words.end()) refuse_word(given, words);
  return static_cast<std::size_t>(found - words.begin());
}

std::int64_t number(const Given& given, const run::Bounds& bounds) {
  if (!bounds.word.empty() && given.text == bounds.word) return bounds.value;
  if (bounds.unit == run::Unit::limit) {
    return static_cast<std::int64_t>(
        std::min(bytes(given), static_cast<std::uint64_t>(bounds.max)));
  }
  const bool in_bytes = bounds.unit == run::Unit::bytes || bounds.max == 0;
  return static_cast<std::int64_t>(in_bytes ? bytes(given)
                                            : whole(given, static_cast<std::uint64_t>(bounds.min),
                                                    static_cast<std::uint64_t>(bounds.max)));
}

void set_option(const run::Option& option, run::Config& config, const Given& given) {
  std::visit(
      [&](auto* value) {
        set_value(*value, given, option.bounds);
        if constexpr (std::is_same_v<decltype(value), bool*>) {
          run::Config usual;
          *value = !*std::get<bool*>(option.in(usual));
        }
      },
      option.in(config));
}

void refuse_word(const Given& given, std::string_view words) {
  throw Error(Fault::usage, fmt::format("{} '{}'", given.name, given.text),
              fmt::format("It may be {}.", words));
}

void refuse_word(const Given& given, std::span<const std::string_view> words) {
  refuse_word(
      given, fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back()));
}

double parse_percent(const std::string& text) {
  std::string_view rest = text;
  const auto value = take_number(rest);
  if (value && rest == "%") return *value / 100;
  throw Error(Fault::usage, fmt::format("invalid percentage '{}'", text), "Write 5% or 0.5%.");
}

std::optional<double> quantity_of(std::string_view text) {
  const auto value = take_number(text);
  const auto factor = power(text);
  return value && factor ? std::optional(*value * *factor) : std::nullopt;
}

double parse_quantity(const std::string& text) {
  if (const auto value = quantity_of(text)) return *value;
  throw Error(Fault::usage, fmt::format("invalid number '{}'", text),
              "Write 4096, 4k, 8B or 989T: powers of 1000.");
}

std::vector<double> parse_quantities(const std::string& text) {
  std::vector<double> values;
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
    const double last = parse_quantity(text.substr(colon + 1));
    double value = parse_quantity(text.substr(0, colon));
    refuse_if(!(value > 0) || value > last, fmt::format("invalid range '{}'", text),
              "Write 2:1024, from the smaller to the larger.");
    while (value < last) {
      values.push_back(value);
      value *= 2;
    }
    values.push_back(last);
  } else {
    for (const std::string& word : comma_separated(text)) values.push_back(parse_quantity(word));
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[i - 1]) continue;
    throw Error(Fault::usage, fmt::format("the values of '{}' are not ascending", text),
                "Give each value once, the smaller first.");
  }
  return values;
}

}  // namespace rdmabench::inline v1::tools
