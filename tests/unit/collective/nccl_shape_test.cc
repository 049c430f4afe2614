#include "nccl_shape.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "commands.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective {
namespace {

Row row_of(Operation operation, std::uint64_t bytes, const char* algorithm = nullptr,
           const char* protocol = nullptr, std::uint64_t channels = 0) {
  Row row;
  row.call.operation = operation;
  row.size_bytes = bytes;
  row.bus_bytes_per_s = 1e9;
  if (algorithm != nullptr) row.facts.push_back({"algorithm", std::string(algorithm)});
  if (protocol != nullptr) row.facts.push_back({"protocol", std::string(protocol)});
  if (channels != 0) row.facts.push_back({"channels", channels});
  return row;
}

WireShape last_of(const Row& row, std::uint32_t ranks = 8, const NcclSettings& settings = {}) {
  return nccl_steps(row, ranks, settings, {}).back().shape;
}

std::string shape_text(const WireShape& shape) {
  return std::to_string(shape.size_bytes) + " x" + std::to_string(shape.in_flight) + " on " +
         std::to_string(shape.queue_pairs);
}

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;

TEST(NcclShape, IsThatOfTheAlgorithmAndTheProtocol) {
  const auto shape = [](auto... row) { return shape_text(last_of(row_of(row...))); };
  EXPECT_EQ(shape(Operation::all_reduce, kLarge, "RING", "SIMPLE", 2U), "1048576 x4 on 2");
  EXPECT_EQ(shape(Operation::all_reduce, kLarge, "TREE", "SIMPLE", 2U), "524288 x8 on 2");
  EXPECT_EQ(shape(Operation::all_reduce, kLarge, "RING", "LL", 2U), "65536 x8 on 2");
  EXPECT_EQ(shape(Operation::all_reduce, kLarge, "RING", "LL128", 2U), "614400 x8 on 2");
  EXPECT_EQ(shape(Operation::broadcast, kLarge, "RING", "SIMPLE", 4U), "524288 x8 on 4");
  EXPECT_EQ(shape(Operation::all_to_all, kLarge), "131072 x8 on 1");
  EXPECT_EQ(shape(Operation::all_gather, kLarge), "1048576 x4 on 1") << "nothing is known";
}

TEST(NcclShape, HasNoMessageThatIsLargerThanAChannelsPart) {
  EXPECT_EQ(last_of(row_of(Operation::all_reduce, 1 << 20, "RING", "SIMPLE", 2)).size_bytes,
            (1U << 20) / 8 / 2 / 2)
      << "two slices";
  EXPECT_EQ(last_of(row_of(Operation::all_reduce, 1 << 19, "RING", "SIMPLE", 2)).size_bytes, 32768U)
      << "a part smaller than two slices of a 32nd";
  EXPECT_EQ(last_of(row_of(Operation::all_reduce, 16 << 20, "TREE", "SIMPLE", 8), 512).size_bytes,
            512U << 10)
      << "each rank of a tree sends all";
  EXPECT_EQ(last_of(row_of(Operation::send_receive, 1 << 20), 64).size_bytes, 128U << 10);
  EXPECT_EQ(last_of(row_of(Operation::broadcast, 1 << 20, "RING", "SIMPLE", 4)).size_bytes,
            (1U << 20) / 4);
  EXPECT_EQ(last_of(row_of(Operation::all_reduce, 4, "RING", "LL", 1)).size_bytes, 1U);
}

TEST(NcclShape, ChangesOneThingAStep) {
  const Row row = row_of(Operation::all_reduce, kLarge, "TREE", "SIMPLE", 2);
  using testing::HasSubstr;
  std::vector<std::string> names;
  for (const auto& step : nccl_steps(row, 8, {.queue_pairs = 2}, {})) names.push_back(step.name);
  EXPECT_THAT(names, testing::ElementsAre(HasSubstr("512K"), HasSubstr("4 in flight"),
                                          HasSubstr("4 queue pairs (2 channels)"),
                                          HasSubstr("clear-to-send")));
  EXPECT_EQ(nccl_steps(row_of(Operation::all_gather, kLarge), 8, {}, {}).front().name,
            "4 in flight")
      << "the plain stream has messages of 1 MiB already";
}

TEST(NcclShape, FollowsNcclsSettings) {
  const auto read = [](std::map<std::string, std::string> set) {
    return nccl_settings([set](const char* name) -> const char* {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_EQ(read({}).buffer_bytes, 4U << 20);
  EXPECT_EQ(read({{"NCCL_BUFFSIZE", "8388608"}}).buffer_bytes, 8U << 20);
  EXPECT_EQ(read({{"NCCL_BUFFSIZE", "much"}}).buffer_bytes, 4U << 20);
  EXPECT_EQ(read({{"NCCL_IB_QPS_PER_CONNECTION", "4"}}).queue_pairs, 4U);
  EXPECT_EQ(read({{"NCCL_IB_QPS_PER_CONNECTION", "0"}}).queue_pairs, 1U);
}

TEST(NcclShape, ExplainsTheLargestRowOfAllRanks) {
  collective::Run run;
  EXPECT_EQ(explained_row(run), nullptr);
  run.rows = {row_of(Operation::all_reduce, 8), row_of(Operation::all_reduce, 64),
              row_of(Operation::all_reduce, 128), row_of(Operation::all_reduce, 256),
              row_of(Operation::all_reduce, 512, "NVLS", "SIMPLE")};
  run.rows[2].group = "halves 0-1";
  run.rows[3].bus_bytes_per_s.reset();
  EXPECT_EQ(explained_row(run), &run.rows[1]);
}

TEST(NcclShape, TravelsWithinBounds) {
  const std::vector<WireStep> steps{{.shape = {4096, 8, 2, true}}};
  const std::vector<WireStep> read = parse<std::vector<WireStep>>(to_text(steps));
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(shape_text(read[0].shape), "4096 x8 on 2");
  EXPECT_TRUE(read[0].shape.clear_to_send);
  const std::vector<WireStep> wide{{.shape = {4096, 8, kMaxWireQueuePairs + 1, true}}};
  EXPECT_THROW(parse<std::vector<WireStep>>(to_text(wide)), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
