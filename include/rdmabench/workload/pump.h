// What a stream posts, and when: as many messages as there is room for and are due.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rdmabench/measure/clock.h"
#include "rdmabench/workload/epoch.h"
#include "rdmabench/workload/slots.h"

namespace rdmabench::inline v1::workload {

/// Intended starts, each so many 2^-16 ticks after the one before. They do not move when a message
/// goes out late, so what was missed is caught up at once. The sum of all gaps must stay below 2^48
/// ticks (a day).
class Schedule {
 public:
  explicit Schedule(measure::Ticks begin) noexcept : begin_(begin) {}

  /// Of the next message.
  measure::Ticks due() const noexcept { return begin_ + (elapsed_ >> 16); }
  void advance(std::uint64_t gap_q16) noexcept { elapsed_ += gap_q16; }

 private:
  measure::Ticks begin_;
  std::uint64_t elapsed_ = 0;
};

/// The gaps between arrivals, drawn from a table of equally likely ones, so that the loop asks for
/// no option and takes no logarithm: one gap, or 1,024 of an exponential distribution, whose
/// largest is 7.6 times their mean. Allocates.
class Gaps {
 public:
  Gaps(ArrivalProcess arrivals, std::uint64_t gap_q16);

  void seed(measure::Ticks now) noexcept { state_ = now * 2 + 1; }

  /// By xorshift64 (Marsaglia, 2003).
  std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return table_[state_ >> 32 & mask_];
  }

 private:
  std::uint64_t state_ = 1;
  std::uint64_t mask_ = 0;
  std::vector<std::uint64_t> table_;
};

/// A stream as fast as it goes.
struct Unpaced {
  static constexpr bool kPaced = false;

  explicit Unpaced(const EpochPlan& /*plan*/) noexcept {}
  void start(measure::Ticks /*begin*/) noexcept {}
  static constexpr bool due() noexcept { return true; }
  static void advance() noexcept {}
};

/// A stream that keeps to EpochPlan::gap_q16.
class Paced {
 public:
  static constexpr bool kPaced = true;

  explicit Paced(const EpochPlan& plan) noexcept : gap_(plan.gap_q16), schedule_(0) {}
  void start(measure::Ticks begin) noexcept { schedule_ = Schedule(begin); }
  bool due() const noexcept { return measure::stamp_now() >= schedule_.due(); }
  void advance() noexcept { schedule_.advance(gap_); }

 private:
  std::uint64_t gap_;
  Schedule schedule_;
};

/// Whether a stream of Op goes by lists: compare-swaps of one list on one word cannot know each
/// other's result, and a flush follows its own write.
template <class T, class Op>
inline constexpr bool kTakesLists = T::kPostLists && !Op::kFlushes && !Op::kConditional;

/// How far a pump is, and when it has to look up: what is the same for every operation, so that a
/// program has it once for each endpoint type.
template <transport::Transport T>
class PumpProgress {
 public:
  /// All is posted and has completed, or the epoch is over for another reason, of which finish()
  /// tells; that is still to be called.
  bool done() noexcept {
    if (next_ < mark_) [[likely]]
      return false;
    return at_mark();
  }

  /// The oldest message that has not completed, as far as can be told.
  std::uint64_t under_way() const noexcept {
    return next_ - std::min(next_, (endpoint_.posted() - endpoint_.completed()) / posts_);
  }

 protected:
  /// What follows from the operation.
  struct Kind {
    std::uint64_t posts;  ///< of a message
    std::uint32_t slots;
    bool validates;
    bool laps;
  };

  [[gnu::noinline]] PumpProgress(T& endpoint, const EpochPlan& plan, EpochIo<T>& io,
                                 EpochResult& result, const Kind& kind, bool alone)
      : endpoint_(endpoint),
        io_(io),
        result_(result),
        iterations_(plan.iterations),
        queue_pairs_(endpoint.queue_pairs()),
        slots_(kind.slots),
        posts_(kind.posts),
        capacity_(std::uint64_t{plan.depth} * queue_pairs_),
        grows_(plan.grows),
        laps_(kind.laps),
        alone_(alone) {
    if (kind.validates) capacity_ = std::min<std::uint64_t>(capacity_, posts_ * slots_);
    list_ = std::clamp<std::uint64_t>(plan.post_list, 1,
                                      std::min<std::uint64_t>(capacity_, transport::kMaxPostList));
    rounds_ = std::max<std::uint64_t>(1, std::min<std::uint64_t>(plan.depth, capacity_) / list_);
    lap_end_ = laps_ ? 0 : iterations_;
    divide(iterations_);
    mark_ = part_;
  }

