#include "rdmabench/measure/stop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::measure {
namespace {

using std::chrono::nanoseconds;

double ns_of(nanoseconds time) {
  return static_cast<double>(time.count());
}

/// Target length of an epoch: long compared with its start and end, short compared with the run.
double epoch_target_ns(const StopRule& rule) {
  constexpr double kLongest = 100e6;
  constexpr double kFewestEpochs = 5;
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
  return std::min(kLongest, ns_of(run) / static_cast<double>(s.min_epochs));
}

}  // namespace

StopRule StopRule::iterations(std::uint64_t count) {
  if (count == 0)
    throw Error(Fault::usage, "invalid number of iterations 0", "It must be at least 1.");
  StopRule rule;
  rule.kind = Kind::iterations;
  rule.count = count;
  return rule;
}

StopRule StopRule::duration(nanoseconds time) {
  refuse_if(time <= nanoseconds(0), fmt::format("invalid duration of {} ns", time.count()),
            "It must be above 0, for example 10s or 250ms.");
  StopRule rule;
  rule.kind = Kind::duration;
  rule.time = time;
  return rule;
}

StopRule StopRule::stable(const Stability& stability) {
  refuse_if(!(stability.max_noise > 0), fmt::format("invalid max_noise {}", stability.max_noise),
            "It must be above 0, for example 0.005.");
  refuse_if(stability.min_time < nanoseconds(0) || stability.max_time <= nanoseconds(0) ||
                stability.min_time > stability.max_time,
            fmt::format("invalid min_time of {} ns and max_time of {} ns of a stable run",
                        stability.min_time.count(), stability.max_time.count()),
            "min_time must be from 0 to max_time.");
  refuse_if(stability.min_epochs < 6, fmt::format("invalid min_epochs {}", stability.min_epochs),
            "It must be at least 6, for an interval of 95 % confidence.");
  StopRule rule;
  rule.kind = Kind::stable;
  rule.stability = stability;
  return rule;
}

Stopper::Stopper(const StopRule& rule) : rule_(rule), target_ns_(epoch_target_ns(rule)) {}

std::uint64_t Stopper::epoch_within(double left_ns) const {
  constexpr std::uint64_t kGrowth = 16;
  if (last_iterations_ == 0) return 1;
  // Equal parts of the rest, so that the last epoch is not much smaller.
  const double aim_ns = left_ns / std::ceil(left_ns / target_ns_);
  const double fitting = aim_ns * static_cast<double>(last_iterations_) / last_elapsed_ns_;
  const std::uint64_t most = std::min(kMaxEpoch, last_iterations_ * kGrowth);
  if (!(fitting < static_cast<double>(most))) return most;  // also if the elapsed time is 0
  return static_cast<std::uint64_t>(std::llround(std::max(1.0, fitting)));
}

std::uint64_t Stopper::next_epoch() const {
  switch (rule_.kind) {
    case StopRule::Kind::iterations:
      return iterations_ < rule_.count ? std::min(kMaxEpoch, rule_.count - iterations_) : 0;
    case StopRule::Kind::duration:
      return converged() ? 0 : epoch_within(ns_of(rule_.time) - elapsed_ns_);
    case StopRule::Kind::stable:
      break;
  }
  const double left_ns = ns_of(rule_.stability.max_time) - elapsed_ns_;
  return left_ns <= 0 || converged() ? 0 : epoch_within(left_ns);
}

void Stopper::add(std::uint64_t iterations, double elapsed_ns, double location_ns) {
  iterations_ += iterations;
  elapsed_ns_ += elapsed_ns;
  last_iterations_ = iterations;
  last_elapsed_ns_ = elapsed_ns;
  if (elapsed_ns >= target_ns_ / 4 || iterations >= kMaxEpoch) {
    locations_.insert(std::upper_bound(locations_.begin(), locations_.end(), location_ns),
                      location_ns);
  }
}

bool Stopper::converged() const {
  switch (rule_.kind) {
    case StopRule::Kind::iterations:
      return iterations_ >= rule_.count;
    case StopRule::Kind::duration:
      return ns_of(rule_.time) - elapsed_ns_ < target_ns_ / 10;  // too short for another epoch
    case StopRule::Kind::stable:
      break;
  }
  const Stability& s = rule_.stability;
  return locations_.size() >= s.min_epochs && elapsed_ns_ >= ns_of(s.min_time) &&
         uncertainty() <= s.max_noise;
}

double Stopper::spread() const {
  if (locations_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const double deviation = median_absolute_deviation(locations_);
  return deviation == 0 ? 0 : deviation / median(locations_);
}

double Stopper::uncertainty() const {
  if (locations_.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  const RankInterval interval = percentile_interval(locations_.size(), 50);
  const double half = (locations_[interval.high] - locations_[interval.low]) / 2;
  return half == 0 ? 0 : half / median(locations_);
}

}  // namespace rdmabench::measure
