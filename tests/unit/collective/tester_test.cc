// The whole tester among threads of this process, over real control channels.
#include "rdmabench/collective/run.h"

#include <gmock/gmock.h>

#include <bit>
#include <future>
#include <thread>

#include "../complaint.h"
#include "check.h"
#include "collective/commands.h"
#include "collective/member.h"
#include "control/admission.h"
#include "rdmabench/base/error.h"
#include "results/facts.h"
#include "thread_backend.h"

namespace rdmabench::inline v1::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

struct TestedRun {
  Run run;
  std::vector<std::string> errors;  // by rank, of the others
  std::optional<Fault> thrown;      // by rank 0
  int stuck = 0;                    // ranks ended by their heartbeats
};

using Lie = std::function<void(Epoch&)>;

/// A rank that does all it is told, and tells something else.
void follow_lying(RankGroup& group, Engine& engine, const MemberOptions& options, const Lie& lie) {
  const Deadline deadline = Deadline::after(seconds(10));
  Member member(group, engine, options);
  member.open();
  try {
    for (;;) {
      const RankCommand order = parse<RankCommand>(group.broadcast({}, deadline));
      std::string answer = member.execute(order, {});
      if (order.what == RankCommand::What::epoch) {
        Epoch epoch = parse_epoch(answer, order.samples);
        lie(epoch);
        answer = to_text(epoch);
      }
      group.gather(answer, deadline);
    }
  } catch (const Error& error) {
    group.give_up(error.what(), deadline);
  }
}

TestedRun run_threads(std::uint32_t ranks, CollectivePlan plan,
                      const std::function<ThreadFaults(std::uint32_t)>& faults = {},
                      const Lie& lie = {}) {
  TestedRun outcome;
  std::atomic<int> stuck{0};
  outcome.errors.resize(ranks);
  ThreadWorld world(ranks);
  control::Listener listener("127.0.0.1", 0);
  const control::BootstrapAddress bootstrap_address{
      .run_id = "t", .port = listener.port(), .addresses = {"127.0.0.1"}};
  const HeartbeatOptions heartbeat{.interval = milliseconds(50),
                                   .on_stuck = [&](const std::string&) { ++stuck; }};
  const MemberOptions member{.timeout = plan.timeout, .devices = {}};
  const Deadline deadline = Deadline::after(seconds(20));
  const auto fault = [&](std::uint32_t rank) { return faults ? faults(rank) : ThreadFaults{}; };
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    others.emplace_back([&, rank] {
      try {
        const auto group = RankGroup::join(bootstrap_address, {rank, ranks},
                                           {.rank = rank, .host = "h"}, heartbeat, deadline);
        ThreadBackend backend(world, fault(rank));
        EngineOf<ThreadBackend> engine(backend);
        lie ? follow_lying(*group, engine, member, lie) : follow(*group, engine, member);
      } catch (const Error& error) {
        outcome.errors[rank] = error.what();
      }
    });
  }
  {
    const auto group =
        RankGroup::lead(listener, bootstrap_address, ranks, {.host = "h"}, heartbeat, deadline);
    ThreadBackend backend(world, fault(0));
    EngineOf<ThreadBackend> engine(backend);
    try {
      lead(*group, engine, plan, member, outcome.run);
    } catch (const Error& error) {
      outcome.thrown = error.fault();
      group->give_up(error.what(), deadline);
    }
    if (!outcome.run.error.empty()) dismiss(*group, outcome.run);
  }  // The others wait for the end of rank 0's connections.
  for (std::thread& other : others) other.join();
  outcome.stuck = stuck;
  return outcome;
}

CollectivePlan small_plan(std::vector<Call> calls) {
  return {.calls = std::move(calls), .iterations = 4, .warmup = 2, .timeout = seconds(10)};
}

