#include "run/sinks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1::run {
namespace {

/// With fewer, their interval is not worth its name.
constexpr std::size_t kFewEpochs = 6;

/// Far above any device's: whoever reads a rate takes no higher one. Two epochs may say nothing.
constexpr double kMostRate = 1e18;

/// How often compare-swap found what it looked for, which the target alone can tell; an idle one
/// does not look.
std::optional<std::uint64_t> successes(const SessionSpec& spec, std::uint64_t succeeded) {
  if (!transport::is_atomic(spec.traffic.operation) || spec.traffic.target_idle)
    return std::nullopt;
  return succeeded;
}

/// Of what went into the window unseen, and is compared at the end, where it was not written over.
constexpr std::string_view kComparesWindow =
    "validated: every immediate, and the bytes of the last message in each slot of the window";

constexpr std::uint64_t kCacheLine = 64;

/// What was assumed of the order in which a write's bytes become visible, or done instead.
std::string arrival_note(const Session& session, std::uint64_t size) {
  if (!is_ping_pong_of_writes(session.spec())) return "";
  const transport::WriteOrder client = session.write_order();
  const transport::WriteOrder& server = session.peer_write_order();
  if (!transport::is_plain_write(session.posted(size))) {
    const std::uint64_t most = std::min(client.bytes, server.bytes);
    return most == 0
               ? "each write carried an immediate: its last byte may become visible before others"
               : fmt::format(
                     "each write carried an immediate: above {} bytes the last one may "
                     "become visible before others",
                     most);
  }
  if (client.promised && server.promised) return "";
  return fmt::format(
      "that the last byte of a write becomes visible last, which was polled, is not promised by the "
      "{}: it was assumed, because a write of this size is {}",
      client.promised   ? "server's device"
      : server.promised ? "client's device"
                        : "devices",
      size <= kCacheLine ? "one packet of at most 64 bytes" : "one packet");
}

/// Messages that may be outstanding over all queue pairs.
std::uint64_t depth_of(Session& session) {
  const SessionSpec& spec = session.spec();
  const std::uint64_t each = session.worker().bounded({.depth = session.slots().depth}).depth;
  return each / transport::posts_of_message(spec.traffic.operation) * spec.endpoint.queue_pairs *
         spec.traffic.threads;
}

bool loses(const SessionSpec& spec) {
  return !transport::is_reliable(spec.endpoint.service) &&
         transport::notifies(spec.traffic.operation) &&
         spec.traffic.shape == workload::Shape::bandwidth;
}

}  // namespace

std::string_view signal_of(transport::OperationCode posted) noexcept {
  if (transport::is_two_sided(posted)) return "receive";
  return transport::notifies(posted) ? "remote-cq-data" : "memory-poll";
}

RateInterval rate_interval(double rate, std::span<const double> epoch_times) {
  if (epoch_times.size() < 2) return {};
  if (epoch_times.size() <
      kFewEpochs) {  // t is so wide that times would end below 0, their logs do not
    std::vector<double> logs;
    for (const double time : epoch_times) logs.push_back(std::log(time));
    const measure::Estimate mean = measure::estimate_mean(logs);
    const double factor = std::exp(mean.high - mean.value);
    return {rate / factor, std::min(rate * factor, kMostRate)};
  }
  const measure::Estimate time = measure::estimate_dependent_mean(epoch_times);
  const double fastest = *std::min_element(epoch_times.begin(), epoch_times.end());
  return {rate * time.value / time.high, rate * time.value / std::max(time.low, fastest)};
}

LatencySink::LatencySink(Session& session, const Config& /*config*/)
    : session_(session),
      completes_(transport::is_timed_by_completion(session.spec().traffic.operation) ||
                 session.spec().traffic.target_idle || !session.spec().traffic.pattern.empty()),
      factor_(completes_ ? 1.0 : 0.5) {}

Seen LatencySink::add(const EpochOutcome& epoch, std::span<const measure::Ticks> intervals,
                      double ns_per_tick) {
  recorder_.add(intervals);
  succeeded_ += epoch.target.succeeded;
  const auto ticks = std::accumulate(intervals.begin(), intervals.end(), std::uint64_t{0});
  return {
      .elapsed_ns = static_cast<double>(ticks) * ns_per_tick,
      .locations_ns = {static_cast<double>(measure::median(intervals)) * ns_per_tick * factor_}};
}

void LatencySink::fill(Result& row, const measure::Stopper& stopper, double ns_per_tick) const {
  const SessionSpec& spec = session_.spec();
  const bool pattern = !spec.traffic.pattern.empty();
  row.kind = pattern ? spec.traffic.pattern : completes_ ? "completion" : "half_round_trip";
  row.signal = pattern      ? "pattern"
               : completes_ ? "completion"
                            : signal_of(session_.posted(row.size_bytes));
  row.completion =
      completes_ ? session_.worker().describe(row.size_bytes).completion : "receiver_confirmed";
  row.latency = recorder_.summary(ns_per_tick * factor_);
  if (stopper.locations().size() >= kFewEpochs) {
    const measure::Estimate median = stopper.interval();
    row.latency.median_low_ns = std::min(median.low, row.latency.p50_ns);
    row.latency.median_high_ns = std::max(median.high, row.latency.p50_ns);
  }
  row.succeeded = successes(spec, succeeded_);
  if (row.validated && transport::traits(spec.traffic.operation).flushes) {
    row.notes.emplace_back(kComparesWindow);
  }
  if (std::string note = arrival_note(session_, row.size_bytes); !note.empty()) {
    row.notes.push_back(std::move(note));
  }
  if (spec.traffic.target_idle) {
    row.notes.emplace_back(
        "one-sided here: every operation completed while the target did not touch its endpoint");
  }
}

