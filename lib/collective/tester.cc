#include "rdmabench/collective/tester.h"
#include "collective/heartbeat.h"
#include "collective/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "collective/clock_hold.h"
#include "collective/median_watch.h"
#include "commands.h"
#include "member.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/report/conditions.h"

namespace rdmabench::collective {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint32_t kClockRounds = 16;
constexpr double kEpochNs = 100e6;  // aimed length of an epoch

/// Rank 0's part in measuring one row.
class Lead {
 public:
  Lead(RankGroup& group, Engine& engine, const CollectivePlan& plan, Member& member)
      : group_(group), engine_(engine), plan_(plan), member_(member) {}

  Row measure(const Call& call, std::uint32_t number);
  std::vector<RankReport> finish();
  const std::vector<ClockOffset>& clocks() const { return last_clocks_; }

 private:
  std::vector<std::string> command(const RankCommand& order);
  void compare_clocks();
  void prepare(Row& row, std::uint32_t number);
  std::uint64_t run_epoch(std::uint64_t samples, Row& row, bool counts);
  void run_until_known(Row& row);
  std::uint64_t next_epoch(const Row& row, std::uint64_t most) const;
  void take(const std::vector<std::string>& answers, std::uint64_t samples, Row& row, bool counts);
  std::vector<std::uint64_t> starts() const;
  Deadline deadline() const {
    const std::uint64_t bytes = epoch_bytes_;
    return Deadline::after(plan_.timeout + std::chrono::seconds(1 + bytes / 50'000'000));
  }
  std::uint32_t ranks() const { return group_.team().size; }

  RankGroup& group_;
  Engine& engine_;
  const CollectivePlan& plan_;
  Member& member_;
  Amount amount_;  // of this row
  std::uint32_t slots_ = 1;
  std::uint64_t epoch_bytes_ = 0;  // most bytes that a rank generates and reads in an epoch
  std::uint64_t next_iteration_ = 0;
  std::vector<std::vector<Stamps>> samples_;  // by rank
  std::vector<double> longest_;       // longest of all ranks for each sample, ns, without warm-up
  std::optional<MedianWatch> known_;  // set if the median ended the row
  double last_ns_ = 0;                // of one sample in the last epoch
  double timed_ns_ = 0;
  std::vector<ClockOffset> last_clocks_;
  ClockHold hold_;
  std::vector<ClockLine> clocks_;  // by rank, for this row
};

std::vector<std::string> Lead::command(const RankCommand& order) {
  group_.broadcast(to_text(order), deadline());
  const std::string own = member_.execute(order, [this] { return starts(); });
  return group_.gather(own, deadline());
}

/// Adds the last comparison to the row's clock lines.
void Lead::compare_clocks() {
  RankCommand order;
  order.what = RankCommand::What::clocks;
  order.rounds = kClockRounds;
  const std::uint64_t began = measure::RawClock::stamp();
  command(order);
  hold_.compared(began, measure::RawClock::stamp());
  last_clocks_ = member_.clocks();
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    clocks_[rank].points.push_back(last_clocks_[rank]);
  }
}

/// The common start, by each rank's own clock: late enough for the command to reach all ranks.
std::vector<std::uint64_t> Lead::starts() const {
  const std::uint64_t start = measure::RawClock::stamp() + 200'000 + 20'000 * ranks();
  std::vector<std::uint64_t> all;
  for (const ClockOffset& clock : last_clocks_) {
    all.push_back(start + static_cast<std::uint64_t>(clock.offset_ns));
  }
  return all;
}

void Lead::prepare(Row& row, std::uint32_t number) {
  std::uint64_t bytes = 8;  // the larger side of the rank with most
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    const Layout layout = nccl_layout(row.call, {.rank = rank, .size = ranks()});
    bytes = std::max({bytes, layout.send_bytes, layout.receive_bytes});
    if (rank > 4 && rank < row.call.root) rank = row.call.root - 1;  // counts have a period of 4
    if (rank > 4 && rank >= row.call.root) break;
  }
  const auto fit = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(plan_.buffer_bytes / bytes, 1, kMaxSlots));
  slots_ = std::max(fit / amount_.batch * amount_.batch, amount_.batch);
  epoch_bytes_ = 3 * bytes * slots_;
  next_iteration_ = 0;
  samples_.assign(ranks(), {});
  longest_.clear();
  known_.reset();
  last_ns_ = 0;
  timed_ns_ = 0;
  RankCommand order;
  order.what = RankCommand::What::row;
  order.call = row.call;
  order.row = number;
  order.slots = slots_;
  order.batch = amount_.batch;
  order.check = plan_.check;
  command(order);
}

