#include "rdmabench/verbs/device.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>

#include <cerrno>

#include "../complaint.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::HasSubstr;

Gid gid(std::string_view text) {
  return parse_gid(text).value();
}

TEST(Gid, ShowsAMappedIpv4AddressAsIpv4) {
  EXPECT_EQ(to_text(gid("10.0.0.1")), "10.0.0.1");
  EXPECT_EQ(to_text(gid("::ffff:10.0.0.1")), "10.0.0.1");
  EXPECT_TRUE(is_ipv4(gid("::ffff:10.0.0.1")));
  EXPECT_EQ(to_text(gid("fe80::1")), "fe80::1");
  EXPECT_FALSE(is_ipv4(gid("fd00::1")));
}

TEST(Gid, ParsesAddressesAndNothingElse) {
  EXPECT_EQ(gid("fe80::1%eth0"), gid("fe80::1"));
  EXPECT_EQ(parse_gid(""), std::nullopt);
  EXPECT_EQ(parse_gid("rxe0"), std::nullopt);
  EXPECT_EQ(parse_gid("10.0.0.256"), std::nullopt);
}

TEST(Gid, KnowsWhatStaysOnTheLink) {
  EXPECT_TRUE(is_link_local(gid("fe80::1")));
  EXPECT_TRUE(is_link_local(gid("169.254.3.4")));
  EXPECT_FALSE(is_link_local(gid("fd00::1")));
  EXPECT_FALSE(is_link_local(gid("10.0.0.1")));
  EXPECT_EQ(subnet_prefix(gid("fe80::1")), 0xfe80000000000000U);
}

TEST(GidType, IsTakenBackByItsParser) {
  for (const GidType type : {GidType::ib, GidType::roce_v1, GidType::roce_v2}) {
    EXPECT_EQ(parse_gid_type(name(type)), type);
  }
  EXPECT_EQ(parse_gid_type("RoCE v3"), std::nullopt);
}

TEST(ReadGidTable, GivesTheEntriesOfThePortWithTheirPrefix) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  const std::uint32_t loopback = if_nametoindex("lo");
  device.ports = {{.gids = {{.index = 3, .address = "127.0.0.1", .interface_index = loopback},
                            {.index = 0, .address = "fe80::1", .type = IBV_GID_TYPE_ROCE_V1}}},
                  {.gids = {{.index = 0, .address = "10.9.9.9"}}}};
  fake_verbs::reset({device});
  const Context context = open_device("rxe0");
  const std::vector<GidEntry> entries = read_gid_table(*context, 1);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].index, 0U);
  EXPECT_EQ(entries[0].prefix_length, -1);
  EXPECT_EQ(to_text(entries[0]), "RoCE v1 GID 0 fe80::1");
  EXPECT_EQ(to_text(entries[1]), "RoCE v2 GID 3 127.0.0.1/8 (lo)");
}

TEST(ReadGidTable, SaysWhoseTableCannotBeRead) {
  fake_verbs::reset();
  const Context context = open_device("rxe0");
  fake_verbs::fail(fake_verbs::Call::query_gid_table, 1, EIO);
  const Error error = complaint([&] { read_gid_table(*context, 1); });
  EXPECT_THAT(error.what(), HasSubstr("ibv_query_gid_table(rxe0)"));
  EXPECT_EQ(error.code(), EIO);
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
