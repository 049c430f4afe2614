#include "rdmabench/measure/stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/refuse.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::measure {
namespace {

using std::chrono::nanoseconds;

double ns_of(nanoseconds time) {
  return static_cast<double>(time.count());
}

/// Target length of an epoch: long compared with its start and end, short compared with the run.
double epoch_target_ns(const StopRule& rule, bool stream) {
  const double kLongest = stream ? 250e6 : 100e6;  // a stop waits for its end
  const double kFewestEpochs = stream ? 2 : 5;
  switch (rule.kind) {
    case StopRule::Kind::iterations:
      return 0;
    case StopRule::Kind::duration:
      return std::min(kLongest, ns_of(rule.time) / kFewestEpochs);
    case StopRule::Kind::stable:
      break;
  }
  const Stability& s = rule.stability;
  const nanoseconds run = s.min_time > nanoseconds(0) ? s.min_time : s.max_time;
  return std::min(kLongest, stream ? ns_of(run) : ns_of(run) / static_cast<double>(s.min_epochs));
}

/// Whether the best division into two groups, neither of which is only a few, leaves little within
/// them: of a normal distribution 36 % of the squares remain, of an even one 25 %.
bool have_two_speeds(std::span<const double> locations) {
  constexpr double kRemains = 0.15;
  std::vector<double> sorted(locations.begin(), locations.end());
  std::sort(sorted.begin(), sorted.end());
  const auto squares = [](std::span<const double> part) {
    const double deviation = stddev(part);
    return deviation * deviation * static_cast<double>(part.size() - 1);
  };
  const std::size_t least = 1 + sorted.size() / 10;
  const std::span<const double> all(sorted);
  for (std::size_t i = least; i + least <= all.size(); ++i) {
    if (squares(all.first(i)) + squares(all.subspan(i)) < kRemains * squares(all)) return true;
  }
  return false;
}

/// Whether most of the differences are explained by a line through the locations over time.
bool drift(std::span<const double> locations) {
  constexpr double kCorrelation = 0.7;
  const double middle = static_cast<double>(locations.size() - 1) / 2;
  const double center = mean(locations);
  double both = 0, times = 0, values = 0;
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const double time = static_cast<double>(i) - middle;
    const double value = locations[i] - center;
    both += time * value;
    times += time * time;
    values += value * value;
  }
  return std::abs(both) > kCorrelation * std::sqrt(times * values);
}

}  // namespace

std::string_view name(Disagreement why) noexcept {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"none", "few", "two_speeds", "drift", "dependence", "noise"});
  return kNames[static_cast<std::size_t>(why)];
}

StopRule StopRule::iterations(std::uint64_t count) {
  StopRule rule;
  rule.kind = Kind::iterations;
  rule.count = count;
  rule.check();
  return rule;
}

StopRule StopRule::duration(nanoseconds time) {
  StopRule rule;
  rule.kind = Kind::duration;
  rule.time = time;
  rule.check();
  return rule;
}

StopRule StopRule::stable(const Stability& stability) {
  StopRule rule;
  rule.kind = Kind::stable;
  rule.stability = stability;
  rule.check();
  return rule;
}

void StopRule::check() const {
  switch (kind) {
    case Kind::iterations:
      return refuse_if(count == 0, "invalid number of iterations 0", "It must be at least 1.");
    case Kind::duration:
      return refuse_if(time <= nanoseconds(0),
                       fmt::format("invalid duration of {} ns", time.count()),
                       "It must be above 0, for example 10s or 250ms.");
    case Kind::stable:
      refuse_if(!(stability.max_noise > 0),
                fmt::format("invalid max_noise {}", stability.max_noise),
                "It must be above 0, for example 0.005.");
      refuse_if(stability.min_time < nanoseconds(0) || stability.max_time <= nanoseconds(0) ||
                    stability.min_time > stability.max_time,
                fmt::format("invalid min_time of {} ns and max_time of {} ns of a stable run",
                            stability.min_time.count(), stability.max_time.count()),
                "min_time must be from 0 to max_time.");
      return refuse_if(stability.min_epochs < 6,
                       fmt::format("invalid min_epochs {}", stability.min_epochs),
                       "It must be at least 6.");
  }
  throw Error(Fault::usage, fmt::format("invalid kind {} of a stop rule", static_cast<int>(kind)),
              "It may be iterations, duration or stable.");
}

Stopper::Stopper(const StopRule& rule, Location location)
    : rule_(rule),
      location_(location),
      most_(location == Location::mean ? kMaxStream : kMaxEpoch),
      target_ns_(epoch_target_ns(rule, location == Location::mean)),
      next_look_(rule.stability.min_epochs) {}

double Stopper::target_ns() const {
  constexpr double kMarked = 1024;  // a stream's completions are counted a few tens at a time
  if (location_ == Location::median || rule_.kind != StopRule::Kind::stable) return target_ns_;
  const double fitting = target_ns_ * static_cast<double>(last_iterations_) / last_elapsed_ns_;
  return fitting < kMarked ? target_ns_ / static_cast<double>(rule_.stability.min_epochs)
                           : target_ns_;
}

