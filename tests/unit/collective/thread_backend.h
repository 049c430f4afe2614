// Collectives among threads of one process, for tests: whatever order it adds in must not matter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "collective/arithmetic.h"
#include "collective/inputs.h"
#include "collective/stretches.h"
#include "rdmabench/collective/engine.h"

namespace rdmabench::inline v1::collective {

inline double load_value(DataType type, const std::byte* at) {
  double value = 0;
  with_type(type, [&](auto arithmetic) {
    typename decltype(arithmetic)::Bits bits{};
    std::memcpy(&bits, at, sizeof bits);
    value = static_cast<double>(arithmetic.load(bits));
  });
  return value;
}

inline void store_value(DataType type, double value, std::byte* at) {
  with_type(type, [&](auto arithmetic) {
    const auto bits = arithmetic.store(static_cast<typename decltype(arithmetic)::Value>(value));
    std::memcpy(at, &bits, sizeof bits);
  });
}

/// What the threads share.
struct ThreadWorld {
  explicit ThreadWorld(std::uint32_t ranks) : inputs(ranks), started(ranks) {
    for (auto& one : started) one = 0;
  }
  std::mutex mutex;
  std::vector<std::vector<std::vector<std::byte>>> inputs;  // by rank and operation's number
  std::vector<std::atomic<std::uint64_t>> started;
};

struct ThreadFaults {
  /// Called with the result of each operation, before it is written.
  std::function<void(std::uint64_t operation, std::span<std::byte> result)> spoil{};
  /// Called with the buffer from the result's beginning on, to the end of what was allocated.
  std::function<void(std::uint64_t operation, std::span<std::byte> buffer)> overrun{};
  std::function<void(std::uint64_t operation)> before_done{};
  std::uint64_t hang_at = ~std::uint64_t{0};          ///< this operation is never started
  std::uint32_t idle_after_rows = ~std::uint32_t{0};  ///< from then on nothing is written
  std::function<void()> at_load{};
  std::function<void(Deadline)> before_open{};
  std::function<void()> at_open{};
  std::string unsupported{};    ///< int64, and mulsum of one rank
  bool sees_all_wrong = false;  ///< find_different() tells what is not so
};

class ThreadBackend {
 public:
  static constexpr std::string_view kName = "threads";

  ThreadBackend(ThreadWorld& world, ThreadFaults faults)
      : world_(world), faults_(std::move(faults)) {}

  void load() {
    if (faults_.at_load) faults_.at_load();
  }
  void open(Team team, Exchange& exchange, Deadline deadline) {
    if (faults_.before_open) faults_.before_open(deadline);
    team_ = team;
    if (ranks_.empty()) rank_ = team.rank;  // the first time all are one team
    ranks_.clear();
    for (const std::string& rank : exchange.all_gather(std::to_string(rank_), deadline)) {
      ranks_.push_back(static_cast<std::uint32_t>(std::stoul(rank)));
    }
    if (faults_.at_open) faults_.at_open();
    if (exchange.broadcast(team.rank == 0 ? "id" : "", deadline) != "id") {
      throw std::logic_error("no broadcast");
    }
  }
  std::string unsupported(const Call& call, std::uint32_t ranks) const {
    const bool alone = ranks == 1 && call.reduction == Reduction::mulsum;
    return call.type == DataType::int64 || alone ? faults_.unsupported : "";
  }
  Layout layout(const Call& call) const { return nccl_layout(call, team_); }
  void prepare(const Call& call, std::uint32_t slots, std::uint32_t /*batch*/,
               Deadline /*deadline*/) {
    call_ = call;
    slot_count_ = slots;
    place_ = layout(call);
    const std::uint64_t bytes = std::max(
        {place_.buffer_bytes(), place_.send_bytes, place_.receive_bytes, std::uint64_t{8}});
    ++rows_;
    for (auto& side : buffers_) {  // as the real ones are: kept, with what is in them
      side.resize(slots);
      for (auto& buffer : side) buffer.resize(bytes + kGuardBytes);
    }
  }
  void write(std::span<const Stretch> stretches, Deadline /*deadline*/) {
    for (const Stretch& one : stretches) {
      write_stretch(one, of(one.side, one.slot).data() + one.offset);
    }
  }
  std::vector<std::size_t> find_different(std::span<const Stretch> stretches,
                                          Deadline /*deadline*/) {
    std::vector<std::size_t> different;
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const Stretch& one = stretches[i];
      const std::byte* const at = of(one.side, one.slot).data() + one.offset;
      if (faults_.sees_all_wrong || !holds(one, at, bytes_of(call_.type))) different.push_back(i);
    }
    return different;
  }
  void read(SlotBuffer side, std::uint32_t slot, std::uint64_t offset, std::span<std::byte> bytes,
            Deadline /*deadline*/) {
    std::memcpy(bytes.data(), of(side, slot).data() + offset, bytes.size());
  }
  bool start(std::uint32_t slot, std::uint32_t batch) noexcept {
    for (std::uint32_t i = 0; i < batch; ++i) {
      start_one((slot + i) % slot_count_);
    }
    return true;
  }
  bool start_one(std::uint32_t slot) noexcept {
    if (next_ >= faults_.hang_at) return true;
    const auto* const from = of(SlotBuffer::send, slot).data() + place_.send_offset;
    const std::lock_guard lock(world_.mutex);
    world_.inputs[rank_].emplace_back(from, from + place_.send_bytes);
    slots_.push_back(slot);
    ++next_;
    world_.started[rank_] = next_;
    return true;
  }
  Progress test() noexcept {
    if (next_ >= faults_.hang_at) return Progress::again;
    for (const std::uint32_t rank : ranks_) {
      if (world_.started[rank] < next_) {
        std::this_thread::yield();
        return Progress::again;
      }
    }
    for (; done_ < next_; ++done_) finish(done_, slots_[done_]);
    if (faults_.before_done) faults_.before_done(done_);
    return Progress::done;
  }
  std::string failure() const { return "none"; }
  void abort() noexcept {}
  void close(Deadline /*deadline*/) {}
  report::Facts facts() const { return {{"threads", std::uint64_t{team_.size}}}; }
  report::Facts call_facts() const { return {}; }