  T& endpoint_;
  EpochIo<T>& io_;
  EpochResult& result_;
  std::uint64_t iterations_;
  std::uint32_t queue_pairs_;
  std::uint32_t slots_;
  std::uint64_t posts_;
  std::uint64_t capacity_;  ///< posts that may be under way
  std::uint64_t list_;      ///< messages of a list
  std::uint64_t rounds_;    ///< lists that fit into the queue of one queue pair
  std::uint64_t next_ = 0;  ///< the message to be posted next
  std::uint64_t lap_end_;

 private:
  [[gnu::noinline]] bool at_mark() noexcept {
    const std::uint64_t completed = under_way();
    if (completed >= marked_ + part_ && result_.mark_count < result_.marks.size()) {
      result_.marks[result_.mark_count++] = {measure::stamp_now(), completed};
      marked_ = completed;
      if (!io_.goes_on(Wait::nothing, completed)) return true;
    }
    if (grows_ && completed >= ask_at_ && result_.mark_count > 0 && !grow()) return true;
    mark_ = std::min(iterations_, next_ + part_);
    return !grows_ && next_ == iterations_ && endpoint_.completed() == endpoint_.posted();
  }

  /// Parts of the messages that came last; when a quarter of them has completed it asks for more,
  /// so that of two directions neither waits for one that is three times slower.
  void divide(std::uint64_t last) noexcept {
    constexpr std::uint64_t kParts = std::tuple_size_v<decltype(result_.marks)>;
    part_ = (last + kParts - 1) / kParts;
    ask_at_ = iterations_ - last / 4 * 3;
  }

  bool grow() noexcept {
    const measure::Ticks asked = idle_since_ != 0 ? idle_since_ : measure::stamp_now();
    Extent extent{.iterations = iterations_, .whole = false};
    if (!io_.extend(extent, &result_)) return false;
    grows_ = !extent.whole;
    const std::uint64_t more = extent.iterations - iterations_;
    if (grows_ && more == 0) {
      const bool drained = next_ == iterations_ && endpoint_.completed() == endpoint_.posted();
      if (alone_ && drained) idle_since_ = asked;
      return true;
    }
    result_.rested += measure::stamp_now() - asked;
    idle_since_ = 0;
    if (more == 0) return true;
    iterations_ = extent.iterations;
    if (!laps_) lap_end_ = iterations_;
    result_.mark_count = 0;
    divide(more);
    return true;
  }

  std::uint64_t part_;        ///< messages from one mark to the next
  std::uint64_t mark_;        ///< so many are posted: look whether it is time for one
  std::uint64_t marked_ = 0;  ///< messages of the last one
  std::uint64_t ask_at_;      ///< so many have completed: ask for more
  bool grows_;
  bool laps_;
  bool alone_;
  measure::Ticks idle_since_ = 0;  ///< nothing is under way until more is agreed on
};

/// Posts the messages of one epoch, a burst at a time. Message i uses slot i % slots and queue pair
/// i % queue pairs (by lists: each list the next queue pair), and carries i as its immediate. The
/// last post of every queue pair asks for a completion.
///
/// With validation, a slot is reused only after its message has completed. With ordered completions
/// their count tells. Otherwise, and where the slots have to be checked first, all slots are used
/// once and then waited for (a lap).
template <transport::Transport T, class Op, bool kValidate, class Pace = Unpaced>
class Pump : public PumpProgress<T> {
  using Progress = PumpProgress<T>;

 public:
  /// `alone`: the peer sends nothing, so that nothing is under way when this side has nothing.
  Pump(T& endpoint, const EpochPlan& plan, EpochIo<T>& io, EpochResult& result, Pace& pace,
       bool alone = true)
      : Progress(endpoint, plan, io, result,
                 {.posts = kPosts,
                  .slots = used_slots<Op>(endpoint.send_region(), endpoint.queue_pairs()),
                  .validates = kValidate,
                  .laps = kLaps},
                 alone),
        pace_(pace),
        region_(endpoint.send_region()),
        size_(plan.size) {}

