#include "rdmabench/collective/call.h"

#include <gmock/gmock.h>

#include "../complaint.h"
#include "collective/assemble.h"
#include "collective/mpi_backend.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::HasSubstr;

TEST(Words, AreReadAsTheyAreWritten) {
  for (std::size_t i = 0; i < kOperations; ++i) {
    const auto one = static_cast<Operation>(i);
    EXPECT_EQ(parse_operation(name(one)), one);
  }
  for (std::size_t i = 0; i < kDataTypes; ++i) {
    const auto one = static_cast<DataType>(i);
    EXPECT_EQ(parse_type(name(one)), one);
  }
  for (std::size_t i = 0; i < kReductions; ++i) {
    const auto one = static_cast<Reduction>(i);
    EXPECT_EQ(parse_reduction(name(one)), one);
  }
  EXPECT_EQ(parse_type("double"), DataType::float64);
  EXPECT_THROW(parse_type("flaot"), Error);
  EXPECT_EQ(parse_operation("AllReduce"), Operation::all_reduce);
  for (const char* near : {"allreduc", "all-reduc", "AllReduc"}) {
    EXPECT_THAT(complaint([&] { parse_operation(near); }).what(),
                HasSubstr("Did you mean all-reduce?"));
  }
}

TEST(Call, PublishedFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(Operation::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::reduce, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::send_receive, 8), 1);
}

TEST(Call, SizeIsThatOfNcclTests) {
  EXPECT_EQ(size_bytes({.operation = Operation::all_reduce, .count = 256}, 4), 1024);
  EXPECT_EQ(size_bytes({.operation = Operation::all_gather, .count = 64}, 4), 1024);
  for (std::size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 64U}) {
      for (const std::uint64_t bytes : {1U, 8U, 4096U, 1000000U}) {
        const std::uint64_t count = count_for(operation, DataType::float32, bytes, ranks);
        ASSERT_GE(count, 1);
        Call call{.operation = operation, .count = count};
        if (count > 1) {
          EXPECT_LE(size_bytes(call, ranks), bytes);
        }
        ++call.count;
        EXPECT_GT(size_bytes(call, ranks), bytes) << name(operation) << " " << ranks;
      }
    }
  }
}

TEST(Call, AllToAllVIsUnevenAndMeets) {
  const Call call{.operation = Operation::all_to_all_v, .count = 10};
  constexpr std::uint32_t kRanks = 6;
  std::uint64_t most = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    const Parts from = parts_sent(call, {rank, kRanks});
    const Parts to = parts_received(call, {rank, kRanks});
    most = std::max({most, from.total, to.total});
    least = std::min(least, from.total);
    for (std::uint32_t other = 0; other < kRanks; ++other) {
      EXPECT_EQ(from.counts[other], parts_received(call, {other, kRanks}).counts[rank]);
    }
  }
  EXPECT_LT(least, most);
  EXPECT_EQ(size_bytes(call, kRanks), most * 4);
}

TEST(CollectivePlan, RefusesWhatCannotBe) {
  EXPECT_THROW(check(CollectivePlan{}, 2), Error);
  CollectivePlan plan{.calls = {{.operation = Operation::broadcast, .root = 4}}};
  EXPECT_THROW(check(plan, 4), Error);
  plan.calls[0].root = 3;
  check(plan, 4);
  plan.batch = 0;
  EXPECT_THROW(check(plan, 4), Error);
}

TEST(Launcher, OneRankWhereItSaysMoreIsAnError) {
  const auto eight = [](const char* name) -> const char* {
    return std::string_view(name) == "OMPI_COMM_WORLD_SIZE" ? "8" : nullptr;
  };
  const control::JobPosition alone{.rank = 0, .size = 1, .host = "h", .source = "options"};
  EXPECT_THAT(complaint([&] { check_not_alone(alone, eight); }, Fault::usage),
              has_all("by options", "OMPI_COMM_WORLD_SIZE is 8"));
  check_not_alone(alone, [](const char*) -> const char* { return nullptr; });
}

TEST(Launcher, ChoosesTheMpi) {
  const auto with = [](std::string_view there) {
    return [there](const char* name) -> const char* { return there == name ? "2" : nullptr; };
  };
  EXPECT_EQ(launched_by(with("OMPI_COMM_WORLD_SIZE")), MpiKind::open_mpi);
  EXPECT_EQ(launched_by(with("PMI_SIZE")), MpiKind::mpich);
  EXPECT_EQ(launched_by(with("RANK")), std::nullopt);
}

TEST(Mpi, SaysWhereItLookedForAModule) {
  struct Alone final : Exchange {
    std::vector<std::string> all_gather(std::string_view mine, Deadline) override {
      return {std::string(mine)};
    }
    std::string broadcast(std::string_view text, Deadline) override { return std::string(text); }
  } exchange;
  MpiBackend backend({.module = "/nonexistent/module.so"});
  EXPECT_THAT(
      complaint([&] { backend.open({}, exchange, Deadline::after(std::chrono::seconds(1))); },
                Fault::unavailable),
      HasSubstr("/nonexistent/module.so: no such file"));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
