// The contract between the tester and a library of collectives. Advanced: for your own back end.
//
// The tester is a template over the back end and is compiled once for each: start() and test() are
// called in the timed loop, and nothing there is virtual, allocates or throws.
//
// The life of a back end: construction with its own options; load(), open() among all ranks; then
// for each call prepare(), write() of the inputs, start() and test(), find_different() among the
// results, and read() of those that differ; close(). Between two calls open() may be called again,
// on all ranks, with a subset as the team: it replaces what the earlier open() made. After a
// failure abort(), and only destruction after that.
//
// Slots: nothing is checked between two timed operations. So prepare() makes `slots` buffers of one
// layout, operation i of an epoch works in slot i, and the tester writes all inputs before the
// epoch and looks at all results after it.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::collective {

/// How ranks share what a library needs before it can communicate (NCCL's unique id). Collective:
/// every rank makes the same calls in the same order. Texts may hold any bytes, 64 KiB at most.
/// Throws Error(failed) naming the rank that did not come by the deadline.
class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange& operator=(Exchange&&) = delete;

  /// The texts of all ranks, by rank, on every rank.
  virtual std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) = 0;
  /// Rank 0's text, on every rank; those of other ranks are ignored.
  virtual std::string broadcast(std::string_view of_rank_0, Deadline deadline) = 0;
};

enum class Progress : std::uint8_t {
  again,  ///< not yet: ask again
  done,
  failed,  ///< failure() says why; nothing more can be started
};

/// Bytes behind every slot's result (in place: behind its buffer) that no operation may write: the
/// tester fills them and compares them afterwards. Before a slot lies the end of the previous one:
/// its guard, if sizes are multiples of a slot's alignment.
inline constexpr std::uint64_t kGuardBytes = 64;

/// One of a slot's buffers. In place both are the same.
enum class SlotBuffer : std::uint8_t { send, receive };

/// A part of a slot's buffer, and elements that it repeats: an input, an expected result, a guard.
struct Stretch {
  SlotBuffer side = SlotBuffer::send;
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;  ///< from that buffer's beginning, so an input is at send_offset
  std::uint64_t bytes = 0;   ///< whole elements of the prepared call's type
  /// Whole elements, as many bytes as above or kMostPeriod at most; aligned to 8 bytes.
  std::span<const std::byte> period{};
  std::uint32_t tolerance_ulp = 0;  ///< units in the last place by which elements may differ
};
inline constexpr std::size_t kMostPeriod = std::size_t{1} << 16;

/// Thread rule: all calls from one thread.
template <class B>
concept Backend = requires(B backend, const B constant, Team team, Exchange& exchange,
                           const Call& call, Deadline deadline, SlotBuffer side, std::uint32_t slot,
                           std::uint32_t count, std::uint64_t offset,
                           std::span<const Stretch> stretches, std::span<std::byte> to) {
  /// "nccl", "mpi"
  { B::kName } -> std::convertible_to<std::string_view>;

  /// Loads the library and wakes the device, without the other ranks: the first use of a GPU's
  /// driver may take a minute. The deadline of open() starts after it, on all ranks. Throws
  /// Error(unavailable).
  { backend.load() } -> std::same_as<void>;

  /// Opens the library together with the other ranks. `exchange` stays valid for prepare(), which
  /// all ranks do together. Throws Error: unavailable (no such library: the text says what was
  /// looked for and where), failed (the library's error, or the deadline).
  { backend.open(team, exchange, deadline) } -> std::same_as<void>;

  // From here on after open().

  /// unsupported(call, ranks): why this call is not supported among so many ranks, as a sentence
  /// that names the type, the reduction or the place; "" if it is. The same on every rank. Where
  /// it depends on the number of ranks, Reduction::sum is supported. Pure.
  { constant.unsupported(call, count) } -> std::same_as<std::string>;

  /// Where inputs and results lie; nccl_layout() unless this back end differs. Pure.
  { constant.layout(call) } -> std::same_as<Layout>;

  /// prepare(call, slots, batch, deadline) makes `slots` >= 1 buffers (zero where they are new,
  /// aligned to 64 bytes or more, and with kGuardBytes behind what layout() says of
  /// SlotBuffer::receive) and all that start() of `batch` operations needs. What an earlier
  /// prepare() made is gone or used again. Nothing may be outstanding. Throws Error.
  { backend.prepare(call, slot, count, deadline) } -> std::same_as<void>;

  /// Writes them, where the memory is. Done when it returns. Throws Error.
  { backend.write(stretches, deadline) } -> std::same_as<void>;
  /// The numbers of those whose memory holds anything else, ascending. Throws Error.
  { backend.find_different(stretches, deadline) } -> std::same_as<std::vector<std::size_t>>;
  /// Copies from a slot's buffer; the guard is reached too. Done when it returns. Throws Error.
  { backend.read(side, slot, offset, to, deadline) } -> std::same_as<void>;

  /// Begins the prepared call `batch` times, in the slots from this one on, behind the last one
  /// from 0 on; never waits. They are done in order. False: failure() says why.
  { backend.start(slot, count) }
  noexcept->std::same_as<bool>;

  /// Whether all that were started are done. Makes progress; never waits.
  { backend.test() }
  noexcept->std::same_as<Progress>;

  { constant.failure() } -> std::same_as<std::string>;

  /// Gives up all that is outstanding. Afterwards the destructor does not wait.
  { backend.abort() }
  noexcept->std::same_as<void>;

  /// Closes the library, all ranks together. Throws Error.
  { backend.close(deadline) } -> std::same_as<void>;

  /// Facts of the whole run: library, version, network plugin, device, ... After open().
  { constant.facts() } -> std::same_as<report::Facts>;

  /// Facts of the prepared call that the library tells: algorithm, protocol, channels, gpudirect.
  /// They may change when it runs, so the tester asks after the row.
  { constant.call_facts() } -> std::same_as<report::Facts>;
};