BandwidthSink::BandwidthSink(Session& session, const Config& config)
    : session_(session),
      config_(config),
      directions_(config.traffic.shape == workload::Shape::bidirectional ? 2 : 1) {}

Seen BandwidthSink::add(const EpochOutcome& epoch, std::span<const measure::Ticks> /*intervals*/,
                        double ns_per_tick) {
  const double elapsed_ns = static_cast<double>(epoch.end - epoch.begin) * ns_per_tick;
  const auto messages = static_cast<double>(epoch.messages * directions_);
  sent_ += epoch.messages;
  if (epoch.whole) confirmed_ = sent_;
  arrived_ += epoch.target.arrived;
  succeeded_ += epoch.target.succeeded;
  elapsed_ns_ += elapsed_ns;
  if (begin_ == 0) begin_ = epoch.begin;
  whole_ = epoch.end - begin_;
  under_way_ += epoch.end - epoch.begin;
  rested_ += epoch.rested;
  if (const auto most = static_cast<double>(config_.interval.count()); most > 0) {
    interval_messages_ += messages;
    interval_elapsed_ns_ += elapsed_ns;
    if (interval_elapsed_ns_ >= most) end_interval();
  }
  peak_.add(epoch.messages, elapsed_ns, goes_on_ || !epoch.whole, epoch.whole);
  // What a stream ends with is mostly the wait for what was buffered at its begin.
  const bool is_tail = std::exchange(goes_on_, !epoch.whole) && epoch.whole;
  if (epoch.parts.size() < kFewEpochs) {
    std::vector<double> locations(is_tail ? 0 : 1, elapsed_ns / messages);
    return {.elapsed_ns = elapsed_ns, .locations_ns = std::move(locations)};
  }
  std::vector<double> parts = epoch.parts;
  for (double& part : parts) part *= ns_per_tick / static_cast<double>(directions_);
  return {.elapsed_ns = elapsed_ns, .locations_ns = std::move(parts)};
}

void BandwidthSink::fill(Result& row, const measure::Stopper& stopper, double /*ns_per_tick*/) {
  const SessionSpec& spec = session_.spec();
  const transport::OperationCode operation = spec.traffic.operation;
  const double bits = 8.0 * static_cast<double>(row.size_bytes);
  row.depth = depth_of(session_);
  row.direction = directions_ == 2 ? "both_ways" : "one_way";
  row.completion = completion(row.size_bytes);
  row.offered_messages_per_s = rate_of(config_, row.size_bytes);
  std::uint64_t counted = sent_;
  if (!goes_on_) row.succeeded = successes(spec, succeeded_);
  if (!goes_on_ && loses(spec)) {
    row.lost = confirmed_ - std::min(confirmed_, arrived_);
    counted -= *row.lost;
  }
  if (row.validated && !spec.gpu && !transport::is_two_sided(operation) &&
      !transport::is_from_target(operation)) {
    row.notes.emplace_back(kComparesWindow);
  }
  row.elapsed_ns = elapsed_ns_;
  if (whole_ > 0) {
    row.duty = static_cast<double>(under_way_ - std::min(under_way_, rested_)) /
               static_cast<double>(whole_);
  }
  row.messages_per_s =
      elapsed_ns_ > 0 ? static_cast<double>(counted * directions_) / elapsed_ns_ * kNsPerSecond : 0;
  row.bits_per_s = row.messages_per_s * bits;
  if (interval_messages_ > 0) end_interval();
  row.intervals = std::move(intervals_);
  for (report::Interval& interval : row.intervals) {
    interval.bits_per_s = interval.messages_per_s * bits;
  }
  const double fastest_ns = peak_.fastest_ns() / static_cast<double>(directions_);
  row.peak_bits_per_s =
      std::isfinite(fastest_ns) ? bits / fastest_ns * kNsPerSecond : row.bits_per_s;
  const std::size_t locations = stopper.locations().size();
  if (locations > 1 && locations < kFewEpochs) {
    row.notes.push_back(
        fmt::format("The interval of this rate is a spread: it rests on {} epochs. Measure longer.",
                    locations));
  }
  const RateInterval interval = rate_interval(row.bits_per_s, stopper.locations());
  row.bits_per_s_low = interval.low;
  row.bits_per_s_high = interval.high;
}

/// The target confirms what it counted. It cannot count writes. Its confirmation of them means no
/// more than the initiator's completions.
std::string BandwidthSink::completion(std::uint64_t size) const {
  const transport::OperationCode operation = session_.spec().traffic.operation;
  std::string local = session_.worker().describe(size).completion;
  if (goes_on_) return local;  // the run ended before the target told
  const bool uncounted = !transport::notifies(operation);
  return transport::is_timed_by_completion(operation) || (uncounted && local != "delivery")
             ? local
             : "receiver_confirmed";
}

void BandwidthSink::end_interval() {
  intervals_.push_back(
      {.begin_ns = elapsed_ns_ - interval_elapsed_ns_,
       .elapsed_ns = interval_elapsed_ns_,
       .bits_per_s = 0,
       .messages_per_s = interval_messages_ / interval_elapsed_ns_ * kNsPerSecond});
  interval_messages_ = interval_elapsed_ns_ = 0;
}

}  // namespace rdmabench::inline v1::run
