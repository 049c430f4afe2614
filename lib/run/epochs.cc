#include "run/epochs.h"

#include <algorithm>

#include "rdmabench/base/deadline.h"
#include "rdmabench/measure/stop.h"

namespace rdmabench::inline v1::run {
namespace {

using workload::Side;

constexpr std::uint64_t kWarmupMessages = 200;
constexpr std::uint64_t kWarmupBytes = std::uint64_t{8} << 20;  // of large messages fewer will do
constexpr std::uint64_t kLeastWarmup = 4;
constexpr std::uint64_t kUnknownSpeed =
    16;  // messages of a first epoch that nothing was warmed up for

/// Room for the samples of one epoch of all workers.
constexpr std::size_t kMostIntervals = measure::Stopper::kMaxEpoch + kMaxWorkers;

}  // namespace

Epochs::Epochs(Session& session, const Config& config)
    : session_(session),
      config_(config),
      anchor_(measure::take_anchor()),
      intervals_(config.traffic.shape == workload::Shape::latency ||
                         config.traffic.shape == workload::Shape::load
                     ? kMostIntervals
                     : 0) {}

measure::TickRate Epochs::rate() const {
  return measure::tick_rate(anchor_, measure::take_anchor());
}

EpochOutcome Epochs::run(std::uint64_t size, std::uint64_t iterations, double rate, bool verify,
                         bool goes_on, const Grow& grow) {
  session_.throw_if_stopped();
  const EpochOrder order{.size = size,
                         .iterations = iterations,
                         .rate = rate / static_cast<double>(session_.workers()),
                         .verify = verify,
                         .immediate = session_.posted(size) != session_.spec().traffic.operation,
                         .grows = grow != nullptr};
  session_.prepare(Side::initiator, order, goes_on);
  session_.send(SessionMessage::epoch, to_text(order));
  session_.receive(SessionMessage::ready, "readiness");
  EpochOutcome outcome = session_.run(intervals_, nullptr, grow);
  // An idle target waits for this word, and not for anything that its endpoint would tell.
  if (session_.spec().traffic.target_idle)
    session_.send(SessionMessage::result, to_text(EpochReport{}));
  outcome.target = parse<EpochReport>(session_.receive(SessionMessage::result, "result"));
  return outcome;
}

void Epochs::verify() {
  constexpr std::uint64_t kFewest = 8;
  const SessionSpec& spec = session_.spec();
  const bool paced = spec.paced || spec.traffic.shape == workload::Shape::load;
  run(spec.max_size, std::max<std::uint64_t>(kFewest, std::uint64_t{2} * spec.endpoint.queue_pairs),
      paced ? kUnreachableRate : 0, /*verify=*/true);
}

std::uint64_t Epochs::warm_up(std::uint64_t size) {
  const std::uint64_t chosen = std::clamp(kWarmupBytes / size, kLeastWarmup, kWarmupMessages);
  const std::uint64_t messages =
      config_.warmup < 0 ? chosen : static_cast<std::uint64_t>(config_.warmup);
  const Deadline::Clock::time_point start = Deadline::Clock::now();
  constexpr std::uint64_t kPart = 8;  // of the longest one, not to take much longer than asked for
  const auto too_short = [&] { return Deadline::Clock::now() - start < config_.warmup_time; };
  // Of an open loop without a rate "as fast as it goes" is one beyond any device.
  const double given = rate_of(config_, size);
  const double rate =
      config_.traffic.shape == workload::Shape::load && given <= 0 ? kUnreachableRate : given;
  longest_ = kUnknownSpeed;
  std::uint64_t done = 0;
  while (done < messages || too_short()) {
    const std::uint64_t some = done < messages ? std::min(messages - done, longest_)
                                               : std::max<std::uint64_t>(1, longest_ / kPart);
    const Deadline::Clock::time_point begin = Deadline::Clock::now();
    run(size, some, rate);
    bound(some, Deadline::Clock::now() - begin);
    done += some;
  }
  return done;
}

std::chrono::nanoseconds Epochs::longest_time() const {
  const bool stream = is_stream(session_.spec());  // it mostly finds time to look within an epoch
  const std::chrono::nanoseconds stop_within = std::chrono::milliseconds(stream ? 500 : 75);
  const std::chrono::nanoseconds longest = std::min(stop_within, config_.timeout / 4);
  return config_.interval.count() > 0 ? std::min(longest, config_.interval) : longest;
}

void Epochs::bound(std::uint64_t iterations, std::chrono::nanoseconds elapsed) {
  const double per_message = static_cast<double>(elapsed.count()) / static_cast<double>(iterations);
  const double messages = static_cast<double>(longest_time().count()) / per_message;
  // Not much more than what that speed was seen over.
  const auto workers = static_cast<double>(session_.workers());
  const std::uint64_t all =
      intervals_.empty() ? measure::Stopper::kMaxStream : measure::Stopper::kMaxEpoch;
  const double most =
      std::min(static_cast<double>(all) / workers, static_cast<double>(iterations) * 4096);
  longest_ = static_cast<std::uint64_t>(std::clamp(messages, 1.0, most));
  seen_ = iterations;
  seen_time_ = elapsed;
}

}  // namespace rdmabench::inline v1::run