TEST(Tester, EveryOperationIsRight) {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < kOperations; ++i) {
    for (const bool in_place : {false, true}) {
      calls.push_back({.operation = static_cast<Operation>(i),
                       .type = i % 2 == 0 ? DataType::half : DataType::int32,
                       .root = 2,
                       .count = 5000,
                       .in_place = in_place});
      if (i >= 5 && i != 7 && i != 8) break;  // all-to-all and a ring are not done in place
    }
  }
  const std::size_t rows = calls.size();
  const TestedRun outcome = run_threads(3, small_plan(calls));
  EXPECT_EQ(outcome.run.error, "");
  ASSERT_EQ(outcome.run.rows.size(), rows);
  for (const Row& row : outcome.run.rows) {
    EXPECT_EQ(row.results.wrong_elements, 0) << name(row.call.operation) << row.call.in_place;
    const bool at_root =
        row.call.operation == Operation::reduce || row.call.operation == Operation::gather;
    EXPECT_EQ(row.results.operations, (at_root ? 1 : 3) * 6) << "the others have no result";
    EXPECT_EQ(row.iterations, 4);
    EXPECT_GT(row.algorithm_bytes_per_s, 0);
    EXPECT_TRUE(row.bus_bytes_per_s);
  }
  EXPECT_FALSE(failed(outcome.run));
  EXPECT_THAT(outcome.errors, ElementsAre("", "", ""));
}

TEST(Tester, GroupsMeasureApartAndEveryOperationIsRight) {
  CollectivePlan plan = small_plan({});
  for (std::size_t i = 0; i < kOperations; ++i) {
    plan.calls.push_back({.operation = static_cast<Operation>(i), .root = 1, .count = 1000});
  }
  const std::size_t calls = plan.calls.size();
  plan.passes = [](const Pass& pass, auto& /*run*/) {
    EXPECT_EQ(pass({.name = "odd", .group_of = {0, 1, 0, 1, 1}}).front().ranks.size(), 2);
    pass({});
  };
  const TestedRun outcome = run_threads(5, plan);
  EXPECT_EQ(outcome.run.error, "");
  ASSERT_EQ(outcome.run.rows.size(), 3 * calls);
  for (std::size_t i = 0; i < outcome.run.rows.size(); ++i) {
    const Row& row = outcome.run.rows[i];
    EXPECT_EQ(row.results.wrong_elements, 0) << row.group << name(row.call.operation);
    EXPECT_EQ(row.numbers.ranks.size(), row.ranks.size());
    EXPECT_EQ(row.group, i >= 2 * calls ? "" : i % 2 == 0 ? "odd 0,2" : "odd 1,3-4");
  }
}

TEST(Tester, AWrongResultOfAGroupIsPutDownToItsRank) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 1000}});
  plan.passes = [](const Pass& pass, auto& /*run*/) {
    pass({.name = "halves", .group_of = {0, 0, 1, 1}});
  };
  const TestedRun outcome = run_threads(4, plan, [](std::uint32_t rank) {
    ThreadFaults faults;
    if (rank == 3) {
      faults.spoil = [](std::uint64_t, std::span<std::byte> result) { result[8] ^= std::byte{1}; };
    }
    return faults;
  });
  ASSERT_EQ(outcome.run.rows.size(), 2);
  EXPECT_EQ(outcome.run.rows[0].results.wrong_elements, 0);
  ASSERT_TRUE(outcome.run.rows[1].first_wrong);
  EXPECT_EQ(outcome.run.rows[1].first_wrong->rank, 3);
}

TEST(Tester, ASpoiltResultIsFoundWithRankAndPlace) {
  const CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 1000}});
  const TestedRun outcome = run_threads(2, plan, [](std::uint32_t rank) {
    ThreadFaults faults;
    if (rank == 1) {
      faults.spoil = [](std::uint64_t operation, std::span<std::byte> result) {
        if (operation == 4) std::fill_n(result.begin() + 2000, 200, std::byte{0x77});
      };
    }
    return faults;
  });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_TRUE(failed(outcome.run));
  const Row& row = outcome.run.rows.at(0);
  EXPECT_EQ(row.results.wrong_operations, 1);
  EXPECT_EQ(row.results.wrong_elements, 50);
  ASSERT_TRUE(row.first_wrong);
  EXPECT_EQ(row.first_wrong->rank, 1);
  EXPECT_EQ(row.first_wrong->wrong.iteration, 4);
  EXPECT_EQ(row.first_wrong->wrong.offset_bytes, 2000);
  EXPECT_EQ(row.first_wrong->wrong.run_bytes, 200);
}

