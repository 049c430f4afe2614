#include "rdmabench/analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/power.h"
#include "base/refuse.h"
#include "measure/distributions.h"
#include "measure/limit.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::analysis {
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

void fill_in(Judgement& judgement, Estimate estimate, const StudentPivot& pivot,
             const Settings& settings) {
  const double margin = std::log1p(settings.margin);
  const double d = estimate.difference;
  const double se = estimate.standard_error;
  if (se > 0) {
    // 1 - alpha would round to 1 in an early look. exp() of more than kWidest is no number.
    constexpr double kWidest = 600;
    const double width = std::min(-pivot.quantile(settings.alpha) * se, kWidest);
    estimate.low = d - width;
    estimate.high = d + width;
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

double alpha_of_look(double alpha, double share) {
  constexpr double kNothing = 1e-100;  // its quantiles are numbers still
  return std::max(kNothing,
                  measure::normal_below(measure::normal_quantile(alpha / 2) / std::sqrt(share)));
}

void Settings::check() const {
  require(margin > 0 && margin < 1, "a margin of", margin, "It lies between 0 and 100 %.");
  require(alpha > 0 && alpha <= 0.2, "an alpha of", alpha, "It lies between 0 and 0.2.");
  require(power >= 0.5 && power < 1, "a power of", power, "It lies between 50 and 100 %.");
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
    const double degrees =
        welch_degrees({{va, judgement.a_units - 1.0}, {vb, judgement.b_units - 1.0}});
    fill_in(judgement, std::move(estimate), StudentPivot(degrees), settings);
  }
  judgement.deviation = std::sqrt((variance(a) + variance(b)) / 2);
  decide(judgement, settings, fewest);
  return judgement;
}

Judgement judge_estimate(double difference, double standard_error, double degrees,
                         std::uint32_t fewest, const Settings& settings, const char* method) {
  Judgement judgement;
  judgement.a_units = judgement.b_units = fewest;
  if (fewest >= 2) {
    fill_in(judgement,
            {.difference = difference, .standard_error = standard_error, .method = method},
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
    const std::uint32_t whole = std::max(*need, kMinLaunches);
    return have < kMinLaunches ? whole - have : whole;
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
      // Without the number, which is another one for each quantity: a reader has one line for all.
      noisy
          ? fmt::format("the launches vary too much for a margin of {:g} %", 100 * settings.margin)
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

}  // namespace rdmabench::inline v1::analysis