enum class Phase : std::uint8_t {
  joining,
  opening,    ///< the library is being opened
  idle,       ///< waiting for the next command
  preparing,  ///< buffers and communicators of a row
  filling,    ///< inputs
  running,    ///< timed operations
  checking,   ///< results
  closing,
};
inline constexpr std::size_t kPhases = 8;
std::string_view name(Phase phase) noexcept;

/// Where a rank is. A value.
struct RankState {
  Phase phase = Phase::joining;
  Operation operation = Operation::all_reduce;
  std::uint32_t row = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t iteration = 0;  ///< of the row, warm-up included
};

/// The same, written by the thread that measures and read by another. Stores are relaxed: they cost
/// the loop one move to memory.
class LiveRankState {
 public:
  void enter(Phase phase) noexcept { phase_.store(phase, std::memory_order_relaxed); }
  void begin_row(std::uint32_t row, Operation operation, std::uint64_t size_bytes) noexcept;
  void at(std::uint64_t iteration) noexcept {
    iteration_.store(iteration, std::memory_order_relaxed);
  }
  RankState read() const noexcept;

 private:
  std::atomic<Phase> phase_{Phase::joining};
  std::atomic<Operation> operation_{Operation::all_reduce};
  std::atomic<std::uint32_t> row_{0};
  std::atomic<std::uint64_t> size_{0};
  std::atomic<std::uint64_t> iteration_{0};
};

/// When this rank began and ended one sample, by its CLOCK_MONOTONIC_RAW.
struct Stamps {
  std::uint64_t enter_ns = 0;
  std::uint64_t exit_ns = 0;
};

struct LoopPlan {
  std::uint32_t batch = 1;  ///< operations of one sample, started together
  std::uint32_t slots = 1;  ///< a multiple of the batch, or fewer: then operations share them
  std::uint64_t first_iteration = 0;
  std::uint64_t start_ns = 0;          ///< by this rank's clock: when to begin
  std::chrono::nanoseconds timeout{};  ///< of one sample
  bool yields = false;                 ///< more ranks than processors: yield them while waiting
};

enum class LoopEnd : std::uint8_t { done, failed, timed_out, over };

