#include "measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/samples.h"
#include "rdmabench/measure/statistics.h"
#include "run/load_curve.h"
#include "run/pattern_table.h"
#include "run/peak_rate.h"

namespace rdmabench::run {
namespace {

using transport::OperationCode;

/// With fewer, their interval is not worth its name.
constexpr std::size_t kFewEpochs = 6;

/// What one epoch tells the stopping rule.
struct Seen {
  double elapsed_ns;
  std::vector<double> locations_ns;  ///< median latency, or time per message of each part
};

/// Why a row is not stable. A whole sentence and what to do, the same for all sizes.
std::string_view text_of(measure::Disagreement why) {
  using measure::Disagreement;
  switch (why) {
    case Disagreement::none:
      break;
    case Disagreement::few:
      return "Not stable: too few epochs fit into the time. Measure longer.";
    case Disagreement::two_speeds:
      return "Not stable: the epochs have two speeds, so something changes between two states. Look "
             "at placement, clock frequency and other load.";
    case Disagreement::drift:
      return "Not stable: the epochs drift. Warm up longer, and look for heat and for other load.";
    case Disagreement::dependence:
      return "Not stable: each epoch is like the one before, so that more of them tell little. "
             "Measure several launches.";
    case Disagreement::noise:
      return "Not stable: the epochs differ by chance. Measure longer, or keep other work away.";
  }
  return "";
}

/// What both kinds of result have in common.
template <class Result>
void describe(Result& row, const Config& config, std::uint64_t size,
              const measure::Stopper& stopper, std::uint64_t warmup) {
  row.size_bytes = size;
  row.iterations = stopper.iterations();
  row.warmup_iterations = warmup;
  row.operation = operation_text(config.traffic.pattern, config.traffic.operation);
  row.validated = config.traffic.validate;
  // Counting iterations promises no stability, so only the rule that does can break it.
  row.stable = !config.counts.empty() || config.stop.kind != measure::StopRule::Kind::stable ||
               stopper.converged();
  const double spread = stopper.spread();
  row.spread = spread >= 0 ? spread : 0;  // a single epoch has NaN
  if (const std::string_view why = text_of(stopper.disagreement()); !why.empty()) {
    const auto most = static_cast<double>(config.stop.stability.max_time.count());
    const bool early = stopper.elapsed_ns() < most;
    row.notes.push_back(
        fmt::format("{}{}", why, early ? " More of the time allowed would not have helped." : ""));
  }
}

bool is_timed_by_completion(const Session& session) {
  return transport::is_timed_by_completion(session.spec().traffic.operation);
}

/// How often compare-swap found what it looked for, which the target alone can tell; an idle one
/// does not look.
std::optional<std::uint64_t> successes(const Session& session, std::uint64_t succeeded) {
  const SessionSpec& spec = session.spec();
  if (!transport::is_atomic(spec.traffic.operation) || spec.traffic.target_idle)
    return std::nullopt;
  return succeeded;
}

constexpr std::string_view kComparesWindow =
    "validated: every immediate, and the bytes of the last message in each slot of the window";

/// What went into the window unseen is compared at the end, where it was not written over.
bool compares_window(const report::LatencyResult& row, const Session& session) {
  return row.validated && transport::traits(session.spec().traffic.operation).flushes;
}
bool compares_window(const report::BandwidthResult& row, const Session& session) {
  const OperationCode operation = session.spec().traffic.operation;
  return row.validated && !session.spec().gpu && !transport::is_two_sided(operation) &&
         !transport::is_from_target(operation);
}

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

class LatencySink {
 public:
  using Result = report::LatencyResult;
  static constexpr measure::Location kLocation = measure::Location::median;

  LatencySink(const Session& session, const Config& /*config*/)
      : completes_(is_timed_by_completion(session) || session.spec().traffic.target_idle ||
                   !session.spec().traffic.pattern.empty()),
        factor_(completes_ ? 1.0 : 0.5) {}