 private:
  std::vector<std::byte>& of(SlotBuffer side, std::uint32_t slot) {
    return buffers_[side == SlotBuffer::send && !place_.in_place ? 0 : 1][slot];
  }
  void finish(std::uint64_t operation, std::uint32_t slot);
  void reduce(std::uint64_t operation, std::uint64_t first, std::span<std::byte> out);

  ThreadWorld& world_;
  ThreadFaults faults_;
  std::uint32_t rank_ = 0;            // among all
  std::vector<std::uint32_t> ranks_;  // of the team, among all
  Team team_;
  Call call_;
  Layout place_;
  std::vector<std::vector<std::byte>> buffers_[2];
  std::vector<std::uint32_t> slots_;  // by operation
  std::uint32_t rows_ = 0;
  std::uint32_t slot_count_ = 1;
  std::uint64_t next_ = 0;
  std::uint64_t done_ = 0;
};

/// Adds in the type itself, rounding each time, and from another rank on at every rank.
inline void ThreadBackend::reduce(std::uint64_t operation, std::uint64_t first,
                                  std::span<std::byte> out) {
  const std::uint32_t bytes = bytes_of(call_.type);
  for (std::uint64_t i = 0; i * bytes < out.size(); ++i) {
    std::byte* const to = out.data() + i * bytes;
    const auto store = [&](double value) { store_value(call_.type, value, to); };
    for (std::uint32_t n = 0; n < team_.size; ++n) {
      const std::uint32_t rank = (n + team_.rank) % team_.size;
      double one = load_value(call_.type,
                              world_.inputs[ranks_[rank]][operation].data() + (first + i) * bytes);
      if (call_.reduction == Reduction::mulsum) one *= mulsum_scalar(rank);
      if (n == 0) {
        store(one);
        continue;
      }
      const double so_far = load_value(call_.type, to);
      switch (call_.reduction) {
        case Reduction::prod:
          store(so_far * one);
          break;
        case Reduction::min:
          store(std::min(so_far, one));
          break;
        case Reduction::max:
          store(std::max(so_far, one));
          break;
        default:
          store(so_far + one);
      }
    }
    if (call_.reduction == Reduction::avg) store(load_value(call_.type, to) / team_.size);
  }
}

inline void ThreadBackend::finish(std::uint64_t operation, std::uint32_t slot) {
  if (rows_ > faults_.idle_after_rows) return;
  const std::lock_guard lock(world_.mutex);
  std::vector<std::byte> result(place_.receive_bytes);
  const std::uint32_t bytes = bytes_of(call_.type);
  for (const Segment& segment : segments(call_, team_)) {
    const std::span<std::byte> out(result.data() + segment.offset, segment.bytes);
    if (segment.reduced) {
      reduce(operation, segment.first, out);
    } else {
      std::memcpy(out.data(),
                  world_.inputs[ranks_[segment.source]][operation].data() + segment.first * bytes,
                  out.size());
    }
  }
  if (faults_.spoil) faults_.spoil(operation, result);
  std::copy(result.begin(), result.end(),
            of(SlotBuffer::receive, slot).begin() + static_cast<long>(place_.receive_offset));
  if (faults_.overrun) {
    faults_.overrun(operation,
                    std::span(of(SlotBuffer::receive, slot)).subspan(place_.receive_offset));
  }
}

static_assert(Backend<ThreadBackend>);

}  // namespace rdmabench::inline v1::collective
