// Two sides of launches, compared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/analysis/launch.h"
#include "rdmabench/analysis/verdict.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::inline v1::analysis {

/// A fact that is not alike on both sides.
struct Confound {
  std::string name;   ///< "environment.client.kernel", "config.depth", "details.mtu", "completion"
  std::string where;  ///< "write, bandwidth": of which tests; empty: of all
  std::set<std::string> a;  ///< its values; one that is missing is "(none)"
  std::set<std::string> b;
  bool declared = false;  ///< it belongs to what is being compared
};

/// What a comparison is about: the words of --factor. "backend" takes in all that follows from the
/// choice of a back end (service, provider, device, transport and its details), "provider" and
/// "device" likewise; "depth" the sizes of queues that follow from it, and a signal_every that was
/// left to it; "all" is everything: the two sides as they stand. Any other word is the last
/// part of a fact's name ("kernel", "mtu") or a whole name.
class Factors {
 public:
  explicit Factors(std::vector<std::string> words) : words_(std::move(words)) {}
  bool declare(const std::string& fact) const;
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

/// Whether a fact says only where or when a launch ran, or names what is new every time, and so is
/// never compared. The list is in docs/compare.md.
bool is_incidental(const std::string& fact);

/// The facts of launches of one test and operation, and of those rows alone, that have not the same
/// set of values on both sides.
std::vector<Confound> find_confounds(std::span<const Launch* const> a,
                                     std::span<const Launch* const> b, const std::string& operation,
                                     const Factors& factors);

/// One launch's value.
struct Timed {
  double time_s = 0;  ///< since any fixed moment
  double value = 0;   ///< a log
};

struct Drift {
  double p_value = 1;  ///< of "no trend"
  double change = 0;   ///< of the log over the longer side's time, by Theil and Sen's slope
  double alike = 0;    ///< autocorrelation of one launch of a side with the next
  double alike_p = 1;  ///< of "they do not depend on each other"
  double spread = 0;   ///< largest less smallest value of the side that has more of it
};

/// A trend over time within each side. Kendall's statistic is summed over the
/// two sides, each with its own variance, so a difference between A and B is not a drift. The slope
/// is not carried over the time between the sides, of which no launch tells: a baseline may be
/// months old. Ties are allowed. Sources: Hirsch & Slack 1984 (seasonal Kendall test), Sen 1968.
Drift find_drift(std::span<const Timed> a, std::span<const Timed> b);

/// In which order the launches of two sides ran.
struct LaunchSequence {
  bool known = false;        ///< every launch has a time, and there are some of both sides
  bool separate = false;     ///< all of one side ran before all of the other
  std::uint32_t blocks = 0;  ///< "AABBA" is three
  std::string pattern;       ///< "ABBA"; of launches at the same time A stands first
};

LaunchSequence find_order(std::span<const double> a_times_s, std::span<const double> b_times_s);

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

/// A verdict over several quantities.
struct JointVerdict {
  /// "For all sizes" is equivalent only if each size is (an intersection-union test, which needs no
  /// correction); "for some size" is different only by Holm's correction.
  Verdict verdict = Verdict::inconclusive;
  Direction direction = Direction::none;  ///< of the quantities that are different
  std::optional<std::uint32_t> more;      ///< launches of each side to be measured
  Obstacle obstacle = Obstacle::none;     ///< noise where any quantity has it
  double variation = 0;  ///< of the launches of the quantity that varies most; 0 without noise
};

/// One metric of one operation, over sizes.
struct Family : JointVerdict {
  std::string test;
  std::string operation;
  std::string kind;
  Metric metric = Metric::p50;
  std::vector<Cell> cells;             ///< by size, then load
  std::vector<std::string> confounds;  ///< names of undeclared ones
};

/// One side's launches, and what was wrong with them.
struct ComparedSide {
  std::uint32_t launches = 0;
  std::uint32_t pairs = 0;                            ///< of nodes
  std::vector<std::string> failed;                    ///< "FILE: why it ended early"; left out
  std::map<std::string, std::uint32_t> suspicions;    ///< launches by code
  std::map<std::string, std::string> remedies;        ///< by code, where the documents have one
  std::map<std::string, std::uint64_t> disturbances;  ///< events by class of counter
};

/// What makes a comparison fail.
enum class FailOn : std::uint8_t {
  worse,         ///< some quantity of B is worse than A's by more than the margin
  different,     ///< some quantity differs by more than the margin, for better or worse
  inconclusive,  ///< there is no clear verdict: INCONCLUSIVE, DRIFTING or REFUSED
  confounded,    ///< something differs that is not what is compared
  incomplete,    ///< a quantity of A was not judged
};

/// "worse", "different", ...
std::string_view name(FailOn what) noexcept;

/// Throws Error(usage) that lists them.
FailOn parse_fail_on(std::string_view text);

struct ComparisonOptions {
  Settings settings{};
  Factors factors{{}};
  std::vector<Metric> metrics{};  ///< empty: all, as far as the samples carry them
  bool skip_failed = false;       ///< leave launches that ended early out, and say so
  std::string a_name = "A";       ///< of the sides, in texts
  std::string b_name = "B";
  std::vector<FailOn> fail_on{FailOn::worse};
  /// Launches of each side that were planned before the first look; 0: this is the only look. With
  /// it, each look has the alpha of alpha_of_look(). Throws Error(usage) beyond them.
  std::uint32_t planned = 0;
  /// A is a baseline: its unit is the night, and B is judged by what nights differ.
  bool baseline = false;
};

/// Its own verdict is that of all families, by the same two rules.
struct Comparison : JointVerdict {
  ComparisonOptions options;
  ComparedSide a;
  ComparedSide b;
  LaunchSequence order;
  std::vector<Family> families;
  std::vector<Confound> confounds;  ///< declared ones too
  std::vector<std::string> notes;
  std::size_t refused = 0;  ///< quantities of both sides that cannot be judged
  std::size_t absent = 0;   ///< quantities of A that B has no row of
  std::size_t lost = 0;     ///< quantities that have a value in A and none in B, absent or refused