TEST(Tester, WhatIsWrittenPastTheEndOfAResultIsFound) {
  struct Case {
    Call call;
    std::uint32_t rank;
    std::uint64_t end;  // of the result, or of the buffer that it shares with the input
  };
  const Call reduced{.operation = Operation::all_reduce, .count = 1000};
  const Call many{.operation = Operation::all_gather, .count = (1U << 17U) + 3};  // two pieces
  const Call part{.operation = Operation::reduce_scatter, .count = 1000, .in_place = true};
  for (const Case& one :
       {Case{reduced, 1, 4000}, Case{many, 1, 8 * many.count}, Case{part, 0, 8000}}) {
    CollectivePlan plan = small_plan({one.call});
    plan.buffer_bytes = 1;
    const TestedRun outcome = run_threads(2, plan, [&](std::uint32_t rank) {
      ThreadFaults faults;
      if (rank != one.rank) return faults;
      faults.overrun = [&](std::uint64_t operation, std::span<std::byte> buffer) {
        if (operation == 3) buffer[one.end + 5] = std::byte{0};
      };
      return faults;
    });
    EXPECT_EQ(outcome.run.error, "");
    EXPECT_TRUE(failed(outcome.run));
    const Row& row = outcome.run.rows.at(0);
    EXPECT_EQ(row.results.wrong_operations, 1) << "the guard is made anew";
    EXPECT_EQ(row.results.wrong_elements, 1);
    ASSERT_TRUE(row.first_wrong) << one.end;
    EXPECT_EQ(row.first_wrong->rank, one.rank);
    EXPECT_EQ(row.first_wrong->wrong.iteration, 3);
    EXPECT_EQ(row.first_wrong->wrong.offset_bytes, one.end + 5);
    EXPECT_EQ(row.first_wrong->wrong.run_bytes, 1);
    EXPECT_EQ(row.first_wrong->wrong.pattern, "past the end");
    EXPECT_EQ(row.first_wrong->wrong.actual, "0x00");
  }
}

TEST(Tester, TheDeadlineOfOpeningStartsWhenTheSlowestDriverIsAwake) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  std::atomic<bool> first_loaded{false};
  std::atomic<Deadline::Clock::time_point> awake{};
  bool late_enough = false;
  const TestedRun outcome = run_threads(2, plan, [&](std::uint32_t rank) {
    ThreadFaults faults;
    faults.at_load = [&, rank] {
      if (rank == 0) first_loaded = true;
      while (!first_loaded) std::this_thread::yield();
      if (rank == 1) awake = Deadline::Clock::now();
    };
    faults.before_open = [&, rank](Deadline deadline) {
      const auto end = Deadline::Clock::now() + deadline.left();
      if (rank == 0) late_enough = end + seconds(1) >= awake.load() + plan.timeout;
    };
    return faults;
  });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_TRUE(late_enough);
}

TEST(Tester, ARankThatStillLoadsReadsWhyRank0Ended) {
  const CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  std::atomic<bool> failed_to_load{false};
  const TestedRun outcome = run_threads(2, plan, [&](std::uint32_t rank) {
    ThreadFaults faults;
    faults.at_load = [&, rank] {
      if (rank == 0) {
        failed_to_load = true;
        throw Error(Fault::unavailable, "no such library");
      }
      while (!failed_to_load) std::this_thread::yield();
      std::this_thread::sleep_for(milliseconds(120));  // two heartbeats see that rank 0 has gone
    };
    return faults;
  });
  EXPECT_EQ(outcome.thrown, Fault::unavailable);
  EXPECT_EQ(outcome.stuck, 0);
  EXPECT_THAT(outcome.errors.at(1), HasSubstr("no such library"));
}

