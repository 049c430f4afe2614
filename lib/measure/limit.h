// How far a value lies from a limit, by how launches differ from one another, and how sure that is.
// All values are logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmabench::inline v1::measure {

/// Fewer launches do not say how launches vary.
inline constexpr std::size_t kLaunchesToJudge = 5;

/// The standard deviation of runs where too few were seen, and its degrees of freedom: fourteen
/// runs of one program differed by up to 13 %, which is 3.4 standard deviations.
inline constexpr double kUsualDeviation = 0.04;
inline constexpr double kUsualOfTails = 0.15;  ///< beyond the 99th percentile
inline constexpr double kUsualDegrees = 13;

/// The chance of a false PASS of a row, and of any false FAIL of a run, at the limit.
inline constexpr double kFalse = 0.025;

struct LaunchLogs {
  std::span<const double> logs;
  double within = 0;  ///< standard error of one of them within its own launch; may be infinite
};

/// Of a value above its limit; negative below it.
struct Distance {
  double difference = 0;
  double error = 0;  ///< of the difference; Student's t of `degrees`
  double degrees = 1;
  double deviation = 0;  ///< of one launch
  std::size_t launches = 0;
  bool two_samples = false;

  /// The chance of a value so far below the limit, or further, where the truth is at the limit.
  double chance_below() const;
  /// That of one so far above it.
  double chance_above() const;
  /// By how much the 95 % interval reaches to both sides.
  double reach() const;
};

/// `limit`: where it comes from a baseline, the mean of its logs and of the share. From five
/// launches on, and a baseline of five or none, by Student's t, or Welch's with the degrees of the
/// smaller sample: his own are too many far out in the tail, where rows that are judged together
/// are. Else runs of both sides vary by `usual`, or as those seen of a side if that is more, which
/// then has the degrees of freedom of that side. Sources: Welch 1947; Mickey and Brown 1966 for the
/// degrees.
Distance distance(const LaunchLogs& measured, double limit, const LaunchLogs& baseline = {},
                  double usual = kUsualDeviation);

/// How many launches in all (of a baseline as well) decide with 90 % where the value is as it was
/// found; `chance` is what a wrong decision may have.
std::uint32_t launches_to_decide(const Distance& distance, double chance = kFalse);

/// Holm's step-down: the p-values adjusted for being tested together, in the given order. Source:
/// Holm 1979.
std::vector<double> holm(std::span<const double> p_values);

}  // namespace rdmabench::inline v1::measure
