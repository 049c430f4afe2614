#include "nccltests/to_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "flags/flag.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

using collective::Call;
using collective::Operation;
using testing::ElementsAre;
using testing::HasSubstr;

const Tool& tool(const char* name) {
  return *find_tool_in(tools(), name);
}

Flags flags_of_sizes(std::uint64_t from, std::uint64_t to) {
  Flags flags;
  flags.min_bytes = from;
  flags.max_bytes = to;
  flags.step_factor = 2;
  return flags;
}

TEST(NcclTestsJob, OutOfPlaceComesBeforeInPlaceOfEverySize) {
  const std::vector<Call> all = calls(tool("all_reduce_perf"), flags_of_sizes(8, 16), 4);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].count, 2U);
  EXPECT_FALSE(all[0].in_place);
  EXPECT_TRUE(all[1].in_place);
  EXPECT_EQ(all[1].count, 2U);
  EXPECT_EQ(all[2].count, 4U);
}

TEST(NcclTestsJob, PartsAreWholeMultiplesOf16BytesButNeverNone) {
  const auto count = [](std::uint64_t size) {
    return calls(tool("all_gather_perf"), flags_of_sizes(size, size), 3)[0].count;
  };
  EXPECT_EQ(count(8), 1U) << "nccl-tests measures nothing here";
  EXPECT_EQ(count(1024), 84U) << "85.3 elements for each rank";
}

TEST(NcclTestsJob, ReductionsAndRootsOnlyWhereTheOperationHasThem) {
  Flags flags = flags_of_sizes(8, 8);
  flags.reductions = {collective::Reduction::sum, collective::Reduction::max};
  flags.root = -1;
  EXPECT_EQ(calls(tool("reduce_perf"), flags, 3).size(), 2U * 3 * 2);
  EXPECT_EQ(calls(tool("broadcast_perf"), flags, 3).size(), 3U * 2);
  EXPECT_EQ(calls(tool("all_gather_perf"), flags, 3).size(), 2U);
}

TEST(NcclTestsJob, BackToBackIsOneSampleAndTurnsThroughMaxbytesAsNcclTestsDoes) {
  Flags flags = flags_of_sizes(8, std::uint64_t{8} << 30);
  const auto amount = [&](std::uint64_t bytes) {
    const Call call{.operation = Operation::all_reduce, .count = bytes / 4};
    const collective::Amount all = to_job(tool("all_reduce_perf"), flags).plan.amount(call, 2);
    return std::vector<std::uint64_t>{all.batch, all.iterations, all.warmup, all.slots};
  };
  EXPECT_THAT(amount(8), ElementsAre(20U, 1U, 1U, 20U));
  EXPECT_THAT(amount(std::uint64_t{1} << 30), ElementsAre(20U, 1U, 1U, 8U)) << "8 fit into -e";
  EXPECT_THAT(amount(std::uint64_t{8} << 30), ElementsAre(20U, 1U, 1U, 1U));
  flags.iterations = 2000;
  EXPECT_THAT(amount(8), ElementsAre(1000U, 2U, 1U, 1000U)) << "1024 at most, and 2000 in all";
  flags.iterations = 20;
  flags.graph_launches = 3;
  EXPECT_THAT(amount(8), ElementsAre(60U, 1U, 0U, 20U)) << "launches of -G back to back";
  EXPECT_THAT(amount(std::uint64_t{1} << 30), ElementsAre(60U, 1U, 0U, 8U));
  flags.warmup = 5;
  EXPECT_EQ(to_job(tool("all_reduce_perf"), flags).nccl.graph_operations, 20U);
  EXPECT_EQ(to_job(tool("all_reduce_perf"), flags).nccl.plain_calls, 5U);
  collective::Run done;
  done.rows.push_back({.iterations = 1, .batch = 60});
  EXPECT_EQ(to_table(tool("all_reduce_perf"), flags, done).iterations, 20U);
  flags.graph_launches = 0;
  flags.warmup = 5;
  flags.blocking = 3;
  EXPECT_THAT(amount(std::uint64_t{4} << 30), ElementsAre(1U, 20U, 5U, 2U));
  flags.backend = "mpi";
  flags.blocking = 0;
  EXPECT_THAT(amount(std::uint64_t{256} << 20), ElementsAre(4U, 5U, 2U, 0U)) << "1 GiB of buffers";
}

collective::Run run_of(std::size_t ranks) {
  collective::Run run;
  run.library = {{"library", std::string("NCCL 2.28.9")}};
  run.ranks.resize(ranks);
  for (const bool in_place : {false, true}) {
    collective::Row row;
    row.call.count = 250'000;
    row.call.in_place = in_place;
    row.size_bytes = 1'000'000;
    row.iterations = 20;
    row.checked = true;
    row.numbers.ranks.resize(ranks);
    for (std::size_t i = 0; i < ranks; ++i) row.numbers.ranks[i].p50_ns = 100e3 * double(i + 1);
    run.rows.push_back(row);
  }
  return run;
}