/// Five operations at a time in two places, 5 to warm up and 15 that are timed.
CollectivePlan two_places(bool in_place) {
  CollectivePlan plan =
      small_plan({{.operation = Operation::all_reduce, .count = 10, .in_place = in_place}});
  plan.amount = [](const Call&, std::uint32_t) {
    return Amount{.batch = 5, .iterations = 3, .warmup = 1, .slots = 2};
  };
  return plan;
}

ThreadFaults wrong_from(std::uint64_t first) {
  return {.spoil = [first](std::uint64_t operation, std::span<std::byte> result) {
    if (operation >= first) result[0] ^= std::byte{1};
  }};
}

TEST(Tester, OfPlacesThatAreTakenAgainTheLastResultsAreChecked) {
  const CollectivePlan plan = two_places(false);
  const Row row = run_threads(2, plan).run.rows.at(0);
  EXPECT_EQ(row.iterations, 3);
  EXPECT_EQ(row.batch, 5);
  EXPECT_GE(row.results.operations, 2 * 2 * 2) << "of each rank and epoch, in the warm-up too";
  EXPECT_EQ(row.results.wrong_operations, 0);
  EXPECT_EQ(report::text_of(row.facts, "memory"), "reused");
  EXPECT_EQ(report::value_of<std::uint64_t>(row.facts, "memory_places"), 2U);
  EXPECT_EQ(report::text_of(row.facts, "checked"), "the last in each place");
  // Of the last batch, 15 to 19, the last in each place are 18 and 19.
  const Row wrong = run_threads(2, plan, [](std::uint32_t) { return wrong_from(18); }).run.rows[0];
  EXPECT_EQ(wrong.results.wrong_operations, 2 * 2);
  EXPECT_EQ(name_of_operation(wrong), "operation 18");
  EXPECT_EQ(run_threads(2, plan, [](std::uint32_t) { return wrong_from(19); })
                .run.rows[0]
                .results.wrong_operations,
            2);
}

TEST(Tester, InPlaceOneMoreInEachPlaceIsCheckedAfterwards) {
  const CollectivePlan plan = two_places(true);
  const Row row = run_threads(2, plan).run.rows.at(0);
  EXPECT_EQ(row.results.operations, 2 * 2);
  EXPECT_EQ(row.results.wrong_operations, 0);
  EXPECT_EQ(report::text_of(row.facts, "checked"), "one more in each place, afterwards");
  const Row wrong = run_threads(2, plan, [](std::uint32_t) { return wrong_from(20); }).run.rows[0];
  EXPECT_EQ(wrong.results.wrong_operations, 2 * 2);
  EXPECT_EQ(name_of_operation(wrong), "an operation after the timed ones");
}

TEST(Tester, WhatTimedOperationsWritePastTheEndOfMemoryThatIsUsedAgainIsFound) {
  for (const bool in_place : {false, true}) {
    const TestedRun outcome = run_threads(2, two_places(in_place), [](std::uint32_t rank) {
      ThreadFaults faults;
      if (rank != 1) return faults;
      faults.overrun = [](std::uint64_t operation, std::span<std::byte> buffer) {
        if (operation == 7) buffer[40 + 5] = std::byte{0};
      };
      return faults;
    });
    EXPECT_EQ(outcome.run.error, "");
    const Row& row = outcome.run.rows.at(0);
    EXPECT_EQ(row.results.wrong_operations, 1) << in_place;
    ASSERT_TRUE(row.first_wrong);
    EXPECT_EQ(row.first_wrong->rank, 1);
    EXPECT_EQ(row.first_wrong->wrong.pattern, "past the end");
    EXPECT_EQ(row.first_wrong->wrong.offset_bytes, 45);
  }
}

TEST(Tester, MemoryIsOwnOnlyWhereTheOperationsOfAnEpochHaveAPlaceEach) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  const auto memory = [&] {
    return report::text_of(run_threads(2, plan).run.rows.at(0).facts, "memory");
  };
  EXPECT_EQ(memory(), "own");
  plan.check = false;
  plan.buffer_bytes = 1;  // one place; unchecked, an epoch has more operations than that
  plan.iterations = 30;
  EXPECT_EQ(memory(), "reused");
  plan.check = true;
  EXPECT_EQ(memory(), "own");
  plan.memory_reuse = true;
  EXPECT_EQ(memory(), "reused");
}