  Seen add(const EpochOutcome& epoch, std::span<const measure::Ticks> intervals,
           std::uint64_t /*messages*/, double ns_per_tick) {
    recorder_.add(intervals);
    succeeded_ += epoch.target.succeeded;
    const auto ticks = std::accumulate(intervals.begin(), intervals.end(), std::uint64_t{0});
    return {
        .elapsed_ns = static_cast<double>(ticks) * ns_per_tick,
        .locations_ns = {static_cast<double>(measure::median(intervals)) * ns_per_tick * factor_}};
  }

  void fill(Result& row, Session& session, const measure::Stopper& stopper,
            double ns_per_tick) const {
    const bool pattern = !session.spec().traffic.pattern.empty();
    row.kind = pattern      ? session.spec().traffic.pattern
               : completes_ ? "completion"
                            : "half_round_trip";
    row.signal = pattern      ? "pattern"
                 : completes_ ? "completion"
                              : signal_of(session.posted(row.size_bytes));
    row.completion =
        completes_ ? session.worker().describe(row.size_bytes).completion : "receiver_confirmed";
    row.latency = recorder_.summary(ns_per_tick * factor_);
    if (stopper.locations().size() >= kFewEpochs) {
      const measure::Estimate median = stopper.interval();
      row.latency.median_low_ns = std::min(median.low, row.latency.p50_ns);
      row.latency.median_high_ns = std::max(median.high, row.latency.p50_ns);
    }
    row.succeeded = successes(session, succeeded_);
    if (compares_window(row, session)) row.notes.emplace_back(kComparesWindow);
    if (std::string note = arrival_note(session, row.size_bytes); !note.empty()) {
      row.notes.push_back(std::move(note));
    }
    if (session.spec().traffic.target_idle) {
      row.notes.emplace_back(
          "one-sided here: every operation completed while the target did not touch its endpoint");
    }
  }

 private:
  bool completes_;
  double factor_;
  std::uint64_t succeeded_ = 0;
  measure::LatencyRecorder recorder_;
};

/// Messages that may be outstanding over all queue pairs.
std::uint64_t depth_of(Session& session) {
  const SessionSpec& spec = session.spec();
  const std::uint64_t each = session.worker().bounded({.depth = session.slots().depth}).depth;
  return each / transport::posts_of_message(spec.traffic.operation) * spec.endpoint.queue_pairs *
         spec.traffic.threads;
}

class BandwidthSink {
 public:
  using Result = report::BandwidthResult;
  static constexpr measure::Location kLocation = measure::Location::mean;

  BandwidthSink(Session& session, const Config& config)
      : directions_(config.traffic.shape == workload::Shape::bidirectional ? 2 : 1),
        config_(config),
        interval_ns_(static_cast<double>(config.interval.count())),
        depth_(depth_of(session)) {}

  Seen add(const EpochOutcome& epoch, std::span<const measure::Ticks> /*intervals*/,
           std::uint64_t messages, double ns_per_tick) {
    const double elapsed_ns = static_cast<double>(epoch.end - epoch.begin) * ns_per_tick;
    const double per_message_ns = elapsed_ns / static_cast<double>(messages * directions_);
    sent_ += messages;
    if (epoch.whole) confirmed_ = sent_;
    arrived_ += epoch.target.arrived;
    succeeded_ += epoch.target.succeeded;
    elapsed_ns_ += elapsed_ns;
    if (begin_ == 0) begin_ = epoch.begin;
    whole_ = epoch.end - begin_;
    under_way_ += epoch.end - epoch.begin;
    rested_ += epoch.rested;
    add_interval(static_cast<double>(messages * directions_), elapsed_ns);
    peak_.add(messages, elapsed_ns, goes_on_ || !epoch.whole, epoch.whole);
    // What a stream ends with is mostly the wait for what was buffered at its begin.
    const bool is_tail = std::exchange(goes_on_, !epoch.whole) && epoch.whole;
    if (epoch.parts.size() < kFewEpochs) {
      std::vector<double> locations(is_tail ? 0 : 1, per_message_ns);
      return {.elapsed_ns = elapsed_ns, .locations_ns = std::move(locations)};
    }
    std::vector<double> parts = epoch.parts;
    for (double& part : parts) part *= ns_per_tick / static_cast<double>(directions_);
    return {.elapsed_ns = elapsed_ns, .locations_ns = std::move(parts)};
  }