void Lead::take(const std::vector<std::string>& answers, std::uint64_t samples, Row& row,
                bool counts) {
  std::vector<std::uint64_t> longest(samples, 0);
  double span = 0;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    Epoch epoch = parse_epoch(answers[rank], samples);
    for (std::size_t i = 0; i < samples; ++i) {
      longest[i] = std::max(longest[i], epoch.stamps[i].exit_ns - epoch.stamps[i].enter_ns);
    }
    span = std::max(
        span, static_cast<double>(epoch.stamps.back().exit_ns - epoch.stamps.front().enter_ns));
    if (counts) {
      samples_[rank].insert(samples_[rank].end(), epoch.stamps.begin(), epoch.stamps.end());
    }
    Checked& all = row.results;
    all.operations += epoch.checked.operations;
    all.wrong_operations += epoch.checked.wrong_operations;
    all.wrong_elements += epoch.checked.wrong_elements;
    const bool earlier =
        epoch.checked.first &&
        (!row.first_wrong || epoch.checked.first->iteration < row.first_wrong->wrong.iteration);
    if (earlier) row.first_wrong = WrongAt{.rank = rank, .wrong = *epoch.checked.first};
  }
  last_ns_ = span / static_cast<double>(samples);
  if (!counts) return;
  timed_ns_ += span;
  for (const std::uint64_t one : longest) longest_.push_back(static_cast<double>(one));
}

std::uint64_t Lead::run_epoch(std::uint64_t samples, Row& row, bool counts) {
  if (!hold_.holds(measure::RawClock::stamp())) compare_clocks();
  RankCommand order;
  order.what = RankCommand::What::epoch;
  order.samples = samples;
  order.first_iteration = next_iteration_;
  take(command(order), samples, row, counts);
  next_iteration_ += samples * amount_.batch;
  return samples;
}

/// As many as fit into the slots if results are checked, and into the aimed time.
std::uint64_t Lead::next_epoch(const Row& row, std::uint64_t most) const {
  const std::uint64_t room =
      plan_.check ? std::max<std::uint64_t>(1, slots_ / amount_.batch) : kMaxSamplesAtOnce;
  const double aim = last_ns_ > 0 ? kEpochNs / last_ns_ : 1;
  std::uint64_t next =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(aim, 1e6)), 1, room);
  next = std::min(next, 16 * std::max<std::uint64_t>(1, longest_.size() + row.warmup));
  return std::min(next, most);
}

void Lead::run_until_known(Row& row) {
  while (longest_.size() < amount_.iterations) {
    run_epoch(next_epoch(row, amount_.iterations - longest_.size()), row, true);
  }
  if (amount_.iterations > 0) return;
  const Deadline budget = Deadline::after(plan_.budget);
  MedianWatch median(plan_.min_iterations);
  for (;;) {
    run_epoch(next_epoch(row, median.next_look() - longest_.size()), row, true);
    constexpr double kLeastNs = 20e6;  // of timed operations
    if (longest_.size() == median.next_look() && median.is_known(longest_, plan_.precision) &&
        timed_ns_ >= kLeastNs) {
      known_ = median;
      return;
    }
    if (budget.passed() || longest_.size() >= kMaxSamples) {
      row.converged = false;
      return;
    }
  }
}

