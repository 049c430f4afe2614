#include "clear_to_send.h"

#include <algorithm>
#include <array>

#include "rdmabench/run/patterns.h"
#include "rdmabench/workload/epoch_io.h"

namespace rdmabench::inline v1::run {
namespace {

/// Interval i of the initiator is the time from one post to the next; the last one ends when the
/// target has confirmed all. Message i goes by queue pair i modulo their number, of which each has
/// plan.depth messages under way. The clear-to-send is a write with immediate too: NCCL's sender
/// watches memory instead, which not every provider allows. Source: NCCL 2.30,
/// src/transport/net_ib/p2p.cc.
struct ClearToSend {
  static constexpr std::string_view kName = kClearToSend;
  static constexpr PatternNeeds kNeeds{.operations = transport::OperationCode::write_imm};
  static constexpr std::uint64_t kBytes = 64;  ///< of a clear-to-send
  static constexpr std::uint32_t kMaxQueuePairs = 128;

  template <transport::Transport T, bool kValidate>
  static workload::EpochResult initiator(T& endpoint, const workload::EpochPlan& plan,
                                         workload::Watch& watch,
                                         std::span<measure::Ticks> intervals) noexcept {
    Half<T> half(endpoint, plan, watch);
    const std::uint64_t end = plan.iterations;
    if (!half.io.post_marker(half.on_receive())) return half.result;
    measure::Ticks before = measure::stamp_now();
    for (std::uint64_t i = 0; i < end; ++i) {
      if (!half.wait([&] { return half.arrived_on(i) > i / half.queue_pairs; })) return half.result;
      if (!half.post(i, plan.size)) return half.result;
      if (i + 1 == end) break;
      const measure::Ticks now = measure::stamp_now();
      intervals[i] = now - before;
      before = now;
    }
    // The clear-to-send behind the last message says that all have arrived.
    if (!half.wait([&] { return half.arrived > end; })) return half.result;
    intervals[end - 1] = measure::stamp_now() - before;
    half.io.drain();
    return half.result;
  }

  template <transport::Transport T, bool kValidate>
  static workload::EpochResult target(T& endpoint, const workload::EpochPlan& plan,
                                      workload::Watch& watch,
                                      std::span<measure::Ticks> /*intervals*/) noexcept {
    Half<T> half(endpoint, plan, watch);
    const std::uint64_t end = plan.iterations;
    if (!half.wait([&] { return half.begun; })) return half.result;
    for (std::uint64_t i = 0; i <= end; ++i) {
      const bool clear = half.wait([&] {
        return i == end ? half.arrived == end
                        : i / half.queue_pairs < half.arrived_on(i) + plan.depth;
      });
      if (!clear || !half.post(i, std::min(plan.size, kBytes))) return half.result;
    }
    half.io.drain();
    return half.result;
  }

 private:
  template <class T>
  struct Half {
    Half(T& given, const workload::EpochPlan& plan, workload::Watch& watch)
        : endpoint(given),
          io(given, plan, watch, result),
          queue_pairs(std::min(given.queue_pairs(), kMaxQueuePairs)) {}

    std::uint64_t& arrived_on(std::uint64_t message) noexcept {
      return arrived_by_queue_pair[message % queue_pairs];
    }

    auto on_receive() noexcept {
      return [this](const transport::Received& received) noexcept {
        io.give_back(received.slot);
        if (received.bytes == 0) {
          begun = true;
          return;
        }
        ++arrived;
        ++arrived_on(received.immediate);
      };
    }

    template <class Done>
    bool wait(Done&& done) noexcept {
      result.message = arrived;
      while (!done()) {
        if (!io.poll(workload::Wait::message, on_receive())) return false;
      }
      return true;
    }

    /// From slot to slot, as far as there are any.
    bool post(std::uint64_t message, std::uint64_t bytes) noexcept {
      const transport::Region region = endpoint.send_region();
      const std::uint64_t at = message % region.slots * region.stride;
      return io.template post<transport::WriteImm>(
          {at, at, bytes, message}, transport::Signal::now,
          static_cast<std::uint32_t>(message % queue_pairs), on_receive());
    }

    workload::EpochResult result;
    T& endpoint;
    workload::EpochIo<T> io;
    std::uint32_t queue_pairs;
    bool begun = false;  ///< the initiator's marker is here: before it, the initiator may not run
                         ///< and would drop what comes
    std::uint64_t arrived = 0;
    std::array<std::uint64_t, kMaxQueuePairs> arrived_by_queue_pair{};
  };
};

}  // namespace

void add_clear_to_send() {
  static const bool added = (add_pattern<ClearToSend>(), true);
  static_cast<void>(added);
}

}  // namespace rdmabench::inline v1::run
