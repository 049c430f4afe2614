// What limits are held against: the rows of a document, which rows are the same, and their values.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "digest.h"
#include "limits.h"

namespace rdmabench::inline v1::report {

class FabricNames;

inline constexpr double kNormal95 = 1.96;  // standard errors to the end of an interval

/// A row with the document that it is of.
struct Judged {
  const Document& document;
  const Measured& row;
};

double value_of(const Measured& row, std::string_view key);
std::string label_of(const Measured& row, std::string_view key);

/// The interval of a mean bandwidth or rate, a mean latency and a percentile, and of the median,
/// which the rates of a collective and of `reg` are made from. Before each key may stand the call
/// that it is of.
RowValue row_value(const Measured& row, std::string_view key);

/// What tells a row from the others of its document. `names`: of a fabric's nodes.
std::string row_text(const Measured& row, const FabricNames* names = nullptr);

/// What the run was asked for, by its name in "config"; "" where nothing was.
std::string asked_for(const Document& document, const char* name);
/// The rate of a load, of messages or of bits.
std::string rate_asked_for(const Document& document);

/// What the same row of another document must agree in. A rate that was asked for tells rows apart;
/// its share of the capacity, which each run measures anew, does not.
/// `of_one_job`: as another document of the same ranks has it, of which a host may have several.
std::string identity_of(const Judged& of, bool of_one_job);

/// A row that was cut off is none. Nor is the latency of a load that is beyond what the path takes,
/// where the run chose the loads.
bool counts(const Judged& of, std::string_view key);

/// A collective takes the largest size that its ranks can share, up to the one that was asked for.
bool has_size(const Limit& limit, const Measured& row);

/// The quantity by the identity of its row, a value for each document that has it: of several rows
/// of one document the median. `of_baseline`: each document once, without values of too few samples
/// and those that are not above 0.
LaunchValues launch_values(std::span<const Document> launches, std::string_view key,
                           bool of_baseline);

}  // namespace rdmabench::inline v1::report
