#include "device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

using testing::HasSubstr;

std::string refusal(const std::vector<RankInfo>& ranks, bool many_allowed = false) {
  return error_text([&] { check_distinct(ranks, many_allowed); });
}

TEST(DeviceChoice, CountsRanksOfTheSameHost) {
  const std::vector<RankInfo> ranks{{"a", "", ""}, {"b", "", ""}, {"a", "", ""}, {"a", "", ""}};
  EXPECT_EQ(local_rank(ranks, 0), 0U);
  EXPECT_EQ(local_rank(ranks, 1), 0U);
  EXPECT_EQ(local_rank(ranks, 3), 2U);
}

TEST(DeviceChoice, TwoRanksOnOneGpuAreRefusedWithTheRecipe) {
  const std::vector<RankInfo> ranks{
      {"a", "", "0000:1b:00.0"}, {"b", "", "0000:1b:00.0"}, {"a", "", "0000:1b:00.0"}};
  EXPECT_THAT(refusal(ranks), HasSubstr("ranks 0 and 2 are on one GPU, 0000:1b:00.0"));
  EXPECT_THAT(refusal(ranks), HasSubstr("NCCL_HOSTID"));
  EXPECT_EQ(refusal(ranks, true), "");
}

TEST(DeviceChoice, AHostIdMakesTwoHostsOfOneAndOneOfTwo) {
  EXPECT_EQ(refusal({{"a", "x", "0000:1b:00.0"}, {"a", "y", "0000:1b:00.0"}}), "");
  EXPECT_EQ(refusal({{"a", "x", "0000:1b:00.0"}, {"a", "", "0000:1b:00.0"}}), "");
  EXPECT_NE(refusal({{"a", "x", "0000:1b:00.0"}, {"b", "x", "0000:1b:00.0"}}), "");
}

TEST(DeviceChoice, TheOneGpuThatIsVisibleIsTakenWhateverTheLocalRank) {
  std::vector<gpu::DeviceInfo> visible(1);
  visible[0].pci_address = "0000:43:00.0";
  EXPECT_EQ(device_of(0, visible).pci_address, "0000:43:00.0");
  EXPECT_EQ(device_of(3, visible).pci_address, "0000:43:00.0");
  visible.emplace_back();
  visible[1].pci_address = "0000:52:00.0";
  EXPECT_EQ(device_of(1, visible).pci_address, "0000:52:00.0");
  EXPECT_THAT(usage_complaint([&] { device_of(2, visible); }),
              has_all("rank 2 ", "no GPU", "are 2"));
}

TEST(DeviceChoice, ARankIsReadBack) {
  const RankInfo info = parse_rank_info(to_text({"host id", "mine", "0000:1b:00.0"}));
  EXPECT_EQ(info.host, "host id");
  EXPECT_EQ(info.host_id, "mine");
  EXPECT_EQ(info.pci, "0000:1b:00.0");
}

TEST(DeviceChoice, ARankIsNotTrusted) {
  EXPECT_THROW(parse_rank_info(""), Error);
  EXPECT_THROW(parse_rank_info("one line"), Error);
  EXPECT_THROW(parse_rank_info(std::string(5000, 'x') + "\n\n"), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
