// workload: the loops that are measured. One template per shape of traffic, over any Transport.
//
// A loop runs one epoch: an agreed number of messages of one size. It neither allocates nor throws;
// what went wrong is a small result that run/ puts into words. It knows transport/ and measure/
// only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "rdmabench/measure/clock.h"
#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::workload {

/// latency: one message at a time. bandwidth: a stream of as many as the depth allows, one way.
/// bidirectional: a stream each way at the same time. load: messages at a given rate, answered,
/// each timed from its intended start.
enum class Shape : std::uint8_t { latency, bandwidth, bidirectional, load };

inline constexpr std::array<std::string_view, 4> kShapeNames{"latency", "bandwidth",
                                                             "bidirectional", "load"};

/// When the messages of an open loop are due: at even distances, or independently of one another as
/// those of many users are (a Poisson process).
enum class ArrivalProcess : std::uint8_t { constant, poisson };

inline constexpr std::array<std::string_view, 2> kArrivalProcesses{"constant", "poisson"};

enum class Side : std::uint8_t { initiator, target };

/// How many messages an epoch has that grows while it runs.
struct Extent {
  std::uint64_t iterations = 0;  ///< by now
  bool whole = true;             ///< no more will come
  bool over = false;             ///< the epoch is to end at once
};

/// What names a loop.
struct LoopKey {
  Shape shape = Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;
  Side side = Side::initiator;
  bool validate = false;
  bool epoch_content = false;  ///< validated before and after the loop, not in it: prepare.h
  /// Of latency; other shapes stamp by measure::stamp_now().
  measure::ClockSource clock = measure::ClockSource::raw;
  bool paced = false;        ///< a stream keeps to EpochPlan::gap_q16; an open loop always does
  bool target_idle = false;  ///< Shape::latency, one-sided: the target never polls
  bool for_write = false;    ///< write-imm in place of a write that cannot be seen by polling
};

/// What both sides agreed to run. Not changed by the loop.
struct EpochPlan {
  /// Messages, >= 1: per direction (ping-pong, duplex) or in total. Below 2^32, because immediates
  /// count them.
  std::uint64_t iterations = 1;
  /// Of a stream or a duplex: those are the first ones. More are agreed while it runs, and
  /// Watch::extend() tells of them, so that nothing rests in between.
  bool grows = false;
  std::uint64_t size = 1;  ///< bytes of a message; atomics: 8
  /// Posts that may be outstanding. When validating at most the send slots: what is under way must
  /// not change.
  std::uint32_t depth = 1;
  std::uint32_t receives = 1;   ///< receives kept posted
  std::uint32_t post_list = 1;  ///< messages posted by one call
  /// Ticks from the intended start of one message to that of the next, in 2^-16 ticks, of
  /// ArrivalProcess::poisson on average; 0 = as fast as the depth allows.
  std::uint64_t gap_q16 = 0;
  ArrivalProcess arrivals = ArrivalProcess::constant;  ///< open loop
  /// Open loop: so many ticks before the epoch begins message 0 is due. EpochResult::behind of the
  /// last epoch goes on with its schedule.
  std::int64_t behind = 0;
  bool events = false;  ///< EndpointOptions::events: an empty poll may sleep
};

enum class Outcome : std::uint8_t {
  ok,
  stalled,            ///< nothing completed for the watch's limit
  interrupted,        ///< the peer left or gave up
  cancelled,          ///< the caller asked to stop
  post_failed,        ///< Endpoint::failure() says why
  completion_failed,  ///< or the device: Endpoint::failure() says why
  memory_failed,      ///< what was received could not be looked at; Worker::failure() says why
  wrong_size,         ///< `message` had another length
  wrong_messages,     ///< each message is whole, but together they are not those that were sent
  wrong_data,         ///< `message` and `byte` say where
  wrong_immediate,    ///< `message` carried another immediate than it should
};

inline constexpr Outcome kLastOutcome = Outcome::wrong_immediate;

/// The connection works, but what arrived is not what was sent. Only the side that reports it knows
/// the details.
constexpr bool is_about_data(Outcome outcome) {
  return outcome >= Outcome::wrong_size;
}

/// What the loop was waiting for when it ended otherwise than ok.
enum class Wait : std::uint8_t { nothing, message, completion, confirmation, room_to_post };

/// How far a stream was.
struct Mark {
  measure::Ticks time = 0;
  std::uint64_t completed = 0;  ///< messages
};

struct EpochResult {
  Outcome outcome = Outcome::ok;
  Wait wait = Wait::nothing;
  std::uint64_t message = 0;  ///< index of the message in the epoch at which it ended
  std::uint64_t byte = 0;     ///< wrong_data: the first wrong byte
  /// post_failed: bytes of that message, where EpochIo posted it; else it had the plan's size.
  std::optional<std::uint64_t> posted{};
  /// Initiator of all but a latency loop: before the first post ...
  measure::Ticks begin = 0;
  /// ... and when all traffic was confirmed: stream: the target's confirmation (reads, atomics: the
  /// last data) was here; duplex: both directions; open loop: the last answer.
  measure::Ticks end = 0;
  measure::Ticks lag = 0;  ///< open loop: the latest post, after its intended start
  /// A stream's pump: after about each 32nd of its messages, `mark_count` of them, so that an epoch
  /// may be long and still tell how even it was. Where it grows, those of what was added last.
  std::array<Mark, 32> marks{};
  std::uint32_t mark_count = 0;
  /// A pump that grows: ticks in which nothing was under way, or it waited for who tells it more.
  measure::Ticks rested = 0;
  /// Open loop: ticks from when one more message would be due to `end`; negative where it is not
  /// due yet.
  std::int64_t behind = 0;
  std::uint64_t checked = 0;  ///< messages whose every byte was compared
  std::uint64_t arrived = 0;  ///< received messages, of operations that notify the target
  /// Atomics, at the target: the sum of its counters, which is the number of successful operations.
  std::uint64_t succeeded = 0;
};

