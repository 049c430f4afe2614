#include "measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "rdmabench/base/deadline.h"
#include "rdmabench/measure/samples.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::run {
namespace {

using control::MessageType;
using transport::OperationCode;
using workload::Side;

constexpr std::uint64_t kWarmupMessages = 200;
constexpr std::uint64_t kWarmupBytes = std::uint64_t{8} << 20;  // of large messages fewer will do
constexpr std::uint64_t kLeastWarmup = 4;
constexpr std::uint64_t kUnknownSpeed =
    16;  // messages of a first epoch that nothing was warmed up for

/// What one epoch tells the stopping rule.
struct Seen {
  double elapsed_ns;
  double location_ns;  ///< median latency, or time per message
};

/// What both kinds of result have in common.
template <class Result>
void describe(Result& row, const Config& config, std::uint64_t size,
              const measure::Stopper& stopper, std::uint64_t warmup) {
  row.size_bytes = size;
  row.iterations = stopper.iterations();
  row.warmup_iterations = warmup;
  row.operation = transport::name(config.operation);
  row.validated = config.validate;
  // Counting iterations promises no stability, so only the rule that does can break it.
  row.stable = config.stop.kind != measure::StopRule::Kind::stable || stopper.converged();
  const double spread = stopper.spread();
  row.spread = spread >= 0 ? spread : 0;  // NaN of a single epoch is no spread
}

class LatencySink {
 public:
  using Result = report::LatencyResult;

  LatencySink(const Session& /*session*/, const Config& config)
      : reads_(config.operation == OperationCode::read), factor_(reads_ ? 1.0 : 0.5) {}

  Seen add(const workload::EpochResult& /*epoch*/, std::span<const measure::Ticks> intervals,
           std::uint64_t /*iterations*/, double ns_per_tick) {
    recorder_.add(intervals);
    const auto ticks = std::accumulate(intervals.begin(), intervals.end(), std::uint64_t{0});
    return {.elapsed_ns = static_cast<double>(ticks) * ns_per_tick,
            .location_ns = static_cast<double>(measure::median(intervals)) * ns_per_tick * factor_};
  }

  void fill(Result& row, Session& session, double ns_per_tick) const {
    row.kind = reads_ ? "completion" : "half_round_trip";
    row.signal = session.link().signal(session.spec().operation);
    row.completion = reads_ ? session.link().describe().completion : "receiver_confirmed";
    row.latency = recorder_.summary(ns_per_tick * factor_);
  }

 private:
  bool reads_;
  double factor_;
  measure::LatencyRecorder recorder_;
};

class BandwidthSink {
 public:
  using Result = report::BandwidthResult;

  BandwidthSink(const Session& session, const Config& config)
      : reads_(config.operation == OperationCode::read),
        depth_(endpoint_request(session.spec(), true).depth) {}

  Seen add(const workload::EpochResult& epoch, std::span<const measure::Ticks> /*intervals*/,
           std::uint64_t iterations, double ns_per_tick) {
    const double elapsed_ns = static_cast<double>(epoch.end - epoch.begin) * ns_per_tick;
    const double per_message_ns = elapsed_ns / static_cast<double>(iterations);
    messages_ += iterations;
    elapsed_ns_ += elapsed_ns;
    longest_ = std::max(longest_, iterations);
    epochs_.emplace_back(iterations, per_message_ns);
    return {.elapsed_ns = elapsed_ns, .location_ns = per_message_ns};
  }

  void fill(Result& row, Session& session, double /*ns_per_tick*/) const {
    constexpr double kNsPerSecond = 1e9;
    const double bits = 8.0 * static_cast<double>(row.size_bytes);
    row.depth = depth_;
    row.completion = completion(session);
    if (row.validated && one_sided_write(session)) {
      row.notes.emplace_back(
          "validated: every immediate, and the bytes of the last message in each slot of the window");
    }
    row.elapsed_ns = elapsed_ns_;
    row.messages_per_s =
        elapsed_ns_ > 0 ? static_cast<double>(messages_) / elapsed_ns_ * kNsPerSecond : 0;
    row.bits_per_s = row.messages_per_s * bits;
    std::vector<double> times;  // of the epochs that are not just a probe
    for (const auto& [iterations, per_message_ns] : epochs_) {
      if (iterations * 2 > longest_) times.push_back(per_message_ns);
    }
    constexpr std::size_t kFewest = 6;  // below it no interval holds 95 %
    if (times.size() < kFewest) return;
    std::sort(times.begin(), times.end());
    const measure::RankInterval ranks = measure::median_interval(times.size());
    row.bits_per_s_low = bits / times[ranks.high] * kNsPerSecond;
    row.bits_per_s_high = bits / times[ranks.low] * kNsPerSecond;
  }