  void fill(Result& row, Session& session, const measure::Stopper& stopper,
            double /*ns_per_tick*/) {
    const double bits = 8.0 * static_cast<double>(row.size_bytes);
    row.depth = depth_;
    row.direction = directions_ == 2 ? "both_ways" : "one_way";
    row.completion = completion(session, row.size_bytes);
    row.offered_messages_per_s = rate_of(config_, row.size_bytes);
    std::uint64_t counted = sent_;
    if (!goes_on_) row.succeeded = successes(session, succeeded_);
    if (!goes_on_ && loses(session)) {
      row.lost = confirmed_ - std::min(confirmed_, arrived_);
      counted -= *row.lost;
    }
    if (compares_window(row, session)) row.notes.emplace_back(kComparesWindow);
    row.elapsed_ns = elapsed_ns_;
    if (whole_ > 0) {
      row.duty = static_cast<double>(under_way_ - std::min(under_way_, rested_)) /
                 static_cast<double>(whole_);
    }
    row.messages_per_s =
        elapsed_ns_ > 0 ? static_cast<double>(counted * directions_) / elapsed_ns_ * kNsPerSecond
                        : 0;
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
      row.notes.push_back(fmt::format(
          "The interval of this rate is a spread: it rests on {} epochs. Measure longer.",
          locations));
    }
    const RateInterval interval = rate_interval(row.bits_per_s, stopper.locations());
    row.bits_per_s_low = interval.low;
    row.bits_per_s_high = interval.high;
  }

 private:
  static bool loses(Session& session) {
    return !transport::is_reliable(session.spec().endpoint.service) &&
           transport::notifies(session.spec().traffic.operation) &&
           session.spec().traffic.shape == workload::Shape::bandwidth;
  }

  /// The target confirms what it counted. It cannot count writes. Its confirmation of them means no
  /// more than the initiator's completions.
  std::string completion(Session& session, std::uint64_t size) const {
    std::string local = session.worker().describe(size).completion;
    if (goes_on_) return local;  // the run ended before the target told
    const bool uncounted = !transport::notifies(session.spec().traffic.operation);
    return is_timed_by_completion(session) || (uncounted && local != "delivery")
               ? local
               : "receiver_confirmed";
  }

  void add_interval(double messages, double elapsed_ns) {
    if (interval_ns_ <= 0) return;
    interval_messages_ += messages;
    interval_elapsed_ns_ += elapsed_ns;
    if (interval_elapsed_ns_ >= interval_ns_) end_interval();
  }

  void end_interval() {
    intervals_.push_back(
        {.begin_ns = elapsed_ns_ - interval_elapsed_ns_,
         .elapsed_ns = interval_elapsed_ns_,
         .bits_per_s = 0,
         .messages_per_s = interval_messages_ / interval_elapsed_ns_ * kNsPerSecond});
    interval_messages_ = interval_elapsed_ns_ = 0;
  }

  std::uint64_t directions_;
  const Config& config_;
  double interval_ns_;
  std::uint64_t depth_;
  std::uint64_t sent_ = 0;
  bool goes_on_ = false;         // more of the epoch is to come
  std::uint64_t confirmed_ = 0;  // of those; what was lost of the others is not known
  std::uint64_t arrived_ = 0;
  std::uint64_t succeeded_ = 0;
  double elapsed_ns_ = 0;
  measure::Ticks begin_ = 0;      // of the first epoch
  measure::Ticks whole_ = 0;      // from then to the end of the last one ...
  measure::Ticks under_way_ = 0;  // ... what of it was not between two ...
  measure::Ticks rested_ = 0;     // ... and what of that had nothing under way
  double interval_messages_ = 0;
  double interval_elapsed_ns_ = 0;
  std::vector<report::Interval> intervals_;
  PeakRate peak_;
};

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
    return {rate / factor, rate * factor};
  }
  const measure::Estimate time = measure::estimate_dependent_mean(epoch_times);
  const double fastest = *std::min_element(epoch_times.begin(), epoch_times.end());
  return {rate * time.value / time.high, rate * time.value / std::max(time.low, fastest)};
}