  /// Whether every quantity of A was judged: the verdict says nothing of those that were not.
  bool complete() const { return refused + absent == 0; }
  /// Whether anything differs that is not what is being compared: then no verdict is one about it.
  bool confounded() const;
  /// Whether something is so that `options.fail_on` names.
  bool failed() const;
};

/// B against A. Throws Error(usage) if the sides have one name or none, a side has no launch, a
/// launch is on both, one ended early (unless skip_failed) or the two have no quantity in common.
Comparison compare(const std::vector<Launch>& a, const std::vector<Launch>& b,
                   const ComparisonOptions& options);

/// The verdict in one or two sentences, with what it rests on and what to do where there is none.
std::string summary(const Comparison& comparison);

/// For people: the summary first, then the figures, then what else is known. At most 100 columns
/// where words allow it.
std::string to_table(const Comparison& comparison, std::size_t width = report::kUsualWidth);

/// A document of docs/schema/rdmabench-compare-1.schema.json, ended by a newline.
std::string to_json(const Comparison& comparison);

/// The comparison as a regression test of B against a baseline A, which the options name:
/// "REGRESSION", "IMPROVEMENT", "EQUIVALENT", ... in one line, without a newline.
std::string regression_line(const Comparison& comparison);

/// One quantity's need.
struct PlannedQuantity {
  std::string what;                       ///< "write bandwidth of 64K"
  double variation = 0;                   ///< standard deviation of the launches' logs
  std::optional<std::uint32_t> launches;  ///< of each side, at least kMinLaunches; none: too many
};

struct LaunchPlan {
  Settings settings;
  double difference = 0;  ///< the assumed true one, a ratio: 0.01 is 1 %
  std::uint32_t pilot_launches = 0;
  std::vector<PlannedQuantity> quantities;
  std::optional<std::uint32_t> launches;  ///< the largest need
  std::vector<std::string> notes;
};

/// From a coefficient of variation between launches, > 0. Throws Error(usage) for a value out of
/// range.
LaunchPlan plan_for(double variation, double difference, const Settings& settings);

/// From the launches of one side; at least 2 for each quantity. Throws Error(usage).
LaunchPlan plan_from(const std::vector<Launch>& pilot, double difference,
                     const ComparisonOptions& options);

std::string to_table(const LaunchPlan& plan);

/// A document with the schema "rdmabench-compare/1" and "plan" instead of families.
std::string to_json(const LaunchPlan& plan);

}  // namespace rdmabench::inline v1::analysis
