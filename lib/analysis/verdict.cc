#include "rdmabench/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analysis/power.h"
#include "base/refuse.h"
#include "measure/distributions.h"
#include "measure/limit.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::analysis {
namespace {

void require(bool good, const char* name, double value, const char* remedy) {
  refuse_if(!good, fmt::format("{} {:g}", name, value), remedy);
}

double variance(std::span<const double> values) {
  const double deviation = measure::stddev(values);
  return deviation * deviation;
}

/// 0 / 0 is 0: no distance without noise.
double in_errors(double distance, double standard_error) {
  return distance == 0 ? 0 : distance / standard_error;
}

struct Moments {
  double mean = 0;
  double error = 0;  ///< squared standard error of the mean
};

Moments moments(std::span<const double> values) {
  const double deviation = measure::stddev(values);
  return {measure::mean(values), deviation * deviation / static_cast<double>(values.size())};
}

/// std::uniform_int_distribution may differ between standard libraries; a recorded seed must give
/// the same draws everywhere. The modulo bias is below 2^-50 here.
void draw(std::span<const double> from, std::vector<double>& to, std::mt19937_64& random) {
  to.resize(from.size());
  for (double& value : to) value = from[random() % from.size()];
}

/// The bootstrapped values of (difference of the resample - difference) / its standard error,
/// sorted. Each resample draws whole units with replacement. Needs two units and some noise on each
/// side.
std::vector<double> bootstrap_pivots(std::span<const double> a, std::span<const double> b,
                                     std::uint32_t resamples, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double difference = moments(b).mean - moments(a).mean;
  std::vector<double> pivots;
  pivots.reserve(resamples);
  std::vector<double> drawn;
  while (pivots.size() < resamples) {
    draw(a, drawn, random);
    const Moments of_a = moments(drawn);
    draw(b, drawn, random);
    const Moments of_b = moments(drawn);
    const double error = std::sqrt(of_a.error + of_b.error);
    if (error == 0) continue;  // a single unit was drawn each time: undefined
    pivots.push_back((of_b.mean - of_a.mean - difference) / error);
  }
  std::sort(pivots.begin(), pivots.end());
  return pivots;
}

// The distribution of (estimate - true value) / standard error.

class StudentPivot {
 public:
  explicit StudentPivot(double degrees) : degrees_(degrees) {}
  double below(double t) const { return measure::t_below(t, degrees_); }
  double above(double t) const { return measure::t_below(-t, degrees_); }
  double quantile(double p) const { return measure::t_quantile(p, degrees_); }

 private:
  double degrees_;
};

class BootstrapPivot {
 public:
  BootstrapPivot(std::span<const double> a, std::span<const double> b, const Settings& settings)
      : sorted_(bootstrap_pivots(a, b, settings.resamples, settings.seed)) {}
  double below(double t) const {
    return share(std::upper_bound(sorted_.begin(), sorted_.end(), t) - sorted_.begin());
  }
  double above(double t) const {
    return share(sorted_.end() - std::lower_bound(sorted_.begin(), sorted_.end(), t));
  }
  double quantile(double p) const {
    const double at = p * static_cast<double>(sorted_.size() + 1) - 1;
    const auto index = static_cast<std::ptrdiff_t>(std::llround(at));
    return sorted_[std::clamp<std::ptrdiff_t>(index, 0, std::ssize(sorted_) - 1)];
  }

 private:
  /// Never 0, because the estimate counts as one of the draws. Source: Davison & Hinkley, 4.2.
  double share(std::ptrdiff_t count) const {
    return static_cast<double>(count + 1) / static_cast<double>(sorted_.size() + 1);
  }
  std::vector<double> sorted_;
};

void fill_in(Judgement& judgement, Estimate estimate, const auto& pivot, const Settings& settings) {
  const double margin = std::log1p(settings.margin);
  const double d = estimate.difference;
  const double se = estimate.standard_error;
  if (se > 0) {
    estimate.low = d - pivot.quantile(1 - settings.alpha) * se;
    estimate.high = d - pivot.quantile(settings.alpha) * se;
  } else {
    estimate.low = estimate.high = d;
  }
  judgement.p_within =
      std::max(pivot.below(in_errors(d - margin, se)), pivot.above(in_errors(d + margin, se)));
  judgement.p_beyond =
      d > 0 ? pivot.above(in_errors(d - margin, se)) : pivot.below(in_errors(d + margin, se));
  const double t = in_errors(d, se);
  judgement.p_nonzero = std::min(1.0, 2 * std::min(pivot.above(t), pivot.below(t)));
  judgement.estimate = std::move(estimate);
}

void decide(Judgement& judgement, const Settings& settings, std::uint32_t fewest) {
  if (fewest < kMinLaunches) {
    judgement.text = fmt::format("{} launches on a side; a verdict needs {}", fewest, kMinLaunches);
    judgement.more = kMinLaunches - fewest;
    return;
  }
  if (judgement.p_beyond < settings.alpha) {
    judgement.verdict = Verdict::different;
  } else if (judgement.p_within < settings.alpha) {
    judgement.verdict =
        judgement.p_nonzero < kZeroAlpha ? Verdict::immaterial : Verdict::equivalent;
  }
}

}  // namespace

