// analysis: judges finished results: whether two fabrics differ, and by how much a job gains.
//
// It measures nothing and opens no device. The unit of replication is the launch: a new process
// with new connections. Samples within one launch depend on each other, so a launch counts as one
// value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Judges two sides by the logs of their per-launch values, in any order. Finite values. Welch's
/// t interval with Satterthwaite's degrees of freedom. Sources: Schuirmann 1987 and Berger & Hsu
/// 1996 (equivalence), Welch 1947.
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

}  // namespace rdmabench::inline v1::analysis