std::uint64_t Stopper::epoch_within(double left_ns) const {
  const std::uint64_t growth = location_ == Location::mean ? 4096 : 16;
  if (last_iterations_ == 0) return 1;
  // Equal parts of the rest, so that the last epoch is not much smaller.
  const double aim_ns = left_ns / std::ceil(left_ns / target_ns());
  const double fitting = aim_ns * static_cast<double>(last_iterations_) / last_elapsed_ns_;
  const std::uint64_t most = std::min(most_, last_iterations_ * growth);
  if (!(fitting < static_cast<double>(most))) return most;  // also if the elapsed time is 0
  return static_cast<std::uint64_t>(std::llround(std::max(1.0, fitting)));
}

std::uint64_t Stopper::next_epoch(std::uint64_t pending) const {
  const double pending_ns = pending == 0 ? 0
                                         : last_elapsed_ns_ * static_cast<double>(pending) /
                                               static_cast<double>(last_iterations_);
  const std::uint64_t iterations = iterations_ + pending;
  const double elapsed_ns = elapsed_ns_ + pending_ns;
  switch (rule_.kind) {
    case StopRule::Kind::iterations:
      return iterations < rule_.count ? std::min(most_, rule_.count - iterations) : 0;
    case StopRule::Kind::duration:
      return is_over(elapsed_ns) ? 0 : epoch_within(ns_of(rule_.time) - elapsed_ns);
    case StopRule::Kind::stable:
      break;
  }
  const double left_ns = ns_of(rule_.stability.max_time) - elapsed_ns;
  return left_ns <= 0 || stable_ || hopeless_ ? 0 : epoch_within(left_ns);
}

void Stopper::expect(std::uint64_t iterations, double elapsed_ns) {
  last_iterations_ = iterations;
  last_elapsed_ns_ = elapsed_ns;
}

void Stopper::add(std::uint64_t iterations, double elapsed_ns,
                  std::span<const double> locations_ns) {
  iterations_ += iterations;
  elapsed_ns_ += elapsed_ns;
  if (iterations > 0) expect(iterations, elapsed_ns);
  if (target_ns_ == 0 && iterations > 4 * largest_) locations_.clear();  // those were probes
  largest_ = std::max(largest_, iterations);
  const bool whole = target_ns_ == 0 ? 4 * iterations > largest_
                                     : elapsed_ns >= target_ns() / 4 || iterations >= most_;
  if (whole) locations_.insert(locations_.end(), locations_ns.begin(), locations_ns.end());
  if (rule_.kind == StopRule::Kind::stable) look();
}

void Stopper::look() {
  const Stability& s = rule_.stability;
  const double whole_ns = ns_of(s.max_time);
  const bool last = elapsed_ns_ >= whole_ns;
  if (locations_.size() < s.min_epochs || elapsed_ns_ < ns_of(s.min_time) ||
      (locations_.size() < next_look_ && !last)) {
    return;
  }
  next_look_ = 2 * locations_.size();
  const double now = uncertainty();
  stable_ = now <= s.max_noise;
  // The error falls with the root of the time. It is itself known within a factor of two at best.
  constexpr std::uint64_t kEnough = 2;
  constexpr double kFar = 2;
  hopeless_ = locations_.size() >= kEnough * s.min_epochs &&
              now * std::sqrt(elapsed_ns_ / whole_ns) > kFar * s.max_noise;
}

/// Of a duration: what is left is too short for another epoch.
bool Stopper::is_over(double elapsed_ns) const {
  return ns_of(rule_.time) - elapsed_ns < target_ns_ / 10;
}

bool Stopper::converged() const {
  switch (rule_.kind) {
    case StopRule::Kind::iterations:
      return iterations_ >= rule_.count;
    case StopRule::Kind::duration:
      return is_over(elapsed_ns_);
    case StopRule::Kind::stable:
      break;
  }
  return stable_;
}

Disagreement Stopper::disagreement() const {
  const bool ended = hopeless_ || elapsed_ns_ >= ns_of(rule_.stability.max_time);
  if (rule_.kind != StopRule::Kind::stable || stable_ || !ended) return Disagreement::none;
  if (locations_.size() < rule_.stability.min_epochs) return Disagreement::few;
  if (have_two_speeds(locations_)) return Disagreement::two_speeds;
  if (drift(locations_)) return Disagreement::drift;
  constexpr double kDependent = 2;
  return autocorrelation_time(locations_) > kDependent ? Disagreement::dependence
                                                       : Disagreement::noise;
}

double Stopper::spread() const {
  if (locations_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double deviation = median_absolute_deviation(locations_);
  return deviation == 0 ? 0 : deviation / median(locations_);
}

Estimate Stopper::interval() const {
  return location_ == Location::mean ? estimate_dependent_mean(locations_)
                                     : estimate_dependent_median(locations_);
}

double Stopper::uncertainty() const {
  if (locations_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const Estimate known = interval();
  if (!known.covers) return std::numeric_limits<double>::infinity();
  const double far = std::max(known.high - known.value, known.value - known.low);
  return far == 0 ? 0 : far / known.value;
}

}  // namespace rdmabench::inline v1::measure
