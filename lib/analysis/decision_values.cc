#include "decision_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "results/text_table.h"

namespace rdmabench::inline v1::analysis {
namespace {

std::string with_commas(double whole) {
  std::string text = fmt::format("{:.0f}", std::abs(whole));
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return (whole < 0 ? "-" : "") + text;
}

/// Two digits that count, and no fraction from ten on.
std::string percent_digits(double percent) {
  const double size = std::abs(percent);
  if (std::abs(percent - std::round(percent)) < 1e-9) return with_commas(std::round(percent));
  if (size >= 9.95) return with_commas(std::round(percent));
  if (size >= 0.095) return fmt::format("{:.1f}", percent);
  return size < 0.005 ? "0" : fmt::format("{:.2f}", percent);
}

struct TimeUnit {
  Text key;
  double seconds;
  double below;  ///< it is taken for times under that
};
constexpr std::array<TimeUnit, 5> kUnits{{{Text::unit_ms, 1e-3, 1},
                                          {Text::unit_s, 1, 120},
                                          {Text::unit_min, 60, 7200},
                                          {Text::unit_h, 3600, 3 * 86400},
                                          {Text::unit_days, 86400, INFINITY}}};

const TimeUnit& unit_of(double seconds) {
  return *std::find_if(kUnits.begin(), kUnits.end() - 1,
                       [&](const TimeUnit& unit) { return std::abs(seconds) < unit.below; });
}

/// Three digits that count, without zeros at the end of a fraction.
std::string short_digits(double value) {
  std::string text = digits(value);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string digits(double value) {
  const double size = std::abs(value);
  if (size >= 999.5) return with_commas(std::round(value));
  if (size >= 99.95) return fmt::format("{:.0f}", value);
  if (size == 0) return "0";
  const int before = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 0;
  if (before == 0) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, 3 - before);
}

Value Shown::text(std::string name, const std::string& text) {
  return {std::move(name), text, report::terminal_safe(text)};
}

Value Shown::number(std::string name, double value) {
  const bool whole = value == std::round(value) && std::abs(value) < 1e15;
  return {std::move(name), value, whole ? with_commas(value) : digits(value)};
}

Value Shown::percent(std::string name, double share) {
  return {std::move(name), share, percent_digits(100 * share)};
}

Value Shown::change(std::string name, double share) {
  const std::string text = percent_digits(100 * share);
  return {std::move(name), share, share > 0 && text != "0" ? "+" + text : text};
}

Value Shown::money(std::string name, double value) const {
  const double size = std::abs(value);
  const std::string text =
      size >= 99.995 || (size < 0.095 && size > 0) ? digits(size) : fmt::format("{:.2f}", size);
  const std::string sign = value < 0 ? "-" : "";
  // A code stands behind the number, as a Korean word does; a sign ("$") before it.
  constexpr std::string_view kFirstOfHangul = "\xEA\xEB\xEC\xED";
  const bool is_code = !currency_.empty() && std::isalpha(static_cast<unsigned char>(currency_[0]));
  if (is_code) return {std::move(name), value, fmt::format("{}{} {}", sign, text, currency_)};
  const bool is_word = kFirstOfHangul.find(currency_.substr(0, 1)) != std::string_view::npos;
  return {std::move(name), value,
          is_word ? sign + text + currency_ : fmt::format("{}{}{}", sign, currency_, text)};
}

Value Shown::quantity(std::string name, double value) const {
  struct Unit {
    Text key;
    double english;
    double korean;
  };
  constexpr std::array<Unit, 3> kQuantities{{{Text::unit_trillion, 1e12, 1e12},
                                             {Text::unit_billion, 1e9, 1e8},
                                             {Text::unit_million, 1e6, 1e4}}};
  for (const Unit& unit : kQuantities) {
    const double in_unit = value / (language_ == Language::korean ? unit.korean : unit.english);
    if (in_unit < 1) continue;
    std::string text = say(unit.key, {{"value", in_unit, short_digits(in_unit)}}).text;
    return {std::move(name), value, std::move(text)};
  }
  return number(std::move(name), value);
}

Value Shown::bytes(std::string name, double value) {
  constexpr std::array<const char*, 4> kSizes{"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  double in_unit = value;
  for (; in_unit >= 1024 && unit + 1 < kSizes.size(); ++unit) in_unit /= 1024;
  return {std::move(name), value, fmt::format("{} {}", short_digits(in_unit), kSizes[unit])};
}

Value Shown::time(std::string name, double seconds, double like) const {
  const TimeUnit& unit = unit_of(like);
  const double in_unit = seconds / unit.seconds;
  return {std::move(name), seconds, say(unit.key, {{"value", in_unit, digits(in_unit)}}).text};
}

Value Shown::time_like(std::string name, double seconds, double like) {
  return {std::move(name), seconds, digits(seconds / unit_of(like).seconds)};
}

Value Shown::assumption(std::string name, std::string_view assumption, double value) const {
  if (assumption == "overlap" || assumption == "mfu") {
    return {std::move(name), value,
            percent_digits(100 * value) + (language_ == Language::korean ? "%" : " %")};
  }
  if (assumption == "bucket_bytes") return bytes(std::move(name), value);
  if (assumption == "parameters") return quantity(std::move(name), value);
  const auto scaled = [&](const char* unit) {
    constexpr std::array<std::pair<double, const char*>, 4> kScales{
        {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1, ""}}};
    const auto* const scale = std::find_if(kScales.begin(), kScales.end() - 1,
                                           [&](const auto& one) { return value >= one.first; });
    return Value{std::move(name), value,
                 fmt::format("{} {}{}", short_digits(value / scale->first), scale->second, unit)};
  };
  if (assumption == "flops_per_gpu") return scaled("FLOP/s");
  if (assumption == "bytes_per_s_in_node") return scaled("B/s");
  return number(std::move(name), value >= 10 ? std::round(value) : value);
}

}  // namespace rdmabench::inline v1::analysis
