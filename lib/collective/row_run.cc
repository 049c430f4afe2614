#include "row_run.h"

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::uint32_t kClockRounds = 16;
constexpr double kEpochNs = 100e6;  // aimed length of an epoch

/// As many places as the plan has memory for, or as were asked for; whole batches.
std::uint32_t places_for(const CollectivePlan& plan, const Amount& amount, std::uint64_t bytes) {
  const auto fit = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(plan.buffer_bytes / bytes, 1, kMaxSlots));
  const std::uint32_t wanted = amount.slots > 0 ? std::min(amount.slots, kMaxBatch) : fit;
  const std::uint32_t whole = wanted / amount.batch * amount.batch;
  return whole > 0 ? whole : amount.slots > 0 ? wanted : amount.batch;
}

/// Adds what one rank found to its group's row.
void add_checked(Row& row, std::uint32_t rank, Checked checked) {
  Checked& all = row.results;
  all.operations += checked.operations;
  all.wrong_operations += checked.wrong_operations;
  all.wrong_elements += checked.wrong_elements;
  const bool earlier = checked.first && (!row.first_wrong || checked.first->iteration <
                                                                 row.first_wrong->wrong.iteration);
  if (earlier) row.first_wrong = WrongAt{.rank = rank, .wrong = *std::move(checked.first)};
}

}  // namespace

std::vector<std::string> Ranks::command(const RankCommand& order, Deadline deadline) {
  group_.broadcast(to_text(order), deadline);
  const std::string own = member_.execute(order, [this] { return starts(); });
  return group_.gather(own, deadline);
}

bool Ranks::clocks_hold() const noexcept {
  return hold_.holds(measure::RawClock::stamp());
}

const std::vector<ClockOffset>& Ranks::compare_clocks(Deadline deadline) {
  RankCommand order;
  order.what = RankCommand::What::clocks;
  order.rounds = kClockRounds;
  const std::uint64_t began = measure::RawClock::stamp();
  command(order, deadline);
  hold_.compared(began, measure::RawClock::stamp());
  clocks_ = member_.clocks();
  return clocks_;
}

/// The common start, by each rank's own clock: late enough for the command to reach all ranks.
std::vector<std::uint64_t> Ranks::starts() const {
  const std::uint64_t start = measure::RawClock::stamp() + 200'000 + 20'000 * size();
  std::vector<std::uint64_t> all;
  for (const ClockOffset& clock : clocks_) {
    all.push_back(start + static_cast<std::uint64_t>(clock.offset_ns));
  }
  return all;
}

RowRun::RowRun(Ranks& ranks, const CollectivePlan& plan, const Amount& amount, std::uint32_t number,
               std::vector<Row>& rows)
    : ranks_(ranks),
      plan_(plan),
      amount_(amount),
      number_(number),
      rows_(rows),
      bytes_(most_bytes()),
      slots_(places_for(plan, amount, bytes_)),
      samples_(ranks.size()),
      clocks_(ranks.size()) {}

/// The larger side of the rank with most. Counts have a period of 4 ranks, and the root is apart.
std::uint64_t RowRun::most_bytes() const {
  constexpr std::uint32_t kAlike = 6;
  std::uint64_t bytes = 8;
  for (const Row& row : rows_) {
    const auto size = static_cast<std::uint32_t>(row.ranks.size());
    const auto look_at = [&](std::uint32_t rank) {
      const Layout layout = nccl_layout(row.call, {.rank = rank, .size = size});
      bytes = std::max({bytes, layout.send_bytes, layout.receive_bytes});
    };
    for (std::uint32_t rank = 0; rank < std::min(size, kAlike); ++rank) look_at(rank);
    if (row.call.root < size) look_at(row.call.root);
  }
  return bytes;
}

/// A second more for each 50 MB that a rank generates and reads in an epoch.
Deadline RowRun::deadline() const {
  const std::uint64_t bytes = 3 * bytes_ * std::max(slots_, amount_.batch);
  return Deadline::after(plan_.timeout + std::chrono::seconds(1 + bytes / 50'000'000));
}