/// Fills `stamps`, one for each sample. `at` says how many were done where it ended early. Polls
/// the back end without a pause; every 64th empty poll may yield the processor, and every 1024th
/// looks at the clock and at whether the run is over.
template <Backend B>
LoopEnd run_loop(B& backend, const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
                 const std::atomic<bool>& over, std::size_t& at) noexcept {
  constexpr std::uint32_t kYieldEvery = 64;
  constexpr std::uint32_t kLookEvery = 1024;
  const auto timeout = static_cast<std::uint64_t>(plan.timeout.count());
  std::uint32_t slot = 0;
  while (measure::RawClock::stamp() < plan.start_ns) {
  }
  for (at = 0; at < stamps.size(); ++at) {
    state.at(plan.first_iteration + at * plan.batch);
    Stamps& stamp = stamps[at];
    stamp.enter_ns = measure::RawClock::stamp();
    if (!backend.start(slot, plan.batch)) return LoopEnd::failed;
    slot = slot + 2 * plan.batch <= plan.slots ? slot + plan.batch : 0;
    Progress progress = backend.test();
    for (std::uint32_t empty = 1; progress == Progress::again; ++empty) {
      if (empty % kYieldEvery == 0) {
        if (plan.yields) sched_yield();
        if (empty % kLookEvery == 0) {
          if (over.load(std::memory_order_relaxed)) return LoopEnd::over;
          if (measure::RawClock::stamp() - stamp.enter_ns > timeout) return LoopEnd::timed_out;
        }
      }
      progress = backend.test();
    }
    stamp.exit_ns = measure::RawClock::stamp();
    if (progress == Progress::failed) return LoopEnd::failed;
  }
  return LoopEnd::done;
}

/// A back end with its type erased once per run, so that only the loop is compiled for each one.
/// Backend describes the functions.
class Engine {
 public:
  virtual ~Engine() = default;
  Engine& operator=(Engine&&) = delete;

  virtual std::string_view name() const = 0;
  virtual void load() = 0;
  virtual void open(Team team, Exchange& exchange, Deadline deadline) = 0;
  virtual std::string unsupported(const Call& call, std::uint32_t ranks) const = 0;
  virtual Layout layout(const Call& call) const = 0;
  virtual void prepare(const Call& call, std::uint32_t slots, std::uint32_t batch,
                       Deadline deadline) = 0;
  virtual void write(std::span<const Stretch> stretches, Deadline deadline) = 0;
  virtual std::vector<std::size_t> find_different(std::span<const Stretch> stretches,
                                                  Deadline deadline) = 0;
  virtual void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset,
                    std::span<std::byte> bytes, Deadline deadline) = 0;
  virtual LoopEnd run(const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
                      const std::atomic<bool>& over, std::size_t& at) noexcept = 0;
  virtual std::string failure() const = 0;
  virtual void abort() noexcept = 0;
  virtual void close(Deadline deadline) = 0;
  virtual report::Facts facts() const = 0;
  virtual report::Facts call_facts() const = 0;
};

/// `backend` has to outlive it.
template <Backend B>
class EngineOf final : public Engine {
 public:
  explicit EngineOf(B& backend) : backend_(backend) {}

  std::string_view name() const override { return B::kName; }
  void load() override { backend_.load(); }
  void open(Team team, Exchange& exchange, Deadline deadline) override {
    backend_.open(team, exchange, deadline);
  }
  std::string unsupported(const Call& call, std::uint32_t ranks) const override {
    return backend_.unsupported(call, ranks);
  }
  Layout layout(const Call& call) const override { return backend_.layout(call); }
  void prepare(const Call& call, std::uint32_t slots, std::uint32_t batch,
               Deadline deadline) override {
    backend_.prepare(call, slots, batch, deadline);
  }
  void write(std::span<const Stretch> stretches, Deadline deadline) override {
    backend_.write(stretches, deadline);
  }
  std::vector<std::size_t> find_different(std::span<const Stretch> stretches,
                                          Deadline deadline) override {
    return backend_.find_different(stretches, deadline);
  }
  void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset, std::span<std::byte> bytes,
            Deadline deadline) override {
    backend_.read(side, slot, offset, bytes, deadline);
  }
  LoopEnd run(const LoopPlan& plan, std::span<Stamps> stamps, LiveRankState& state,
              const std::atomic<bool>& over, std::size_t& at) noexcept override {
    return run_loop(backend_, plan, stamps, state, over, at);
  }
  std::string failure() const override { return backend_.failure(); }
  void abort() noexcept override { backend_.abort(); }
  void close(Deadline deadline) override { backend_.close(deadline); }
  report::Facts facts() const override { return backend_.facts(); }
  report::Facts call_facts() const override { return backend_.call_facts(); }

 private:
  B& backend_;
};

/// An engine that owns its back end, constructed from `args`.
template <Backend B, class... Args>
std::shared_ptr<Engine> make_engine(Args&&... args) {
  struct Owned {
    explicit Owned(Args&&... from) : backend(std::forward<Args>(from)...), engine(backend) {}
    B backend;
    EngineOf<B> engine;
  };
  const auto owned = std::make_shared<Owned>(std::forward<Args>(args)...);
  return {owned, &owned->engine};
}

}  // namespace rdmabench::inline v1::collective
