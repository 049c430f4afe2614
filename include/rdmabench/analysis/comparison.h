// analysis: judges finished results: two sides of launches, compared.
//
// It measures nothing and opens no device. The unit of replication is the launch: a new process
// with new connections. Samples within one launch depend on each other, so a launch counts as one
// value.
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
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::analysis {

/// The result of comparing B with A, given the largest difference that does not matter.
enum class Verdict : std::uint8_t {
  equivalent,    ///< proved: B lies within the margin of A
  immaterial,    ///< proved: it lies within the margin, and is not the same
  different,     ///< proved: it lies beyond the margin
  inconclusive,  ///< neither was proved; more launches may prove one
  drifting,  ///< the values moved with time by more than half the margin, so there is no verdict
  refused,   ///< the samples do not support this metric
};

/// "EQUIVALENT", "DIFFERENT BUT IMMATERIAL", ...
std::string_view name(Verdict verdict) noexcept;

/// Whether B is the better of two sides that are DIFFERENT. Of a latency or a step time the lower
/// one is better, of a bandwidth the higher one.
enum class Direction : std::uint8_t {
  none,  ///< it is not known which one is better, or they are not DIFFERENT
  better,
  worse,
  mixed,  ///< of several quantities: some are better and some are worse
};

/// "BETTER", "WORSE", "MIXED"; empty for none.
std::string_view name(Direction direction) noexcept;

/// For people: the direction of what is DIFFERENT, where it is known; else name(verdict).
std::string_view name(Verdict verdict, Direction direction) noexcept;

/// What stands in the way of a verdict, where more than kManyLaunches further launches are needed.
enum class Obstacle : std::uint8_t {
  none,
  noise,   ///< the launches vary so much that even an equality takes that many
  margin,  ///< the difference seems to be about the margin itself
};

/// "noise", "margin"; empty for none.
std::string_view name(Obstacle obstacle) noexcept;

/// Where more than so many further launches of each side are needed, another remedy is named.
inline constexpr std::uint32_t kManyLaunches = 50;

/// Decided before the measurement; the defaults are those of docs/compare.md.
struct Settings {
  double margin = 0.05;  ///< 0.05: B/A within 1/1.05 to 1.05 does not matter; 0 < margin < 1
  double alpha = 0.05;   ///< chance of a wrong EQUIVALENT, and of a wrong DIFFERENT, at the margin
  double power = 0.9;    ///< chance of a verdict that further launches are planned for

  /// Throws Error(usage) that names the value which is out of range.
  void check() const;
};

/// With fewer launches of either side there is no verdict, because their standard deviation is too
/// uncertain.
inline constexpr std::uint32_t kMinLaunches = 5;

/// The level at which two values differ at all. It is low, so that two runs of one fabric are
/// EQUIVALENT and not DIFFERENT BUT IMMATERIAL.
inline constexpr double kZeroAlpha = 0.01;

/// Of log(B) - log(A): exp() of the numbers is a ratio.
struct Estimate {
  double difference = 0;
  double low =
      0;  ///< the 1 - 2 alpha interval: it lies within the margin exactly if both one-sided
  double high = 0;  ///< tests at alpha reject
  double standard_error = 0;
  std::string method;  ///< "welch_t", "jackknife_t", "prediction_t"
};

struct Judgement {
  Verdict verdict = Verdict::inconclusive;
  std::uint32_t a_units = 0;
  std::uint32_t b_units = 0;
  std::optional<Estimate> estimate;   ///< none with fewer than two units on a side
  double p_within = 1;                ///< of "beyond the margin", by two one-sided tests
  double p_beyond = 1;                ///< of "within the margin"
  double p_nonzero = 1;               ///< of "no difference", two-sided
  double deviation = 0;               ///< of one launch's log, both sides pooled
  std::optional<std::uint32_t> more;  ///< launches of each side to be measured; see plan_further()
  Direction direction = Direction::none;
  Obstacle obstacle = Obstacle::none;  ///< see plan_further()
  std::string text;                    ///< why there is no verdict, or empty
};

/// Judges two sides, of which `a` and `b` are the natural logs of a value of each launch, in any
/// order. Finite values. Welch's t interval with Satterthwaite's degrees of freedom. Sources:
/// Schuirmann 1987 and Berger & Hsu 1996 (equivalence), Welch 1947.
Judgement judge(std::span<const double> a, std::span<const double> b, const Settings& settings);

/// As judge(), for a given estimate: a difference of logs with its standard error
/// and degrees of freedom > 0. `fewest` is the smaller number of launches that it rests on.
Judgement judge_estimate(double difference, double standard_error, double degrees,
                         std::uint32_t fewest, const Settings& settings,
                         const char* method = "jackknife_t");

/// The alpha of a look when `share` (over 0, at most 1) of the planned launches is there, so that
/// all looks together, however many, are wrong in `alpha` at most. Source: Lan and DeMets 1983, the
/// spending of O'Brien and Fleming: 2 - 2 Phi(z / sqrt(share)) is the chance that Brownian motion
/// was above z before, so the bound z / sqrt(share) holds for looks at any time.
double alpha_of_look(double alpha, double share);

/// Where there is no verdict: how many launches, measured anew and judged without these, would give
/// one with the requested power, if the deviation and the difference are as estimated. Added to
/// these, they would be a second look at the same ones, and wrong more often than alpha; below
/// kMinLaunches there was no look, and these count. A difference that may be noise (p >= 0.05) is
/// taken as none. Where that is over kManyLaunches, `obstacle` and `text` say why. It takes
/// milliseconds.
void plan_further(Judgement& judgement, const Settings& settings);

/// Sets the direction of a judgement that is DIFFERENT, and clears that of any other.
void set_direction(Judgement& judgement, bool higher_is_better) noexcept;

/// By how much launches vary whose logs have this standard deviation: a ratio, 0.4 is 40 %.
double variation_of(double deviation);

/// Holm's step-down: the p-values adjusted for being tested together, in the given order. Source:
/// Holm 1979.
std::vector<double> holm(std::span<const double> p_values);

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
  std::map<std::string, std::uint32_t> not_rdma;  ///< launches by what they say, as Launch has it
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

/// The verdict in one or two sentences, with what it rests on and what to do where there is none;
/// before it how many launches were not RDMA.
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
