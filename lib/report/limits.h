// What limits are held against, and what came of them as JSON and as text.
#pragma once

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/body.h"

namespace rdmabench::inline v1::report {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A value with its 95 % interval within its run: kNone where there is none, 0 or infinite where
/// too few samples bound that end.
struct RowValue {
  double value = kNone;
  double low = kNone;
  double high = kNone;
};

/// By the identity of a row, a value for each launch.
using LaunchValues = std::map<std::string, std::vector<RowValue>>;

struct Baseline {
  LaunchValues rows;
};

/// An item of body["expectations"].
nlohmann::ordered_json to_json(const LimitFinding& finding);

/// Whether one of body["expectations"] FAILs.
bool limits_failed(const Document& document);

/// The same as a line of a fabric's stream.
std::string limits_record(const Document& document);

/// A line for each of body["expectations"]; "" where there are none.
std::string limits_text(const Document& document);

struct Unit {
  std::string_view text;
  double factor;
};

/// What a key of a document is in, by its name.
struct Measure {
  std::span<const Unit> units;
  std::string (*text)(double);
};

std::optional<Measure> measure_of(std::string_view key);

/// "bits_per_s" of "bw"; a key as it is.
std::string_view key_of(std::string_view quantity);

}  // namespace rdmabench::inline v1::report
