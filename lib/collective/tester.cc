#include "rdmabench/collective/tester.h"
#include "collective/heartbeat.h"
#include "collective/numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/division.h"
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

  void divide(const Division& division);
  /// A row for each group.
  std::vector<Row> measure(const Call& call);
  std::vector<RankReport> finish();
  const std::vector<ClockOffset>& clocks() const { return last_clocks_; }

 private:
  std::vector<std::string> command(const RankCommand& order);
  void compare_clocks();
  void prepare(const Call& call);
  void run_epoch(std::uint64_t samples, bool counts);
  void run_until_known();
  bool checks_each() const;
  void check_afterwards(const Call& call);
  report::Facts memory_facts(const Call& call) const;
  std::uint64_t next_epoch(std::uint64_t most) const;
  void check(const Epoch& epoch, const Row& row, std::uint32_t rank,
             std::uint64_t ordered_ns) const;
  void take(const std::vector<std::string>& answers, std::uint64_t samples,
            std::uint64_t ordered_ns, bool counts);
  void evaluate(Row& row) const;
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
  std::string division_;  // its name
  bool apart_ = false;    // the ranks' library has groups
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<Row> rows_;     // of this call, by group
  std::uint32_t number_ = 0;  // of the call in the run
  std::uint64_t warmup_ = 0;  // samples so far
  bool converged_ = true;
  Amount amount_;  // of this call
  std::uint32_t slots_ = 1;
  bool taken_again_ = false;       // a slot, in one epoch of this call
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

void Lead::divide(const Division& division) {
  division_ = division.name;
  groups_ = members(division.group_of, ranks());
  RankCommand order;
  order.what = RankCommand::What::groups;
  order.group_of = division.group_of;
  const bool apart = groups_.size() > 1;
  if (apart || apart_) command(order);
  apart_ = apart;
}

void Lead::prepare(const Call& call) {
  std::uint64_t bytes = 8;  // the larger side of the rank with most
  for (const std::vector<std::uint32_t>& group : groups_) {
    const auto size = static_cast<std::uint32_t>(group.size());
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      const Layout layout = nccl_layout(call, {.rank = rank, .size = size});
      bytes = std::max({bytes, layout.send_bytes, layout.receive_bytes});
      if (rank > 4 && rank < call.root) rank = call.root - 1;  // counts have a period of 4
      if (rank > 4 && rank >= call.root) break;
    }
  }
  const auto fit = static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(plan_.buffer_bytes / bytes, 1, kMaxSlots));
  slots_ = std::max(fit / amount_.batch * amount_.batch, amount_.batch);
  if (amount_.slots > 0) {
    const std::uint32_t asked = std::min(amount_.slots, kMaxBatch);
    slots_ = asked < amount_.batch ? asked : asked / amount_.batch * amount_.batch;
  }
  epoch_bytes_ = 3 * bytes * std::max(slots_, amount_.batch);
  next_iteration_ = 0;
  taken_again_ = false;
  warmup_ = 0;
  converged_ = true;
  samples_.assign(ranks(), {});
  longest_.clear();
  known_.reset();
  last_ns_ = 0;
  timed_ns_ = 0;
  RankCommand order;
  order.what = RankCommand::What::row;
  order.call = call;
  order.row = number_++;
  order.slots = slots_;
  order.batch = amount_.batch;
  order.check = plan_.check;
  command(order);
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