TEST(Tester, AResultThatIsRightWhenReadAgainWasLateAndTheRunGoesOn) {
  const TestedRun outcome =
      run_threads(2, small_plan({{.operation = Operation::all_reduce, .count = 10}}),
                  [](std::uint32_t rank) { return ThreadFaults{.sees_all_wrong = rank == 1}; });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_TRUE(failed(outcome.run));
  const Row& row = outcome.run.rows.at(0);
  EXPECT_EQ(row.results.wrong_operations, 6);
  EXPECT_EQ(row.results.wrong_elements, 6);
  ASSERT_TRUE(row.first_wrong);
  EXPECT_EQ(row.first_wrong->rank, 1);
  EXPECT_THAT(row.first_wrong->wrong.pattern, testing::StartsWith("late: "));
}

TEST(Tester, AGroupThatCannotDoTheCallIsSkippedAlone) {
  CollectivePlan plan =
      small_plan({{.operation = Operation::all_reduce, .reduction = Reduction::mulsum, .count = 10},
                  {.operation = Operation::all_reduce, .count = 10}});
  plan.passes = [](const Pass& pass, auto& /*run*/) {
    pass({.name = "odd", .group_of = {0, 1, 1}});
    pass({.name = "odd", .group_of = {0, 0, 1}});
  };
  const TestedRun outcome =
      run_threads(3, plan, [](std::uint32_t) { return ThreadFaults{.unsupported = "not alone"}; });
  EXPECT_EQ(outcome.run.error, "");
  ASSERT_EQ(outcome.run.rows.size(), 8);
  for (std::size_t i = 0; i < outcome.run.rows.size(); ++i) {
    const Row& row = outcome.run.rows[i];
    const bool alone = row.ranks.size() == 1 && row.call.reduction == Reduction::mulsum;
    EXPECT_EQ(row.skipped, alone ? "not alone" : "") << i;
    EXPECT_EQ(row.iterations, alone ? 0 : 4) << i;
    EXPECT_EQ(row.results.wrong_operations, 0) << i;
  }
}

TEST(Guard, IsEachRanksOwnAndNamesTheStretchThatWasWritten) {
  std::vector<std::byte> guard(kGuardBytes);
  std::vector<std::byte> others(kGuardBytes);
  make_guard(3, guard);
  make_guard(4, others);
  EXPECT_FALSE(check_guard(3, 100, guard));
  EXPECT_EQ(check_guard(3, 100, others)->run_bytes, kGuardBytes);
  guard[2] = guard[9] = std::byte{0x5a};
  const auto wrong = check_guard(3, 100, guard);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->offset_bytes, 102);
  EXPECT_EQ(wrong->run_bytes, 8);
  EXPECT_EQ(wrong->actual, "0x5a");
}

TEST(Tester, WhatTheRowBeforeLeftInTheBuffersIsNoResult) {
  const Call call{.operation = Operation::all_gather, .count = 1000};
  const TestedRun outcome = run_threads(2, small_plan({call, call}), [](std::uint32_t) {
    return ThreadFaults{.idle_after_rows = 1};
  });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_EQ(outcome.run.rows.at(0).results.wrong_operations, 0);
  EXPECT_EQ(outcome.run.rows.at(1).results.wrong_operations, 2 * 6);
  EXPECT_EQ(outcome.run.rows.at(1).first_wrong->wrong.iteration, 0) << "of the row";
  EXPECT_EQ(outcome.run.rows.at(1).first_wrong->wrong.pattern, "stale");
}

TEST(Tester, TheRankThatHangsIsNamedAndAllEnd) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  plan.timeout = milliseconds(700);
  const auto begin = std::chrono::steady_clock::now();
  const TestedRun outcome = run_threads(3, plan, [](std::uint32_t rank) {
    ThreadFaults faults;
    if (rank == 2) faults.hang_at = 1;
    return faults;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin,
            seconds(8));  // not a verdict's whole patience
  EXPECT_THAT(outcome.run.error, HasSubstr("was not done within 0.7 s"));
  EXPECT_THAT(outcome.errors[1], HasSubstr("all-reduce"));
  EXPECT_THAT(outcome.errors[2], HasSubstr("all-reduce"));
}