 private:
  static bool one_sided_write(Session& session) {
    const OperationCode operation = session.spec().operation;
    return operation == OperationCode::write || operation == OperationCode::write_imm;
  }

  /// The target confirms what it counted. Writes it cannot count: there its word is worth as much
  /// as the completions that came before it.
  std::string completion(Session& session) const {
    const std::string local = session.link().describe().completion;
    const bool uncounted = session.spec().operation == OperationCode::write;
    return reads_ || (uncounted && local != "delivery") ? local : "receiver_confirmed";
  }

  bool reads_;
  std::uint64_t depth_;
  std::uint64_t messages_ = 0;
  std::uint64_t longest_ = 0;
  double elapsed_ns_ = 0;
  std::vector<std::pair<std::uint64_t, double>> epochs_;
};

}  // namespace

Measurement::Measurement(Session& session, const Config& config, const OnProgress& on_progress)
    : session_(session),
      config_(config),
      on_progress_(on_progress),
      anchor_(measure::take_anchor()),
      intervals_(measure::Stopper::kMaxEpoch) {}

measure::TickRate Measurement::rate() const {
  return measure::tick_rate(anchor_, measure::take_anchor());
}

workload::EpochResult Measurement::epoch(std::uint64_t size, std::uint64_t iterations) {
  const EpochOrder order{.size = size, .iterations = iterations};
  session_.stage(Side::initiator, order);
  session_.send(MessageType::epoch, to_text(order));
  session_.receive(MessageType::ready, "readiness");
  const workload::EpochResult result = session_.run(Side::initiator, order, intervals_);
  session_.receive(MessageType::result, "result");
  return result;
}

std::uint64_t Measurement::warm_up(std::uint64_t size) {
  const std::uint64_t chosen = std::clamp(kWarmupBytes / size, kLeastWarmup, kWarmupMessages);
  const std::uint64_t messages =
      config_.warmup < 0 ? chosen : static_cast<std::uint64_t>(config_.warmup);
  longest_epoch_ = kUnknownSpeed;
  for (std::uint64_t left = messages; left > 0;) {
    const std::uint64_t some = std::min(left, longest_epoch_);
    const Deadline::Clock::time_point begin = Deadline::Clock::now();
    epoch(size, some);
    bound_epochs(some, Deadline::Clock::now() - begin);
    left -= some;
  }
  return messages;
}

void Measurement::bound_epochs(std::uint64_t iterations, std::chrono::nanoseconds elapsed) {
  const double per_message = static_cast<double>(elapsed.count()) / static_cast<double>(iterations);
  const double messages = static_cast<double>(config_.timeout.count()) / 4 / per_message;
  // Not much more than what that speed was seen over.
  const double most = std::min(static_cast<double>(measure::Stopper::kMaxEpoch),
                               static_cast<double>(iterations) * 4096);
  longest_epoch_ = static_cast<std::uint64_t>(std::clamp(messages, 1.0, most));
}

template <class Sink>
void Measurement::run_size(std::size_t index, std::vector<typename Sink::Result>& rows) {
  Sink sink(session_, config_);
  const std::uint64_t size = config_.sizes[index];
  measure::Stopper stopper(config_.stop);
  std::uint64_t warmup = 0;
  const auto add_row = [&] {
    auto& row = rows.emplace_back();
    describe(row, config_, size, stopper, warmup);
    sink.fill(row, session_, rate().ns_per_tick);
  };
  try {
    warmup = warm_up(size);
    while (const std::uint64_t wanted = stopper.next_epoch()) {
      const std::uint64_t iterations = std::min(wanted, longest_epoch_);
      const Deadline::Clock::time_point begin = Deadline::Clock::now();
      const workload::EpochResult result = epoch(size, iterations);
      bound_epochs(iterations, Deadline::Clock::now() - begin);
      const Seen seen =
          sink.add(result, std::span(intervals_).first(iterations), iterations, rate().ns_per_tick);
      stopper.add(iterations, seen.elapsed_ns, seen.location_ns);
      if (on_progress_) {
        on_progress_({.size_index = index,
                      .sizes = config_.sizes.size(),
                      .size_bytes = size,
                      .iterations = stopper.iterations()});
      }
    }
  } catch (const std::exception&) {
    if (stopper.iterations() > 0) {
      add_row();
      rows.back().stable = false;
      rows.back().notes.emplace_back("ended early: see the error");
    }
    throw;
  }
  add_row();
}

void Measurement::run(std::size_t index, report::Report& report) {
  if (auto* latency = std::get_if<std::vector<report::LatencyResult>>(&report.results)) {
    run_size<LatencySink>(index, *latency);
  } else {
    run_size<BandwidthSink>(index, std::get<std::vector<report::BandwidthResult>>(report.results));
  }
}

}  // namespace rdmabench::run
