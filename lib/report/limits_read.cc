// Reads the text of a limit.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/refuse.h"
#include "digest.h"
#include "limits.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::array kTimes{Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
constexpr std::array kBits{Unit{"Tb/s", 1e12}, Unit{"Gb/s", 1e9}, Unit{"Mb/s", 1e6},
                           Unit{"kb/s", 1e3},  Unit{"b/s", 1},    Unit{"GB/s", 8e9},
                           Unit{"MB/s", 8e6}};
constexpr std::array kBytes{Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"Gb/s", 1e9 / 8},
                            Unit{"Mb/s", 1e6 / 8}};
constexpr std::array kCounts{Unit{"", 1},      Unit{"/s", 1},  Unit{"k", 1e3},
                             Unit{"k/s", 1e3}, Unit{"M", 1e6}, Unit{"M/s", 1e6}};

/// More than elsewhere: a value just below its limit should not read as the limit.
constexpr int kDigitsOfLimits = 4;

std::string limit_rate_text(double bits_per_s) {
  return rate_text(bits_per_s, kDigitsOfLimits);
}

std::string limit_time_text(double ns) {
  return time_text(ns, kDigitsOfLimits);
}

std::string byte_rate_text(double bytes_per_s) {
  return digits_text(bytes_per_s / 1e9, kDigitsOfLimits) + " GB/s";
}

std::string count_text(double value) {
  return fmt::format("{:.6g}/s", value);
}

/// The short names of what is asked for most.
struct Alias {
  std::string_view name;
  std::string_view key;
};
constexpr std::array kAliases{Alias{"bw", "bits_per_s"},
                              Alias{"rate", "messages_per_s"},
                              Alias{"busbw", "bus_bytes_per_s"},
                              Alias{"algbw", "algorithm_bytes_per_s"},
                              Alias{"p50", "p50_ns"},
                              Alias{"p90", "p90_ns"},
                              Alias{"p99", "p99_ns"},
                              Alias{"p999", "p999_ns"},
                              Alias{"p9999", "p9999_ns"},
                              Alias{"mean", "mean_ns"},
                              Alias{"max", "max_ns"}};

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(Fault::usage, fmt::format("invalid limit '{}': {}", text, why),
              "Write for example bw>=360Gb/s, p99<=5us, bw>=90%line or busbw>=40GB/s@64M+.");
}

/// "@64M" and "@64M+" at the end, which it takes off. Another @ may be of a baseline's path.
void take_sizes(Limit& limit, std::string_view& rest) {
  const std::size_t at = rest.rfind('@');
  if (at == std::string_view::npos) return;
  std::string_view size = rest.substr(at + 1);
  const std::size_t percent = rest.find('%');
  const std::string_view of = percent == std::string_view::npos ? "line" : rest.substr(percent + 1);
  const bool path = of != "line" && !of.starts_with("line@");
  const bool is_size = size.find_first_of("0123456789") == 0 &&
                       size.find_first_not_of("0123456789.kKMGTiB+") == std::string_view::npos;
  if (path && !is_size) return;
  const bool from = size.ends_with('+');
  if (from) size.remove_suffix(1);
  limit.least_size = parse_size(size);
  if (!from) limit.most_size = limit.least_size;
  rest = rest.substr(0, at);
}

void take_value(Limit& limit, std::string_view text, const Measure& measure) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit.value);
  if (error != std::errc() || limit.value < 0 || !std::isfinite(limit.value)) {
    refuse(limit.text, fmt::format("'{}' does not begin with a number", text));
  }
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.starts_with('%')) {
    unit.remove_prefix(1);
    if (unit.empty()) refuse(limit.text, "% must be followed by line or by a document's path");
    if (limit.value == 0) refuse(limit.text, "0 % holds nothing back");
    limit.value /= 100;
    limit.of = unit == "line" ? Limit::Of::line : Limit::Of::baseline;
    if (unit == "-") refuse(limit.text, "a baseline is a file, and - is none");
    if (limit.of == Limit::Of::baseline) limit.baseline = unit;
    if (limit.of == Limit::Of::line && key_of(limit.quantity) != "bits_per_s") {
      refuse(limit.text, "only bw has a line rate");
    }
    return;
  }
  std::string known;
  for (const Unit& one : measure.units) {
    if (one.text == unit) {
      if (limit.value == 0) refuse(limit.text, "a limit of 0 holds nothing back");
      limit.value *= one.factor;
      if (!std::isfinite(limit.value)) refuse(limit.text, "the limit is too large");
      return;
    }
    if (!one.text.empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", one.text);
  }
  refuse(limit.text, fmt::format("'{}' is not a unit of {}: {}", unit, limit.quantity, known));
}

}  // namespace

std::optional<Measure> measure_of(std::string_view key) {
  if (key.ends_with("_ns")) return Measure{kTimes, limit_time_text};
  if (key.ends_with("bits_per_s")) return Measure{kBits, limit_rate_text};
  if (key.ends_with("bytes_per_s")) return Measure{kBytes, byte_rate_text};
  if (key.ends_with("_per_s")) return Measure{kCounts, count_text};
  return std::nullopt;
}

std::string_view key_of(std::string_view quantity) {
  for (const Alias& alias : kAliases) {
    if (alias.name == quantity) return alias.key;
  }
  return quantity;
}

Limit parse_limit(std::string_view text) {
  Limit limit;
  limit.text = text;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals < 2 ||
      (text[equals - 1] != '>' && text[equals - 1] != '<')) {
    refuse(text, "it is not QUANTITY>=LIMIT or QUANTITY<=LIMIT");
  }
  limit.quantity = text.substr(0, equals - 1);
  limit.at_least = text[equals - 1] == '>';
  const std::optional<Measure> measure = measure_of(key_of(limit.quantity));
  if (!measure) {
    std::string known;
    for (const Alias& alias : kAliases) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", alias.name);
    }
    refuse(text, fmt::format("'{}' is not a quantity: {}, or a key of a result in JSON",
                             limit.quantity, known));
  }
  std::string_view rest = text.substr(equals + 1);
  take_sizes(limit, rest);
  take_value(limit, rest, *measure);
  return limit;
}

std::vector<Limit> read_profile(const std::string& path) {
  const Json profile = Json::parse(read_document(path), nullptr, false);
  const bool is_list =
      profile.is_object() && profile.contains("expect") && profile["expect"].is_array();
  refuse_if(!is_list || profile["expect"].empty(),
            fmt::format("{} has no {}list \"expect\"", path, is_list ? "limit in its " : ""),
            R"(A profile is {"expect": ["bw>=90%line"], "rate_gbps": 400, ...}.)");
  std::vector<Limit> limits;
  for (const Json& one : profile["expect"]) {
    refuse_if(!one.is_string(), fmt::format("{}: \"expect\" has {}, not a text", path, one.dump()));
    limits.push_back(parse_limit(one.get<std::string>()));
    limits.back().of_profile = true;
  }
  return limits;
}

}  // namespace rdmabench::inline v1::report