TEST(Tester, TheDelayedRankIsNamedLate) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  plan.iterations = 20;
  const TestedRun outcome = run_threads(3, plan, [](std::uint32_t rank) {
    ThreadFaults faults;
    if (rank == 1) {
      faults.before_done = [](std::uint64_t) { std::this_thread::sleep_for(milliseconds(20)); };
    }
    return faults;
  });
  ASSERT_EQ(outcome.run.error, "");
  const auto& late = outcome.run.rows.at(0).numbers.arrivals.late;
  ASSERT_TRUE(late);
  EXPECT_EQ(late->rank, 1);
}

TEST(Tester, OneRankHasNoBusBandwidthAndSaysWhy) {
  const TestedRun outcome =
      run_threads(1, small_plan({{.operation = Operation::all_reduce, .count = 10}}));
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_FALSE(outcome.run.rows.at(0).bus_bytes_per_s);
  EXPECT_EQ(outcome.run.rows[0].bus_reason, "with one rank nothing crosses a bus");
}

TEST(Tester, WhatTheLibraryLacksIsSkippedWithTheReason) {
  const TestedRun outcome =
      run_threads(2,
                  small_plan({{.operation = Operation::all_reduce, .type = DataType::int64},
                              {.operation = Operation::all_reduce}}),
                  [](std::uint32_t) { return ThreadFaults{.unsupported = "no int64"}; });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_EQ(outcome.run.rows.at(0).skipped, "no int64");
  EXPECT_EQ(outcome.run.rows.at(1).skipped, "");
  EXPECT_EQ(nothing_measured(outcome.run), "");
}

TEST(Tester, ARunWhoseEveryRowWasSkippedSaysWhy) {
  const TestedRun outcome =
      run_threads(2, small_plan({{.operation = Operation::all_reduce, .type = DataType::int64}}),
                  [](std::uint32_t) { return ThreadFaults{.unsupported = "no int64"}; });
  EXPECT_EQ(outcome.run.error, "");
  EXPECT_EQ(nothing_measured(outcome.run), "no int64");
}

TEST(Tester, WrongUsageOfAnyRanksLibraryIsWrongUsageOfTheRun) {
  for (const std::uint32_t wrong : {0U, 1U}) {
    const TestedRun outcome = run_threads(
        3, small_plan({{.operation = Operation::all_reduce}}), [wrong](std::uint32_t rank) {
          ThreadFaults faults;
          if (rank == wrong) {
            faults.at_open = [] { throw Error(Fault::usage, "no such GPU", "Take another."); };
          }
          return faults;
        });
    EXPECT_EQ(outcome.thrown, Fault::usage) << wrong;
    EXPECT_THAT(outcome.errors[2], HasSubstr("no such GPU"));
  }
}

TEST(Tester, RunsUntilTheMedianIsKnownOrTheTimeIsUp) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  plan.iterations = 0;
  plan.batch = 3;
  plan.budget = milliseconds(300);
  plan.min_iterations = 100'000'000;
  const TestedRun outcome = run_threads(2, plan);
  EXPECT_EQ(outcome.run.error, "");
  const Row& row = outcome.run.rows.at(0);
  EXPECT_FALSE(row.converged);
  EXPECT_EQ(row.numbers.median_level, 0.95) << "no look ended it";
  EXPECT_GT(row.iterations, 2);
  EXPECT_EQ(row.results.wrong_elements, 0);
}

