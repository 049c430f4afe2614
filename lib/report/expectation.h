// What a user expects of a measurement, and whether it was met.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/status.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::report {

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

/// A limit of one quantity.
struct Expectation {
  enum class Of : std::uint8_t { absolute, line, baseline };

  std::string text;      ///< as the user wrote it
  std::string quantity;  ///< "bw", "p99", "busbw", or a key of a row: "register_p50_ns"
  bool at_least = true;  ///< >=, else <=
  double value = 0;      ///< bit/s, byte/s, ns or 1/s; a share, 0.9, where `of` is not absolute
  Of of = Of::absolute;
  std::string baseline;          ///< the path of a document, where `of` says so
  std::uint64_t least_size = 0;  ///< bytes: messages of these sizes
  std::uint64_t most_size = std::numeric_limits<std::uint64_t>::max();
  bool of_profile = false;  ///< where others of the profile apply, it may have no row
  /// Of a baseline: its values, by what a row must agree in; see read_baseline().
  std::shared_ptr<const LaunchValues> rows{};
};

/// "bw>=360Gb/s", "p99<=5us", "bw>=90%line", "p50<=110%old.json", "busbw>=40GB/s@64M" (of this
/// size) or "@64M+" (from this size on). Throws Error(usage) that names what is wrong in the text.
Expectation parse_expectation(std::string_view text);

/// Reads the baseline of an expectation that has one and was not read yet: each document is a
/// launch. Throws Error(usage) for a file that cannot be read.
void read_baseline(Expectation& expectation);

/// Judges every row that has the quantity, and writes the judgements as body["expectations"], the
/// failed ones first, then the open ones; of one expectation at most kMostJudged of each status,
/// with the number of the rest. `launches`: the documents that the rows are measured again in, if
/// there are several; else the document is one run.
///
/// A row PASSes or FAILs where its value lies further from the limit than launches differ by
/// (measure::distance()), of one run also by the samples within it; else it is OPEN with the number
/// of launches that would decide. What FAILs is judged together, by Holm's rule over all rows that
/// have a limit. An expectation of which there is no row, or whose baseline has none of the rows,
/// FAILs; one of a profile is OPEN instead where another one of the profile has a row.
/// "line" is the payload that the devices' link can carry, from what the document says of both
/// ends; where it says too little the judgement is OPEN with the reason. Throws Error(usage) for a
/// baseline that cannot be read.
void judge_expectations(Document& document, std::span<const Expectation> expectations,
                        std::span<const Document> launches = {});

inline constexpr std::size_t kMostJudged = 64;

/// One judgement, an item of body["expectations"]: status "PASS", "FAIL" or "OPEN". Its numbers
/// are null, for the caller to fill in.
nlohmann::ordered_json judgement(std::string expectation, std::string row, Status status,
                                 std::string text);

/// Whether one of body["expectations"] FAILs.
bool failed_expectation(const Document& document);

/// A line for each judgement; "" where there are none.
std::string expectations_text(const Document& document);

}  // namespace rdmabench::report