/// A loop whose endpoint type is told beside it: a Loop<T>, or a PatternLoop<T> of run/patterns.h.
using AnyLoop = void (*)();

/// The tag of message i: never 0, which a cleared buffer holds, and never that of its neighbours.
constexpr std::uint8_t tag_of(std::uint64_t message) {
  return static_cast<std::uint8_t>(message % 255 + 1);
}

/// Stall detection: ends a polling loop when nothing has completed for a given time, or when the
/// peer has gone. Counts empty polls, and checks the clock and the peer only once in 1024 of them.
///
/// Each check also calls sched_yield(): if there are more polling threads than cores, the peer may
/// need this core. A program with many such threads may let them sleep. Thread rule: one thread.
class Watch {
 public:
  /// Gives up when nothing completed for `limit`, or when `interrupted()` says that the peer has
  /// gone; it is called about every 10 ms, be there much to do or not. `answered()` says that the
  /// peer's result is here already, on the control channel: where messages may be lost, so may be
  /// the marker that says so; it is called about every 10 ms of idling. Neither may throw.
  /// `rest(idle)` is called at each check, in place of sched_yield() where it returns true: it
  /// slept, because nothing has completed for `idle`. The next check comes after 64 empty polls
  /// then. It may not throw either.
  Watch(std::chrono::nanoseconds limit, std::function<bool()> interrupted,
        std::function<bool()> answered = nullptr,
        std::function<bool(std::chrono::nanoseconds idle)> rest = nullptr)
      : limit_(limit),
        interrupted_(std::move(interrupted)),
        answered_(std::move(answered)),
        rest_(std::move(rest)) {}

  /// Of an epoch that grows: `extend(extent, pump)` brings `extent` up to date, and is called too
  /// about every 10 ms of idling. `pump` is null, or how far
  /// a pump is that soon needs more. It may not throw. What it brings is a sign of life only where
  /// `sees_none`: this side sees no completions of the peer's messages.
  void let_grow(std::uint64_t iterations, bool sees_none,
                std::function<void(Extent& extent, const EpochResult* pump)> extend) {
    extent_ = {.iterations = iterations, .whole = false};
    sees_none_ = sees_none;
    extend_ = std::move(extend);
  }
  void extend(Extent& extent, const EpochResult* pump = nullptr) noexcept {
    if (extend_) extend_(extent, pump);
  }

  /// Asks this endpoint too whether its device has failed, where it can tell
  /// (Endpoint::device_failed()), as often as `interrupted()`. The endpoint must live as long as
  /// this is asked.
  template <class T>
  void watch_device(T& endpoint) noexcept {
    device_ = &endpoint;
    if constexpr (requires { endpoint.device_failed(); }) {
      device_failed_ = [](void* device) noexcept {
        return static_cast<T*>(device)->device_failed();
      };
    } else {
      device_failed_ = nullptr;
    }
  }

  /// Something completed.
  void progress() noexcept { idle_polls_ = 0; }

  /// Nothing was due: this is not a stall, however long it lasts. A peer that has gone is still
  /// seen.
  void nothing_due() noexcept { nothing_due_ = true; }

  /// An empty poll takes long, because it sleeps: look after each.
  void look_always() noexcept { polls_per_look_ = 1; }

  /// In the midst of work that is never idle: whether the peer has gone. outcome() then says so.
  /// Asks every 10 ms at most, so that it may be called often.
  bool interrupted() noexcept;

  /// After an empty poll: true when the wait is over. outcome() then says why.
  bool give_up() noexcept {
    if ((++idle_polls_ & (polls_per_look_ - 1)) != 0) [[likely]]
      return false;
    return look();
  }

  Outcome outcome() const noexcept { return outcome_; }

  /// Whether the last look found the peer's result.
  bool answered() const noexcept { return has_answer_; }

  static constexpr std::uint64_t kPollsPerLook = 1024;  // a power of two
  static constexpr std::uint64_t kPollsPerRest = 64;

 private:
  using Clock = std::chrono::steady_clock;

  bool look() noexcept;
  bool ask() noexcept;

  std::chrono::nanoseconds limit_;
  std::function<bool()> interrupted_;
  std::function<bool()> answered_;
  std::function<bool(std::chrono::nanoseconds)> rest_;
  std::function<void(Extent&, const EpochResult*)> extend_;
  Extent extent_;
  bool (*device_failed_)(void*) noexcept = nullptr;
  void* device_ = nullptr;
  std::uint64_t polls_per_look_ = kPollsPerLook;
  std::uint64_t idle_polls_ = 0;
  Clock::time_point idle_since_{};
  Clock::time_point asked_{};
  Clock::time_point asked_at_work_ = Clock::now();
  bool nothing_due_ = false;
  bool sees_none_ = false;
  bool has_answer_ = false;
  Outcome outcome_ = Outcome::ok;
};

}  // namespace rdmabench::inline v1::workload