void RowRun::announce() {
  RankCommand order;
  order.what = RankCommand::What::row;
  order.call = rows_.front().call;
  order.row = number_;
  order.slots = slots_;
  order.batch = amount_.batch;
  order.check = plan_.check;
  ranks_.command(order, deadline());
}

/// Adds the comparison to the rows' clock lines.
void RowRun::compare_clocks() {
  const std::vector<ClockOffset>& clocks = ranks_.compare_clocks(deadline());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    clocks_[rank].points.push_back(clocks[rank]);
  }
}

/// What was ordered at `ordered_ns` of rank 0's clock, and has all been answered by now.
void RowRun::check(const Epoch& epoch, const Row& row, std::uint32_t rank,
                   std::uint64_t ordered_ns) const {
  constexpr std::int64_t kSlackNs = 100'000'000;  // more than clocks wander between comparisons
  const ClockOffset& clock = ranks_.clocks()[rank];
  const auto after = [&](std::uint64_t stamp, std::uint64_t ours) {
    return static_cast<std::int64_t>(stamp - ours - static_cast<std::uint64_t>(clock.offset_ns));
  };
  const std::int64_t slack = kSlackNs + static_cast<std::int64_t>(clock.error_ns);
  const std::uint64_t now = measure::RawClock::stamp();
  for (const Stamps& one : epoch.stamps) {
    for (const std::uint64_t stamp : {one.enter_ns, one.exit_ns}) {
      if (after(stamp, ordered_ns) < -slack || after(stamp, now) > slack) {
        throw Error(Fault::failed, "a sample with time stamps outside of its epoch");
      }
    }
  }
  const Checked& found = epoch.checked;
  // Layouts have gaps and ends, whose bytes count as elements too.
  const std::uint64_t most = 2 * row.call.count * row.ranks.size() + 4096;
  const bool any = found.wrong_operations > 0;
  if (found.operations > epoch.stamps.size() * amount_.batch ||
      found.wrong_operations > found.operations || found.first.has_value() != any ||
      found.wrong_elements / std::max<std::uint64_t>(1, found.wrong_operations) >
          (any ? most : 0)) {
    throw Error(Fault::failed, "counts of wrong results that contradict each other");
  }
}

void RowRun::take(const std::vector<std::string>& answers, std::uint64_t samples,
                  std::uint64_t ordered_ns, bool counts) {
  std::vector<std::uint64_t> longest(samples, 0);
  double span = 0;
  for (Row& row : rows_) {
    if (!row.skipped.empty()) continue;
    for (const std::uint32_t rank : row.ranks) {
      Epoch epoch = answer_of(ranks_.identity(rank), [&] {
        Epoch read = parse_epoch(answers[rank], samples);
        check(read, row, rank, ordered_ns);
        return read;
      });
      for (std::size_t i = 0; i < samples; ++i) {
        longest[i] = std::max(longest[i], epoch.stamps[i].exit_ns - epoch.stamps[i].enter_ns);
      }
      span = std::max(
          span, static_cast<double>(epoch.stamps.back().exit_ns - epoch.stamps.front().enter_ns));
      if (counts) {
        samples_[rank].insert(samples_[rank].end(), epoch.stamps.begin(), epoch.stamps.end());
      }
      add_checked(row, rank, std::move(epoch.checked));
    }
  }
  last_ns_ = span / static_cast<double>(samples);
  if (!counts) return;
  timed_ns_ += span;
  for (const std::uint64_t one : longest) longest_.push_back(static_cast<double>(one));
}

void RowRun::run_epoch(std::uint64_t samples, bool counts) {
  if (!ranks_.clocks_hold()) compare_clocks();
  RankCommand order;
  order.what = RankCommand::What::epoch;
  order.samples = samples;
  order.first_iteration = next_iteration_;
  const std::uint64_t ordered_ns = measure::RawClock::stamp();
  take(ranks_.command(order, deadline()), samples, ordered_ns, counts);
  next_iteration_ += samples * amount_.batch;
  taken_again_ = taken_again_ || samples * amount_.batch > slots_;
}