  /// Posts what there is room for. False when a post failed for good, or what came was wrong.
  bool turn() noexcept {
    if constexpr (kLaps) {
      if (next_ == lap_end_ && endpoint_.completed() == endpoint_.posted() && !next_lap()) {
        return false;
      }
    }
    const std::uint64_t in_flight = endpoint_.posted() - endpoint_.completed();
    if (in_flight >= capacity_) return true;
    const std::uint64_t room = (capacity_ - in_flight + kPosts - 1) / kPosts;
    const std::uint64_t end = std::min(lap_end_, next_ + room);
    transport::PostStatus status = transport::PostStatus::posted;
    if (kTakesLists<T, Op> && list_ > 1) {
      status = post_lists(end);
    } else {
      const std::uint64_t tail = lap_end_ - std::min<std::uint64_t>(lap_end_, queue_pairs_);
      const std::uint64_t body = std::min(end, tail);
      status = post_until<transport::Signal::by_interval>(body);
      if (next_ >= body) status = post_until<transport::Signal::now>(end);
    }
    if constexpr (Pace::kPaced) {
      if (status == transport::PostStatus::posted && next_ < end) io_.nothing_due();
    }
    if (status != transport::PostStatus::failed) [[likely]]
      return true;
    result_.message = next_;
    return io_.end(Outcome::post_failed, Wait::nothing);
  }

  /// After done(): what the last lap brought.
  bool finish() noexcept {
    if (result_.outcome != Outcome::ok) return false;
    if constexpr (kChecks) return check_lap();
    return true;
  }

 private:
  using Progress::capacity_;
  using Progress::endpoint_;
  using Progress::io_;
  using Progress::iterations_;
  using Progress::lap_end_;
  using Progress::list_;
  using Progress::next_;
  using Progress::queue_pairs_;
  using Progress::result_;
  using Progress::rounds_;
  using Progress::slots_;

  static constexpr std::uint64_t kPosts = transport::posts_of_message(Op::kCode);
  static constexpr bool kFills = kValidate && !Op::kFromTarget;
  static constexpr bool kChecks = kValidate && Op::kFromTarget;
  static constexpr bool kLaps = kChecks || (kFills && !T::kOrdersMessages);

  void fill(std::uint64_t i) noexcept {
    if constexpr (kFills) memory::fill_pattern(message_in(region_, i, size_), tag_of(i));
  }

  /// One run to the last slot at a time, so that the walk over slots costs a message one addition.
  template <transport::Signal kSignal>
  [[gnu::always_inline]] transport::PostStatus post_until(std::uint64_t end) noexcept {
    T& endpoint = endpoint_;
    const std::uint64_t stride = region_.stride;
    const std::uint64_t size = size_;
    transport::PostStatus status = transport::PostStatus::posted;
    while (next_ < end) {
      const std::uint64_t stop = next_ + std::min<std::uint64_t>(end - next_, slots_ - slot_);
      std::uint64_t i = next_;
      for (std::uint64_t offset = slot_ * stride; i < stop && pace_.due(); offset += stride) {
        fill(i);
        status = post_message<kSignal>(endpoint, offset, size, Op::kAtomic ? lap_ : i);
        if (status != transport::PostStatus::posted) [[unlikely]]
          break;
        pace_.advance();
        ++i;
        next_queue_pair<T>(queue_pair_, queue_pairs_);
      }
      advance(i - next_);
      if (i < stop) break;
    }
    return status;
  }

  /// Where only the write before a flush found room, the next call goes on with the flush.
  template <transport::Signal kSignal>
  [[gnu::always_inline]] transport::PostStatus post_message(T& endpoint, std::uint64_t offset,
                                                            std::uint64_t size,
                                                            std::uint64_t word) noexcept {
    const std::uint32_t queue_pair = T::kManyQueuePairs ? queue_pair_ : 0;
    if constexpr (Op::kFlushes) {
      if (!written_) {
        const transport::PostStatus status = endpoint.template post<transport::Write>(
            offset, offset, size, word, transport::Signal::by_interval, queue_pair);
        if (status != transport::PostStatus::posted) return status;
      }
    }
    const transport::PostStatus status =
        endpoint.template post<Op>(offset, offset, size, word, kSignal, queue_pair);
    if constexpr (Op::kFlushes) written_ = status != transport::PostStatus::posted;
    return status;
  }