TEST(Tester, ARowThatEndsByItselfEndsAtALook) {
  CollectivePlan plan = small_plan({{.operation = Operation::all_reduce, .count = 10}});
  plan.iterations = 0;
  plan.precision = 0.99;
  plan.budget = seconds(20);
  const TestedRun outcome = run_threads(2, plan);
  EXPECT_EQ(outcome.run.error, "");
  const Row& row = outcome.run.rows.at(0);
  EXPECT_TRUE(row.converged);
  EXPECT_EQ(row.iterations % 20, 0) << row.iterations;
  EXPECT_TRUE(std::has_single_bit(row.iterations / 20)) << row.iterations;
  EXPECT_LE(row.numbers.time.median_low_ns, row.numbers.time.p50_ns);
  EXPECT_GE(row.numbers.time.median_high_ns, row.numbers.time.p50_ns);
  EXPECT_EQ(row.numbers.median_level, 0.9975);
}

TEST(Tester, AnAnswerThatCannotBeIsTheFaultOfItsRank) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const std::vector<Lie> lies{
      [](Epoch& epoch) {
        epoch.stamps.assign(epoch.stamps.size(), {0, 0});
      },
      [](Epoch& epoch) { epoch.stamps.back().exit_ns = kMost; },
      [](Epoch& epoch) {
        epoch.stamps.front() = {2, 1};
      },
      [](Epoch& epoch) { epoch.checked.operations = kMost; },
      [](Epoch& epoch) { epoch.checked.wrong_operations = kMost; },
      [](Epoch& epoch) { epoch.checked.wrong_operations = 1; },
      [](Epoch& epoch) { epoch.checked.wrong_elements = kMost; },
  };
  for (const Lie& lie : lies) {
    const TestedRun outcome = run_threads(2, small_plan({{.count = 100}}), {}, lie);
    EXPECT_THAT(outcome.run.error,
                testing::AllOf(testing::StartsWith("rank 1 (h"), testing::Not(HasSubstr("hangs"))));
    EXPECT_THAT(outcome.run.blame.ranks, ElementsAre(1));
  }
}

TEST(RankGroup, ARankThatDoesNotComeIsNamed) {
  control::Listener listener("127.0.0.1", 0);
  EXPECT_THAT(complaint([&] {
                RankGroup::lead(listener, {.run_id = "t", .port = listener.port(), .addresses = {}},
                                3, {}, {}, Deadline::after(milliseconds(100)));
              }).what(),
              HasSubstr("rank 1, 2 did not connect"));
}

TEST(RankGroup, TheSeatOfARankThatLeavesIsFree) {
  control::Listener listener("127.0.0.1", 0);
  const control::BootstrapAddress address{
      .run_id = "t", .port = listener.port(), .addresses = {"127.0.0.1"}};
  const auto late = Deadline::after(seconds(20));
  auto leading = std::async(std::launch::async, [&] {
    return RankGroup::lead(listener, address, 2, {.host = "h"}, {}, late);
  });
  for (int i = 0; i < 2; ++i) {  // all that is missing, so that nobody else has to come
    const control::RankHello hello{.run_id = "t", .rank = 1, .size = 2};
    control::RankHello heartbeat = hello;
    heartbeat.channel = 1;
    const control::Admitted rogue = control::join_rank_0(address, hello, late);
    const control::Admitted beside = control::join_rank_0(address, heartbeat, late);
  }
  const auto joined = RankGroup::join(address, {1, 2}, {.rank = 1, .host = "honest"}, {}, late);
  EXPECT_NE(leading.get(), nullptr);
}

TEST(RankGroup, AStrangerIsSentAway) {
  control::Listener listener("127.0.0.1", 0);
  const control::BootstrapAddress bootstrap_address{
      .run_id = "t", .port = listener.port(), .addresses = {"127.0.0.1"}};
  control::BootstrapAddress wrong = bootstrap_address;
  wrong.run_id = "other";
  std::string error;
  std::thread stranger([&] {
    try {
      RankGroup::join(wrong, {1, 2}, {.rank = 1}, {}, Deadline::after(seconds(2)));
    } catch (const Error& thrown) {
      error = thrown.what();
    }
  });
  EXPECT_THROW(RankGroup::lead(listener, bootstrap_address, 2, {}, {}, Deadline::after(seconds(1))),
               Error);
  stranger.join();
  EXPECT_THAT(error, HasSubstr("another run"));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