Measurement::Measurement(Session& session, const Config& config, const RunHooks& hooks)
    : session_(session), config_(config), hooks_(hooks), epochs_(session, config) {}

template <class Sink>
void Measurement::run_size(std::size_t index, std::vector<typename Sink::Result>& rows) {
  Sink sink(session_, config_);
  const std::uint64_t size = config_.sizes[index];
  using Kind = measure::StopRule::Kind;
  const measure::StopRule rule =
      config_.counts.empty() ? config_.stop : measure::StopRule::iterations(config_.counts[index]);
  measure::Stopper stopper(rule, Sink::kLocation);
  std::uint64_t warmup = 0;
  const auto add_row = [&] {
    auto& row = rows.emplace_back();
    describe(row, config_, size, stopper, warmup);
    sink.fill(row, session_, stopper, epochs_.rate().ns_per_tick);
  };
  try {
    warmup = epochs_.warm_up(size);
    if (Sink::kLocation == measure::Location::mean && warmup > 0) {
      stopper.expect(epochs_.seen() * session_.workers(),
                     static_cast<double>(epochs_.seen_time().count()));
    }
    const auto each = [&](std::uint64_t wanted) {  // rounded up, so that every worker has one
      const std::uint64_t workers = session_.workers();
      return std::min((wanted + workers - 1) / workers, epochs_.longest());
    };
    Deadline::Clock::time_point begin = Deadline::Clock::now();
    const auto add = [&](const EpochOutcome& part) {
      const Deadline::Clock::time_point now = Deadline::Clock::now();
      const auto took = now - std::exchange(begin, now);
      if (part.messages > 0) {
        epochs_.bound(std::max<std::uint64_t>(1, part.messages / session_.workers()), took);
      }
      const Seen seen = sink.add(part, epochs_.intervals(part.messages), part.messages,
                                 epochs_.rate().ns_per_tick);
      stopper.add(part.messages, seen.elapsed_ns, seen.locations_ns);
      call(hooks_.on_progress,
           Progress{
               .size_index = index,
               .sizes = config_.sizes.size(),
               .size_bytes = size,
               .iterations = stopper.iterations(),
               .target_iterations = rule.kind == Kind::iterations ? rule.count : 0,
               .elapsed = std::chrono::nanoseconds(static_cast<std::int64_t>(stopper.elapsed_ns())),
               .target_time = rule.kind == Kind::duration ? rule.time : std::chrono::nanoseconds(0),
               .max_time = rule.kind == Kind::stable ? rule.stability.max_time
                                                     : std::chrono::nanoseconds(0),
               .messages_per_s =
                   static_cast<double>(part.messages) / seen.elapsed_ns * kNsPerSecond});
    };
    std::uint64_t next = each(stopper.next_epoch());
    Grow grow;
    if (rule.kind != Kind::iterations && is_stream(session_.spec())) {
      grow = [&](const EpochOutcome& part, std::uint64_t pending) {
        add(part);
        return next = std::min(each(stopper.next_epoch(pending)), 2 * next);  // it may be a burst
      };
    }
    while (next > 0) {
      begin = Deadline::Clock::now();
      add(epochs_.run(size, next, rate_of(config_, size), false, false, grow));
      next = each(stopper.next_epoch());  // a stream's end is foreseen, and may have come too early
    }
  } catch (const std::exception&) {
    if (stopper.iterations() > 0) {
      add_row();
      rows.back().stable = false;
      rows.back().complete = false;
      rows.back().notes.emplace_back("The error of the run cut this row off.");
    }
    throw;
  }
  add_row();
}

void Measurement::run(std::size_t index, report::Report& report) {
  if (auto* latency = std::get_if<std::vector<report::LatencyResult>>(&report.results)) {
    run_size<LatencySink>(index, *latency);
  } else if (auto* loads = std::get_if<std::vector<report::LoadResult>>(&report.results)) {
    LoadCurve(session_, epochs_, config_, hooks_).run(index, *loads);
  } else {
    run_size<BandwidthSink>(index, std::get<std::vector<report::BandwidthResult>>(report.results));
  }
}

}  // namespace rdmabench::run