/// As many as fit into the slots if each result is checked, and into the aimed time.
std::uint64_t RowRun::next_epoch(std::uint64_t most) const {
  const std::uint64_t room =
      checks_each() ? std::max<std::uint64_t>(1, slots_ / amount_.batch) : kMaxSamplesAtOnce;
  const double aim = last_ns_ > 0 ? kEpochNs / last_ns_ : 1;
  std::uint64_t next =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(aim, 1e6)), 1, room);
  next = std::min(next, 16 * std::max<std::uint64_t>(1, longest_.size() + warmup_));
  return std::min(next, most);
}

void RowRun::run_until_known() {
  while (longest_.size() < amount_.iterations) {
    run_epoch(next_epoch(amount_.iterations - longest_.size()), true);
  }
  if (amount_.iterations > 0) return;
  const Deadline budget = Deadline::after(plan_.budget);
  MedianWatch median(plan_.min_iterations);
  for (;;) {
    run_epoch(next_epoch(median.next_look() - longest_.size()), true);
    constexpr double kLeastNs = 20e6;  // of timed operations
    if (longest_.size() == median.next_look() && median.is_known(longest_, plan_.precision) &&
        timed_ns_ >= kLeastNs) {
      known_ = median;
      return;
    }
    if (budget.passed() || longest_.size() >= kMaxSamples) {
      converged_ = false;
      return;
    }
  }
}

/// Whether every operation has a place of its own until it was checked.
bool RowRun::checks_each() const {
  const bool own = amount_.slots == 0 ||
                   (amount_.iterations > 0 && amount_.iterations * amount_.batch <= amount_.slots);
  return plan_.check && own;
}

void RowRun::check_after(const RowRun& measured) {
  next_iteration_ = measured.next_iteration_;
  announce();
  run_epoch(1, false);
}

report::Facts RowRun::memory_facts() const {
  report::Facts facts{{"memory", std::string(taken_again_ ? "reused" : "own")},
                      {"memory_places", std::uint64_t{slots_}}};
  if (!plan_.check) return facts;
  facts.push_back(
      {"checked", std::string(!taken_again_                 ? "every operation"
                              : rows_.front().call.in_place ? "one more in each place, afterwards"
                                                            : "the last in each place")});
  return facts;
}

/// The numbers of its ranks.
void RowRun::evaluate(Row& row) const {
  std::vector<std::vector<Stamps>> samples;
  std::vector<ClockLine> clocks;
  for (const std::uint32_t rank : row.ranks) {
    samples.push_back(samples_[rank]);
    clocks.push_back(clocks_[rank]);
  }
  const auto size = static_cast<std::uint32_t>(row.ranks.size());
  row.iterations = longest_.size();
  row.warmup = warmup_;
  row.converged = converged_;
  row.numbers = judge(samples, clocks, amount_.batch);
  if (auto& late = row.numbers.arrivals.late) late->rank = row.ranks[late->rank];
  if (known_ && rows_.size() == 1) {  // it was looked at the slowest of all groups
    row.numbers.time.median_low_ns = known_->low() / amount_.batch;
    row.numbers.time.median_high_ns = known_->high() / amount_.batch;
    row.numbers.median_level = MedianWatch::kLevel;
  }
  row.algorithm_bytes_per_s = algorithm_bandwidth(row.call, size, row.numbers.time.p50_ns);
  row.bus_bytes_per_s = bus_bandwidth(row.call, size, row.numbers.time.p50_ns);
  if (!row.bus_bytes_per_s) row.bus_reason = "with one rank nothing crosses a bus";
}

void RowRun::measure() {
  announce();
  compare_clocks();
  while (warmup_ < amount_.warmup) {
    const std::uint64_t next = next_epoch(amount_.warmup - warmup_);
    run_epoch(next, false);
    warmup_ += next;
  }
  run_until_known();
  compare_clocks();
  for (Row& row : rows_) {
    if (!row.skipped.empty()) continue;
    evaluate(row);
    row.facts = memory_facts();
  }
}

}  // namespace rdmabench::inline v1::collective