/// What was ordered at `ordered_ns` of rank 0's clock, and has all been answered by now.
void Lead::check(const Epoch& epoch, const Row& row, std::uint32_t rank,
                 std::uint64_t ordered_ns) const {
  constexpr std::int64_t kSlackNs = 100'000'000;  // more than clocks wander between comparisons
  const ClockOffset& clock = last_clocks_[rank];
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

void Lead::take(const std::vector<std::string>& answers, std::uint64_t samples,
                std::uint64_t ordered_ns, bool counts) {
  std::vector<std::uint64_t> longest(samples, 0);
  double span = 0;
  for (Row& row : rows_) {
    if (!row.skipped.empty()) continue;
    for (const std::uint32_t rank : row.ranks) {
      Epoch epoch = answer_of(group_.identities()[rank], [&] {
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

void Lead::run_epoch(std::uint64_t samples, bool counts) {
  if (!hold_.holds(measure::RawClock::stamp())) compare_clocks();
  RankCommand order;
  order.what = RankCommand::What::epoch;
  order.samples = samples;
  order.first_iteration = next_iteration_;
  const std::uint64_t ordered_ns = measure::RawClock::stamp();
  take(command(order), samples, ordered_ns, counts);
  next_iteration_ += samples * amount_.batch;
  taken_again_ = taken_again_ || samples * amount_.batch > slots_;
}

/// As many as fit into the slots if each result is checked, and into the aimed time.
std::uint64_t Lead::next_epoch(std::uint64_t most) const {
  const std::uint64_t room =
      checks_each() ? std::max<std::uint64_t>(1, slots_ / amount_.batch) : kMaxSamplesAtOnce;
  const double aim = last_ns_ > 0 ? kEpochNs / last_ns_ : 1;
  std::uint64_t next =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::min(aim, 1e6)), 1, room);
  next = std::min(next, 16 * std::max<std::uint64_t>(1, longest_.size() + warmup_));
  return std::min(next, most);
}

void Lead::run_until_known() {
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
bool Lead::checks_each() const {
  const bool own = amount_.slots == 0 ||
                   (amount_.iterations > 0 && amount_.iterations * amount_.batch <= amount_.slots);
  return plan_.check && own;
}

/// One more operation in each place, untimed: in place, the result of one is the input of the next.
void Lead::check_afterwards(const Call& call) {
  const std::uint64_t next = next_iteration_;
  amount_ = {.batch = slots_, .iterations = 1, .slots = slots_};
  prepare(call);
  next_iteration_ = next;
  run_epoch(1, false);
}

report::Facts Lead::memory_facts(const Call& call) const {
  report::Facts facts{{"memory", std::string(taken_again_ ? "reused" : "own")},
                      {"memory_places", std::uint64_t{slots_}}};
  if (!plan_.check) return facts;
  facts.push_back({"checked", std::string(!taken_again_   ? "every operation"
                                          : call.in_place ? "one more in each place, afterwards"
                                                          : "the last in each place")});
  return facts;
}

/// The numbers of its ranks.
void Lead::evaluate(Row& row) const {
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
  if (known_ && groups_.size() == 1) {  // it was looked at the slowest of all groups
    row.numbers.time.median_low_ns = known_->low() / amount_.batch;
    row.numbers.time.median_high_ns = known_->high() / amount_.batch;
    row.numbers.median_level = MedianWatch::kLevel;
  }
  row.algorithm_bytes_per_s = algorithm_bandwidth(row.call, size, row.numbers.time.p50_ns);
  row.bus_bytes_per_s = bus_bandwidth(row.call, size, row.numbers.time.p50_ns);
  if (!row.bus_bytes_per_s) row.bus_reason = "with one rank nothing crosses a bus";
}

std::vector<Row> Lead::measure(const Call& call) {
  amount_ = plan_.amount ? plan_.amount(call, ranks())
                         : Amount{plan_.batch, plan_.iterations, plan_.warmup,
                                  plan_.memory_reuse ? plan_.batch : 0};
  rows_.clear();
  for (const std::vector<std::uint32_t>& group : groups_) {
    const std::string name =
        division_.empty() ? "" : fmt::format("{} {}", division_, range_text(group));
    const auto size = static_cast<std::uint32_t>(group.size());
    const std::string skipped = engine_.unsupported(call, size);
    rows_.push_back({.call = call,
                     .group = name,
                     .ranks = group,
                     .size_bytes = size_bytes(call, size),
                     .skipped = skipped,
                     .batch = amount_.batch,
                     .checked = plan_.check && skipped.empty()});
  }
  const auto is_skipped = [](const Row& row) { return !row.skipped.empty(); };
  if (std::all_of(rows_.begin(), rows_.end(), is_skipped)) return rows_;
  prepare(call);
  clocks_.assign(ranks(), {});
  compare_clocks();
  while (warmup_ < amount_.warmup) {
    const std::uint64_t next = next_epoch(amount_.warmup - warmup_);
    run_epoch(next, false);
    warmup_ += next;
  }
  run_until_known();
  compare_clocks();
  for (Row& row : rows_) {
    if (is_skipped(row)) continue;
    evaluate(row);
    if (row.ranks.front() == 0) row.facts = engine_.call_facts();  // of the group of this rank
    for (report::Fact& fact : memory_facts(call)) row.facts.push_back(std::move(fact));
  }
  if (plan_.check && taken_again_ && call.in_place) check_afterwards(call);
  return rows_;
}

std::vector<RankReport> Lead::finish() {
  const std::vector<std::string> answers = command({});
  std::vector<RankReport> reports;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    reports.push_back(
        answer_of(group_.identities()[rank], [&] { return parse_rank_report(answers[rank]); }));
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
    const Pass pass = [&](const Division& division) {
      const std::size_t before = run.rows.size();
      leader.divide(division);
      for (const Call& call : plan.calls) {
        for (Row& row : leader.measure(call)) run.rows.push_back(std::move(row));
        if (on_row) on_row(run);
      }
      return std::span<const Row>(run.rows).subspan(before);
    };
    plan.passes ? plan.passes(pass, run) : (void)pass({});
    run.ranks = leader.finish();
    close(group, engine, plan.timeout);
  } catch (const Error& error) {
    if (error.fault() != Fault::failed && run.rows.empty()) {
      engine.abort();
      throw;
    }
    run.fault = error.fault();
    run.error = error.what();
    const auto* const wrong = dynamic_cast<const WrongAnswer*>(&error);
    run.blame = wrong != nullptr        ? Blame{.ranks = {wrong->rank}}
                : group.team().size > 1 ? group.heartbeat().explain()
                                        : Blame{};
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
