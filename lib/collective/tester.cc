#include "collective/heartbeat.h"
#include "rdmabench/collective/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/division.h"
#include "commands.h"
#include "member.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "row_run.h"

namespace rdmabench::inline v1::collective {
namespace {

using std::chrono::nanoseconds;

/// Rank 0 of a run: which ranks run a call together, and a row for each of these groups.
class Lead {
 public:
  Lead(RankGroup& group, Engine& engine, const CollectivePlan& plan, Member& member)
      : ranks_(group, member), engine_(engine), plan_(plan) {}

  void divide(const Division& division) {
    division_ = division.name;
    groups_ = members(division.group_of, ranks_.size());
    RankCommand order;
    order.what = RankCommand::What::groups;
    order.group_of = division.group_of;
    const bool apart = groups_.size() > 1;
    if (apart || apart_) ranks_.command(order, deadline());
    apart_ = apart;
  }

  std::vector<Row> measure(const Call& call);
  /// What each rank answers: `facts`, or `end`.
  std::vector<RankReport> reports(RankCommand::What what);

 private:
  std::vector<Row> empty_rows(const Call& call, const Amount& amount) const;
  Deadline deadline() const { return Deadline::after(plan_.timeout + std::chrono::seconds(1)); }

  Ranks ranks_;
  Engine& engine_;
  const CollectivePlan& plan_;
  std::string division_;  // its name
  bool apart_ = false;    // the ranks' library has groups
  std::vector<std::vector<std::uint32_t>> groups_;
  std::uint32_t number_ = 0;  // of the next call in the run
};

std::vector<Row> Lead::empty_rows(const Call& call, const Amount& amount) const {
  std::vector<Row> rows;
  for (const std::vector<std::uint32_t>& group : groups_) {
    const std::string name =
        division_.empty() ? "" : fmt::format("{} {}", division_, range_text(group));
    const auto size = static_cast<std::uint32_t>(group.size());
    const std::string skipped = engine_.unsupported(call, size);
    rows.push_back({.call = call,
                    .group = name,
                    .ranks = group,
                    .size_bytes = size_bytes(call, size),
                    .skipped = skipped,
                    .batch = amount.batch,
                    .checked = plan_.check && skipped.empty()});
  }
  return rows;
}

std::vector<Row> Lead::measure(const Call& call) {
  const Amount amount = plan_.amount ? plan_.amount(call, ranks_.size())
                                     : Amount{plan_.batch, plan_.iterations, plan_.warmup,
                                              plan_.memory_reuse ? plan_.batch : 0};
  std::vector<Row> rows = empty_rows(call, amount);
  const auto is_skipped = [](const Row& row) { return !row.skipped.empty(); };
  if (std::all_of(rows.begin(), rows.end(), is_skipped)) return rows;
  RowRun run(ranks_, plan_, amount, number_++, rows);
  run.measure();
  for (Row& row : rows) {
    if (is_skipped(row) || row.ranks.front() != 0) continue;  // the back end tells of its own group
    report::Facts facts = engine_.call_facts();
    row.facts.insert(row.facts.begin(), facts.begin(), facts.end());
  }
  if (plan_.check && run.took_places_again() && call.in_place) {
    const Amount each{.batch = run.places(), .iterations = 1, .slots = run.places()};
    RowRun(ranks_, plan_, each, number_++, rows).check_after(run);
  }
  return rows;
}

std::vector<RankReport> Lead::reports(RankCommand::What what) {
  const std::vector<std::string> answers = ranks_.command({.what = what}, deadline());
  std::vector<RankReport> reports;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    reports.push_back(answer_of(ranks_.identity(rank),
                                [&] { return parse<RankReport, kReportValues>(answers[rank]); }));
    reports.back().identity = ranks_.identity(rank);
    if (rank < ranks_.clocks().size()) reports.back().clock = ranks_.clocks()[rank];
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
    run.ranks = leader.reports(RankCommand::What::facts);
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
    run.ranks = leader.reports(RankCommand::What::end);
    close(group, engine, plan.timeout);
  } catch (const Error& error) {
    if (error.fault() != Fault::failed && run.rows.empty()) {
      engine.abort();
      throw;
    }
    run.failure = error.failure();
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
          parse<RankCommand>(group.broadcast({}, Deadline::after(patience * 10)));
      group.gather(member.execute(order, {}), Deadline::after(options.timeout));
      if (order.what == RankCommand::What::end) break;
    }
    close(group, engine, options.timeout);
  } catch (const Error& error) {
    engine.abort();
    const std::string verdict =
        group.give_up(error.what(), Deadline::after(patience), error.fault());
    if (!verdict.empty()) throw Verdict(error.fault(), verdict);
    throw error.at(fmt::format("rank {}, and rank 0 gave no verdict", group.team().rank));
  }
}

}  // namespace rdmabench::inline v1::collective