TEST(NcclTestsJob, APairOfRowsBecomesOneByTheAverageThatWasAsked) {
  Flags flags;
  const auto time = [&](Average average) {
    flags.average = average;
    return to_table(tool("all_reduce_perf"), flags, run_of(3)).rows.at(0).out_of_place->time_us;
  };
  EXPECT_EQ(time(Average::rank_0), 100);
  EXPECT_EQ(time(Average::mean), 200);
  EXPECT_EQ(time(Average::min), 100);
  EXPECT_EQ(time(Average::max), 300);
  flags.average = Average::mean;
  const report::NcclTestsTable table = to_table(tool("all_reduce_perf"), flags, run_of(3));
  EXPECT_EQ(table.library, "22809");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(*table.rows[0].out_of_place->algorithm_gb_per_s, 5);
  EXPECT_DOUBLE_EQ(*table.rows[0].in_place->bus_gb_per_s, 5 * 4.0 / 3);
  EXPECT_EQ(table.rows[0].in_place->wrong, 0);
  EXPECT_DOUBLE_EQ(*table.average_bus_gb_per_s, 5 * 4.0 / 3);
}

TEST(NcclTestsJob, PlacementsThatLieApartAreMatchedBySize) {
  collective::Run run;
  run.ranks.resize(2);
  for (const bool in_place : {false, true}) {
    for (const std::uint64_t size : {8, 16}) {
      collective::Row row = run_of(2).rows[0];
      row.call.count = size / 4;
      row.call.in_place = in_place;
      row.size_bytes = size;
      row.batch = 3;
      row.numbers.ranks.assign(2, {});
      for (auto& rank : row.numbers.ranks) rank.p50_ns = double(size) * (in_place ? 1000 : 1e6);
      run.rows.push_back(row);
    }
  }
  const report::NcclTestsTable both = to_table(tool("all_reduce_perf"), {}, run);
  ASSERT_EQ(both.rows.size(), 2U);
  EXPECT_EQ(both.iterations, 60U) << "those that were done";
  EXPECT_EQ(both.rows[0].out_of_place->time_us, 8000);
  EXPECT_EQ(both.rows[0].in_place->time_us, 8);
  EXPECT_EQ(both.rows[1].in_place->time_us, 16);
  run.rows.erase(run.rows.begin(), run.rows.begin() + 2);
  const report::NcclTestsTable in = to_table(tool("all_reduce_perf"), {}, run);
  ASSERT_EQ(in.rows.size(), 2U) << "in place alone";
  EXPECT_FALSE(in.rows[0].out_of_place);
  EXPECT_EQ(in.rows[1].in_place->time_us, 16);
}

TEST(NcclTestsJob, TheStepIsThatOfTheSizes) {
  const auto step = [](const std::vector<std::uint64_t>& sizes) {
    Flags flags;
    set_sizes(flags, sizes);
    return std::vector<std::uint64_t>{flags.step_factor, flags.step_bytes};
  };
  EXPECT_THAT(step({8, 16, 32}), ElementsAre(2U, 0U));
  EXPECT_THAT(step({8, 16, 24}), ElementsAre(1U, 8U));
  EXPECT_THAT(step({8, 16, 40}), ElementsAre(1U, 0U));
  EXPECT_THAT(step({8}), ElementsAre(1U, 0U));
}

TEST(NcclTestsJob, OneRankHasNoBus) {
  const report::NcclTestsTable table = to_table(tool("all_reduce_perf"), {}, run_of(1));
  EXPECT_FALSE(table.rows[0].out_of_place->bus_gb_per_s);
  EXPECT_FALSE(table.average_bus_gb_per_s);
}

TEST(NcclTestsJob, WhatWasSkippedHasNoNumbers) {
  collective::Run run = run_of(2);
  run.rows[1].skipped = "NCCL has no all-to-all in place";
  const report::NcclTestsTable table = to_table(tool("alltoall_perf"), {}, run);
  EXPECT_TRUE(table.rows[0].out_of_place);
  EXPECT_FALSE(table.rows[0].in_place);
  EXPECT_THAT(report::to_nccl_tests(table), HasSubstr("    none      -1"));
  run.rows[0].skipped = "this NCCL has no f8e4m3";
  EXPECT_TRUE(to_table(tool("alltoall_perf"), {}, run).rows.empty());
}

TEST(NcclTestsJob, WrongElementsAreSummed) {
  collective::Run run = run_of(2);
  run.rows[0].results.wrong_elements = 3;
  run.rows[1].results.wrong_elements = 4;
  const report::NcclTestsTable table = to_table(tool("all_reduce_perf"), {}, run);
  EXPECT_EQ(table.out_of_bounds, 7U);
  EXPECT_EQ(table.rows[0].in_place->wrong, 4);
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::nccltests
