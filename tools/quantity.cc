#include "quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/refuse.h"
#include "flags/values.h"
#include "rdmabench/base/error.h"

namespace rdmabench::tools {
namespace {

/// The number at the front of `text`, which is left with what follows it.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<double> power(std::string_view suffix) {
  if (suffix.empty()) return 1;
  if (suffix.size() > 1) return std::nullopt;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    case 'P':
      return 1e15;
    default:
      return std::nullopt;
  }
}

}  // namespace

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

}  // namespace rdmabench::tools