  void advance(std::uint64_t count) noexcept {
    next_ += count;
    slot_ += count;
    while (slot_ >= slots_) {
      slot_ -= slots_;
      ++lap_;
    }
  }

  /// A list that `end` would cut short waits: it would be another measurement.
  transport::PostStatus post_lists(std::uint64_t end) noexcept {
    transport::PostStatus status = transport::PostStatus::posted;
    if constexpr (kTakesLists<T, Op>) {
      while (status == transport::PostStatus::posted && next_ < end && pace_.due()) {
        const std::uint64_t count = std::min(list_, lap_end_ - next_);
        if (count > end - next_) break;
        status = post_list(static_cast<std::uint32_t>(count));
      }
    }
    return status;
  }

  transport::PostStatus post_list(std::uint32_t count) noexcept {
    std::uint64_t slot = slot_;
    for (std::uint32_t k = 0; k < count; ++k) {
      fill(next_ + k);
      messages_[k] = to_slot(region_, slot, size_, next_ + k);
      if (++slot == slots_) slot = 0;
    }
    // The last list of every queue pair is among so many. And of those that fit into a queue pair's
    // queue one must complete, where the endpoint's own interval is longer.
    const bool last = lap_end_ - next_ <= list_ * queue_pairs_ || round_ + 1 == rounds_;
    const transport::PostStatus status = endpoint_.template post_list<Op>(
        std::span<const transport::Message>(messages_.data(), count),
        last ? transport::Signal::now : transport::Signal::by_interval,
        T::kManyQueuePairs ? queue_pair_ : 0);
    if (status != transport::PostStatus::posted) [[unlikely]]
      return status;
    for (std::uint32_t k = 0; k < count; ++k) pace_.advance();
    advance(count);
    next_queue_pair<T>(queue_pair_, queue_pairs_);
    if (queue_pair_ == 0 && ++round_ == rounds_) round_ = 0;
    return status;
  }

  bool next_lap() noexcept {
    if constexpr (kChecks) {
      if (!check_lap()) return false;
    }
    lap_begin_ = lap_end_;
    lap_end_ = std::min<std::uint64_t>(iterations_, lap_begin_ + slots_);
    if constexpr (kChecks) {
      for (std::uint64_t i = lap_begin_; i < lap_end_; ++i) prepare<Op>(message(i), i);
    }
    return true;
  }

  bool check_lap() noexcept {
    for (std::uint64_t i = lap_begin_; i < lap_end_; ++i) {
      if (!check_fetched<Op>(message(i), i, slots_, io_, result_)) return false;
    }
    return true;
  }

  std::span<std::byte> message(std::uint64_t i) const noexcept {
    return message_in(region_, i % slots_, size_);
  }

  Pace& pace_;
  transport::Region region_;
  std::uint64_t size_;
  std::array<transport::Message, kTakesLists<T, Op> ? transport::kMaxPostList : 1>
      messages_;                  ///< of the next list
  std::uint64_t slot_ = 0;        ///< the next message goes from this slot, ...
  std::uint64_t lap_ = 0;         ///< ... which has been used so often, ...
  std::uint32_t queue_pair_ = 0;  ///< ... on this queue pair
  bool written_ = false;          ///< ... and already written, where only its flush is missing
  std::uint64_t round_ = 0;       ///< lists posted on every queue pair, modulo rounds_
  std::uint64_t lap_begin_ = 0;
};

/// Pumps all messages of a side that receives nothing but markers meanwhile.
template <transport::Transport T, class Op, bool kValidate, class Pace>
bool pump(T& endpoint, const EpochPlan& plan, EpochIo<T>& io, EpochResult& result, Pace& pace) {
  Pump<T, Op, kValidate, Pace> pump(endpoint, plan, io, result, pace);
  while (!pump.done()) {
    if (!pump.turn()) return false;
    const bool going = Pace::kPaced ? io.poll_once(Wait::completion) : io.poll(Wait::completion);
    if (!going) {
      result.message = pump.under_way();
      return false;
    }
  }
  result.message = pump.under_way();
  return pump.finish();
}

}  // namespace rdmabench::inline v1::workload
