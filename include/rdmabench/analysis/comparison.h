// Two sides of launches, compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/analysis/confound.h"
#include "rdmabench/analysis/drift.h"
#include "rdmabench/analysis/launch.h"
#include "rdmabench/analysis/verdict.h"

namespace rdmabench::analysis {

/// One quantity at one size, on both sides.
struct Cell {
  std::uint64_t size_bytes = 0;
  std::optional<double> load;
  Judgement judgement;
  double a_typical = 0;  ///< geometric mean of the launches: ns, or bits per second
  double b_typical = 0;
  double a_variation = 0;  ///< standard deviation of the logs: for small ones, the launches' CV
  double b_variation = 0;
  Drift drift;
  std::uint32_t a_suspect = 0;  ///< launches with a suspicion
  std::uint32_t b_suspect = 0;
  double p_beyond_adjusted = 1;   ///< by Holm over all cells of the comparison
  double p_nonzero_adjusted = 1;  ///< likewise
};

/// One metric of one operation, over sizes.
struct Family {
  std::string test;
  std::string operation;
  std::string kind;
  Metric metric = Metric::p50;
  std::vector<Cell> cells;  ///< by size, then load
  /// "For all sizes" is equivalent only if each size is (an intersection-union test, which needs no
  /// correction); "for some size" is different only by Holm's correction.
  Verdict verdict = Verdict::inconclusive;
  std::optional<std::uint32_t> more;   ///< launches of each side
  std::vector<std::string> confounds;  ///< names of undeclared ones
};

/// One side's launches, and what was wrong with them.
struct Side {
  std::uint32_t launches = 0;
  std::uint32_t pairs = 0;                            ///< of nodes
  std::vector<std::string> failed;                    ///< "FILE: why it ended early"; left out
  std::map<std::string, std::uint32_t> suspicions;    ///< launches by code
  std::map<std::string, std::uint64_t> disturbances;  ///< events by class of counter
};

/// What was asked.
struct ComparisonOptions {
  Settings settings{};
  Factors factors{{}};
  std::vector<Metric> metrics{};  ///< empty: all, as far as the samples carry them
  bool skip_failed = false;       ///< leave launches that ended early out, and say so
};

struct Comparison {
  ComparisonOptions options;
  Side a;
  Side b;
  Order order;
  std::vector<Family> families;
  std::vector<Confound> confounds;  ///< declared ones too
  std::vector<std::string> notes;
  Verdict verdict = Verdict::inconclusive;  ///< of all families, by the same two rules
  std::optional<std::uint32_t> more;
  std::size_t refused = 0;  ///< quantities of both sides that cannot be judged
  std::size_t absent = 0;   ///< quantities of A that B has no row of
  std::size_t lost = 0;     ///< quantities that have a value in A and none in B, absent or refused

  /// Whether every quantity of A was judged: the verdict says nothing of those that were not.
  bool complete() const { return refused + absent == 0; }
  /// Whether anything differs that is not what is being compared: then no verdict is one about it.
  bool confounded() const;
};

/// B against A. Throws Error(usage) if a side has no launch, a launch is on both, one ended early
/// (unless skip_failed) or the two have no quantity in common.
Comparison compare(const std::vector<Launch>& a, const std::vector<Launch>& b,
                   const ComparisonOptions& options);

/// For people: the verdict first, then why. At most 100 columns where words allow it.
std::string to_table(const Comparison& comparison);

/// A document of docs/schema/rdmabench-compare-1.schema.json, ended by a newline.
std::string to_json(const Comparison& comparison);

/// "REGRESSION", "IMPROVEMENT", "EQUIVALENT", ... in one line, without a newline.
struct Regression {
  std::string line;
  bool regressed = false;  ///< something got worse by more than the margin
  bool settled = false;    ///< the line is a verdict, and not INCONCLUSIVE
};

/// The comparison as a regression test of B against a baseline A named `baseline`.
Regression find_regression(const Comparison& comparison, const std::string& baseline);

}  // namespace rdmabench::analysis