std::string_view name(Verdict verdict) noexcept {
  constexpr std::array<std::string_view, 6> kWords{
      "EQUIVALENT", "DIFFERENT BUT IMMATERIAL", "DIFFERENT", "INCONCLUSIVE", "DRIFTING", "REFUSED"};
  return kWords[static_cast<std::size_t>(verdict)];
}

std::string_view name(Direction direction) noexcept {
  constexpr std::array<std::string_view, 4> kWords{"", "BETTER", "WORSE", "MIXED"};
  return kWords[static_cast<std::size_t>(direction)];
}

std::string_view name(Verdict verdict, Direction direction) noexcept {
  const bool known = verdict == Verdict::different && direction != Direction::none;
  return known ? name(direction) : name(verdict);
}

std::string_view name(Obstacle obstacle) noexcept {
  return obstacle == Obstacle::noise ? "noise" : obstacle == Obstacle::margin ? "margin" : "";
}

void Settings::check() const {
  require(margin > 0 && margin < 1, "a margin of", margin, "It lies between 0 and 100 %.");
  require(alpha > 0 && alpha <= 0.2, "an alpha of", alpha, "It lies between 0 and 0.2.");
  require(power >= 0.5 && power < 1, "a power of", power, "It lies between 50 and 100 %.");
  require(resamples >= 999 && resamples <= 99999, "resamples", resamples,
          "They may be 999 to 99999.");
}

Judgement judge(std::span<const double> a, std::span<const double> b, const Settings& settings) {
  Judgement judgement;
  judgement.a_units = static_cast<std::uint32_t>(a.size());
  judgement.b_units = static_cast<std::uint32_t>(b.size());
  const std::uint32_t fewest = std::min(judgement.a_units, judgement.b_units);
  if (fewest >= 2) {
    const double va = variance(a) / static_cast<double>(a.size());
    const double vb = variance(b) / static_cast<double>(b.size());
    Estimate estimate{.difference = measure::mean(b) - measure::mean(a),
                      .standard_error = std::sqrt(va + vb),
                      .method = "welch_t"};
    if (fewest > kMaxLaunchesForT && va > 0 && vb > 0) {
      estimate.method = "bootstrap_t";
      fill_in(judgement, std::move(estimate), BootstrapPivot(a, b, settings), settings);
    } else {
      const double degrees =
          welch_degrees({{va, judgement.a_units - 1.0}, {vb, judgement.b_units - 1.0}});
      fill_in(judgement, std::move(estimate), StudentPivot(degrees), settings);
    }
  }
  judgement.deviation = std::sqrt((variance(a) + variance(b)) / 2);
  decide(judgement, settings, fewest);
  return judgement;
}

Judgement judge_estimate(double difference, double standard_error, double degrees,
                         std::uint32_t fewest, const Settings& settings) {
  Judgement judgement;
  judgement.a_units = judgement.b_units = fewest;
  if (fewest >= 2) {
    fill_in(judgement,
            {.difference = difference, .standard_error = standard_error, .method = "jackknife_t"},
            StudentPivot(degrees), settings);
  }
  judgement.deviation = standard_error * std::sqrt(fewest / 2.0);
  decide(judgement, settings, fewest);
  return judgement;
}

void plan_further(Judgement& judgement, const Settings& settings) {
  if (judgement.verdict != Verdict::inconclusive || !judgement.estimate) return;
  const std::uint32_t have = std::min(judgement.a_units, judgement.b_units);
  const auto further = [&](double difference) -> std::optional<std::uint32_t> {
    const auto need = launches_needed({.deviation = judgement.deviation,
                                       .difference = difference,
                                       .margin = settings.margin,
                                       .alpha = settings.alpha,
                                       .power = settings.power});
    if (!need) return std::nullopt;
    return std::max({have + 1, *need, kMinLaunches}) - have;
  };
  const auto many = [](const std::optional<std::uint32_t>& more) {
    return !more || *more > kManyLaunches;
  };
  // A difference that may be noise is planned for as 0, the cheapest case.
  constexpr double kNoticed = 0.05;
  const bool noticed = judgement.p_nonzero < kNoticed;
  judgement.more = further(noticed ? judgement.estimate->difference : 0);
  if (!many(judgement.more)) return;
  const bool noisy = !noticed || many(further(0));
  judgement.obstacle = noisy ? Obstacle::noise : Obstacle::margin;
  if (!judgement.text.empty()) judgement.text += "; ";
  const std::string count = judgement.more
                                ? fmt::format("{} more launches of each side", *judgement.more)
                                : fmt::format("over {} launches", kMostLaunches);
  judgement.text +=
      noisy ? fmt::format("the launches vary by {:.0f} %, too much for a margin of {:g} %",
                          100 * variation_of(judgement.deviation), 100 * settings.margin)
            : fmt::format("the difference seems to be about the margin itself: a verdict takes {}",
                          count);
}

void set_direction(Judgement& judgement, bool higher_is_better) noexcept {
  judgement.direction = Direction::none;
  if (judgement.verdict != Verdict::different || !judgement.estimate) return;
  const bool higher = judgement.estimate->difference > 0;
  judgement.direction = higher == higher_is_better ? Direction::better : Direction::worse;
}

double variation_of(double deviation) {
  return std::sqrt(std::expm1(deviation * deviation));
}

std::vector<double> holm(std::span<const double> p_values) {
  return measure::holm(p_values);
}

}  // namespace rdmabench::analysis