Row Lead::measure(const Call& call, std::uint32_t number) {
  amount_ = plan_.amount ? plan_.amount(call, ranks())
                         : Amount{plan_.batch, plan_.iterations, plan_.warmup};
  Row row{.call = call, .size_bytes = size_bytes(call, ranks()), .batch = amount_.batch};
  row.skipped = engine_.unsupported(call);
  if (!row.skipped.empty()) return row;
  row.checked = plan_.check;
  prepare(row, number);
  clocks_.assign(ranks(), {});
  compare_clocks();
  while (row.warmup < amount_.warmup) {
    row.warmup += run_epoch(next_epoch({}, amount_.warmup - row.warmup), row, false);
  }
  run_until_known(row);
  compare_clocks();
  row.iterations = longest_.size();
  row.numbers = judge(samples_, clocks_, amount_.batch);
  if (known_) {
    row.numbers.time.median_low_ns = known_->low() / amount_.batch;
    row.numbers.time.median_high_ns = known_->high() / amount_.batch;
    row.numbers.median_level = MedianWatch::kLevel;
  }
  row.algorithm_bytes_per_s = algorithm_bandwidth(call, ranks(), row.numbers.time.p50_ns);
  row.bus_bytes_per_s = bus_bandwidth(call, ranks(), row.numbers.time.p50_ns);
  if (!row.bus_bytes_per_s) row.bus_reason = "with one rank nothing crosses a bus";
  row.facts = engine_.call_facts();
  return row;
}

std::vector<RankReport> Lead::finish() {
  const std::vector<std::string> answers = command({});
  std::vector<RankReport> reports;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    reports.push_back(parse_rank_report(answers[rank]));
    reports.back().identity = group_.identities()[rank];
    if (rank < last_clocks_.size()) reports.back().clock = last_clocks_[rank];
  }
  return reports;
}

void close(RankGroup& group, Engine& engine, nanoseconds timeout) {
  // A rank that does not get here would make the others wait in the library.
  group.barrier(Deadline::after(timeout));
  group.heartbeat().expect_end();
  // All ranks must expect the end: else they take the first one that leaves for dead.
  group.barrier(Deadline::after(timeout));
  const Deadline limit = Deadline::after(timeout);
  const Heartbeat::Guard guard(group.heartbeat(), fmt::format("closing {}", engine.name()), limit);
  engine.close(limit.earlier());
}

}  // namespace

void lead(RankGroup& group, Engine& engine, const CollectivePlan& plan,
          const MemberOptions& options, Run& run, const OnRow& on_row) {
  check(plan, group.team().size);
  run.backend = engine.name();
  run.environment = report::collect_environment(options.root);
  for (const RankIdentity& identity : group.identities())
    run.ranks.push_back({.identity = identity});
  Member member(group, engine, options);
  try {
    member.open();
    run.library = engine.facts();
    Lead leader(group, engine, plan, member);
    for (std::size_t i = 0; i < plan.calls.size(); ++i) {
      run.rows.push_back(leader.measure(plan.calls[i], static_cast<std::uint32_t>(i)));
      if (on_row) on_row(run);
    }
    run.ranks = leader.finish();
    close(group, engine, plan.timeout);
  } catch (const Error& error) {
    if (error.fault() != Fault::failed && run.rows.empty()) {
      engine.abort();
      throw;
    }
    run.fault = error.fault();
    run.error = error.what();
    run.blame = group.team().size > 1 ? group.heartbeat().explain() : Blame{};
    if (!run.blame.text.empty()) run.error += " -- " + run.blame.text;
    engine.abort();
  }
}

void dismiss(RankGroup& group, const Run& run) noexcept {
  group.give_up(run.error, Deadline::after(std::chrono::seconds(1)));
}

void follow(RankGroup& group, Engine& engine, const MemberOptions& options) {
  Member member(group, engine, options);
  const nanoseconds patience = 2 * options.timeout + std::chrono::seconds(10);
  try {
    member.open();
    for (;;) {
      // Rank 0 may need longer than one wait to generate and read its data.
      const RankCommand order =
          parse_rank_command(group.broadcast({}, Deadline::after(patience * 10)));
      group.gather(member.execute(order, {}), Deadline::after(options.timeout));
      if (order.what == RankCommand::What::end) break;
    }
    close(group, engine, options.timeout);
  } catch (const Error& error) {
    engine.abort();
    const std::string verdict =
        group.give_up(error.what(), Deadline::after(patience), error.fault());
    if (!verdict.empty()) throw Error(error.fault(), verdict);
    throw error.at(fmt::format("rank {}, and rank 0 gave no verdict", group.team().rank));
  }
}

}  // namespace rdmabench::collective
