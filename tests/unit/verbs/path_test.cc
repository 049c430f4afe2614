#include "verbs/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "../complaint.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Candidate roce(const std::string& device, std::uint32_t index, std::string_view address, int prefix,
               GidType type = GidType::roce_v2, double gbps = 100) {
  return {.device = device,
          .port = 1,
          .link_layer = LinkLayer::ethernet,
          .mtu = 4096,
          .gbps = gbps,
          .gid = {.index = index,
                  .gid = parse_gid(address).value(),
                  .type = type,
                  .interface = "eth0",
                  .prefix_length = prefix}};
}

Candidate infiniband(const std::string& device, std::uint32_t lid,
                     std::string_view gid = "fe80::1") {
  return {.device = device,
          .port = 1,
          .link_layer = LinkLayer::infiniband,
          .mtu = 4096,
          .lid = lid,
          .gbps = 400,
          .gid = {.index = 0, .gid = parse_gid(gid).value(), .type = GidType::ib}};
}

/// A routing table: destination to source.
RouteSource routes(const std::map<std::string, std::string>& table = {}) {
  return [table](const Gid& destination) -> std::optional<Gid> {
    const auto found = table.find(to_text(destination));
    return found == table.end() ? std::nullopt : parse_gid(found->second);
  };
}

struct Case {
  std::string name;
  std::vector<Candidate> client;
  std::vector<Candidate> server;
  std::map<std::string, std::string> routes = {};
  std::string client_ip = {};
  std::string server_ip = {};
  std::string chosen_client;  ///< address, or device where the addresses are the same
  std::string chosen_server;
  std::string reason;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class ChoosePath : public testing::TestWithParam<Case> {};

TEST_P(ChoosePath, TakesTheBestPair) {
  const Case& each = GetParam();
  const Path path =
      choose_path(each.client, each.server, {parse_gid(each.client_ip), parse_gid(each.server_ip)},
                  routes(each.routes));
  EXPECT_EQ(path.client->device + " " + to_text(path.client->gid.gid), each.chosen_client);
  EXPECT_EQ(path.server->device + " " + to_text(path.server->gid.gid), each.chosen_server);
  EXPECT_THAT(path.reason, HasSubstr(each.reason));
  EXPECT_TRUE(path.global);
}

const Case kCases[] = {
    {.name = "RoceV2BeforeV1",
     .client = {roce("a", 0, "10.0.0.1", 24, GidType::roce_v1), roce("a", 1, "10.0.0.1", 24)},
     .server = {roce("b", 0, "10.0.0.2", 24, GidType::roce_v1), roce("b", 1, "10.0.0.2", 24)},
     .chosen_client = "a 10.0.0.1",
     .chosen_server = "b 10.0.0.2",
     .reason = "RoCE v2 GID 1 10.0.0.1 (a:1) to 10.0.0.2: same subnet"},
    {.name = "RoceV1WhereOneSideHasNoV2",
     .client = {roce("a", 0, "10.0.0.1", 24, GidType::roce_v1)},
     .server = {roce("b", 1, "10.0.0.2", 24), roce("b", 4, "10.0.0.2", 24, GidType::roce_v1)},
     .chosen_client = "a 10.0.0.1",
     .chosen_server = "b 10.0.0.2",
     .reason = "RoCE v1 GID 0"},
    {.name = "LinkLocalLast",
     .client = {roce("a", 0, "fe80::1", 64), roce("a", 1, "10.0.0.1", 24)},
     .server = {roce("b", 0, "fe80::2", 64), roce("b", 1, "10.0.0.2", 24)},
     .chosen_client = "a 10.0.0.1",
     .chosen_server = "b 10.0.0.2",
     .reason = "same subnet"},
    {.name = "LinkLocalWhereThereIsNothingElse",
     .client = {roce("a", 0, "fe80::1", -1), roce("a", 1, "10.0.0.1", 24)},
     .server = {roce("b", 0, "fe80::2", -1), roce("b", 1, "fd00::2", 64)},
     .chosen_client = "a fe80::1",
     .chosen_server = "b fe80::2",
     .reason = "link-local, as on every network"},
    {.name = "SameAddressFamily",
     .client = {roce("a", 1, "10.0.0.1", 24), roce("a", 2, "fd00::1", 64)},
     .server = {roce("b", 1, "fd00::2", 64)},
     .chosen_client = "a fd00::1",
     .chosen_server = "b fd00::2",
     .reason = "RoCE v2 GID 2 fd00::1"},
    {.name = "SameSubnetAmongMany",
     .client = {roce("a", 1, "10.0.0.1", 24), roce("a2", 1, "10.0.1.1", 24)},
     .server = {roce("b", 1, "10.0.1.2", 24), roce("b2", 1, "10.0.7.2", 24)},
     .chosen_client = "a2 10.0.1.1",
     .chosen_server = "b 10.0.1.2",
     .reason = "same subnet"},
    {.name = "SubnetByEitherSidesPrefix",
     .client = {roce("a", 1, "10.0.0.1", -1), roce("a2", 1, "10.0.1.1", -1)},
     .server = {roce("b", 1, "10.0.1.2", 23)},
     .chosen_client = "a 10.0.0.1",
     .chosen_server = "b 10.0.1.2",
     .reason = "same subnet"},
    {.name = "TheRouteAmongAddressesOfOneSubnet",
     .client = {roce("a", 1, "10.0.0.1", 24), roce("a2", 1, "10.0.0.9", 24)},
     .server = {roce("b", 1, "10.0.0.2", 24)},
     .routes = {{"10.0.0.2", "10.0.0.9"}},
     .chosen_client = "a2 10.0.0.9",
     .chosen_server = "b 10.0.0.2",
     .reason = "on the route, same subnet"},
    {.name = "TheRouteThroughARouter",
     .client = {roce("a", 1, "10.0.0.1", 24), roce("a2", 1, "10.0.9.1", 24)},
     .server = {roce("b", 1, "172.16.0.2", 24)},
     .routes = {{"172.16.0.2", "10.0.9.1"}},
     .chosen_client = "a2 10.0.9.1",
     .chosen_server = "b 172.16.0.2",
     .reason = "on the route"},
    {.name = "AnIpv6Route",
     .client = {roce("a", 1, "2001:db8::1", 64), roce("a2", 1, "2001:db8:1::1", 64)},
     .server = {roce("b", 1, "2001:db8:2::2", 64)},
     .routes = {{"2001:db8:2::2", "2001:db8:1::1"}},
     .chosen_client = "a2 2001:db8:1::1",
     .chosen_server = "b 2001:db8:2::2",
     .reason = "on the route"},
    {.name = "TheEndsOfTheControlConnection",
     .client = {roce("a", 1, "10.0.0.1", 24), roce("a2", 1, "10.0.1.1", 24)},
     .server = {roce("b", 1, "10.0.0.2", 24), roce("b2", 1, "10.0.1.2", 24)},
     .client_ip = "10.0.1.1",
     .server_ip = "::ffff:10.0.1.2",
     .chosen_client = "a2 10.0.1.1",
     .chosen_server = "b2 10.0.1.2",
     .reason = "10.0.1.2"},
    {.name = "TheFasterLink",
     .client = {roce("a", 1, "10.0.0.1", 24, GidType::roce_v2, 25), roce("a2", 1, "10.0.1.1", 24)},
     .server = {roce("b", 1, "10.0.0.2", 24, GidType::roce_v2, 25), roce("b2", 1, "10.0.1.2", 24)},
     .client_ip = "192.168.0.1",
     .server_ip = "192.168.0.2",
     .chosen_client = "a2 10.0.1.1",
     .chosen_server = "b2 10.0.1.2",
     .reason = "same subnet"},
    {.name = "TheSameDeviceOnBothSides",
     .client = {roce("m0", 1, "10.0.0.1", 16), roce("m1", 1, "10.0.1.1", 16)},
     .server = {roce("m1", 1, "10.0.1.2", 16), roce("m2", 1, "10.0.2.2", 16)},
     .chosen_client = "m1 10.0.1.1",
     .chosen_server = "m1 10.0.1.2",
     .reason = "same subnet"},
    {.name = "OneMachineWithItself",
     .client = {roce("rxe0", 0, "fe80::1", 64), roce("rxe0", 1, "10.0.0.1", 24)},
     .server = {roce("rxe0", 0, "fe80::1", 64), roce("rxe0", 1, "10.0.0.1", 24)},
     .routes = {{"10.0.0.1", "10.0.0.1"}},
     .client_ip = "127.0.0.1",
     .server_ip = "127.0.0.1",
     .chosen_client = "rxe0 10.0.0.1",
     .chosen_server = "rxe0 10.0.0.1",
     .reason = "on the route, same subnet"},
    {.name = "UnrelatedNetworksAsALastResort",
     .client = {roce("a", 1, "10.0.0.1", 24)},
     .server = {roce("b", 1, "172.16.0.2", 24)},
     .chosen_client = "a 10.0.0.1",
     .chosen_server = "b 172.16.0.2",
     .reason = "no known route or common subnet"},
};

INSTANTIATE_TEST_SUITE_P(Roce, ChoosePath, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST(ChooseInfiniBandPath, GoesByLidWithinTheSubnet) {
  const Candidate client[] = {roce("e", 1, "10.0.0.1", 24), infiniband("m", 3)};
  const Candidate server[] = {roce("e", 1, "10.0.0.2", 24), infiniband("m", 9, "fe80::2")};
  const Path path = choose_path(client, server, {}, routes());
  EXPECT_EQ(path.client, &client[1]);
  EXPECT_EQ(path.server, &server[1]);
  EXPECT_FALSE(path.global);
  EXPECT_THAT(path.reason,
              has_all("m:1 LID 3 to LID 9", "subnet fe80000000000000", "default of every fabric"));
}

// Two rails that no cable joins, each with a subnet manager that left the default prefix.
TEST(ChooseInfiniBandPath, TakesTheRailOfTheNameWhereThePrefixIsTheDefault) {
  const Candidate client[] = {infiniband("mlx5_1", 3, "fe80::11")};
  Candidate server[] = {infiniband("mlx5_0", 9, "fe80::20"), infiniband("mlx5_1", 9, "fe80::21")};
  server[1].gbps = 200;  // the faster one is of the other rail
  const Path path = choose_path(client, server, {}, routes());
  EXPECT_EQ(path.server, &server[1]);
  EXPECT_THAT(path.reason, has_all("; of 200 Gb/s", "mlx5_1:1 to mlx5_0:1 has 400 Gb/s"));
  server[1].gbps = 400;  // nothing was passed over
  EXPECT_THAT(choose_path(client, server, {}, routes()).reason,
              EndsWith("default of every fabric"));
}

TEST(ChooseInfiniBandPath, TakesTheFasterLinkOfASubnetThatIsKnown) {
  const Candidate client[] = {infiniband("mlx5_1", 3, "fec0:0:0:7::11")};
  Candidate server[] = {infiniband("mlx5_0", 9, "fec0:0:0:7::20"),
                        infiniband("mlx5_1", 10, "fec0:0:0:7::21")};
  server[1].gbps = 200;
  const Path path = choose_path(client, server, {}, routes());
  EXPECT_EQ(path.server, &server[0]);
  EXPECT_EQ(path.reason, "InfiniBand mlx5_1:1 LID 3 to LID 9, subnet fec0000000000007");
}

TEST(ChooseInfiniBandPath, PrefersASubnetThatIsKnown) {
  const Candidate client[] = {infiniband("a", 3), infiniband("b", 4, "fec0:0:0:7::11")};
  const Candidate server[] = {infiniband("a", 9, "fe80::2"), infiniband("c", 4, "fec0:0:0:7::12")};
  EXPECT_EQ(choose_path(client, server, {}, routes()).server, &server[1]);
}

TEST(ChooseInfiniBandPath, CarriesTheGlobalHeaderWhereOneSideNeedsIt) {
  const Candidate client[] = {infiniband("m", 3)};
  Candidate server[] = {infiniband("m", 9, "fe80::2")};
  server[0].needs_grh = true;
  const Path path = choose_path(client, server, {}, routes());
  EXPECT_TRUE(path.global);
  EXPECT_THAT(path.reason, HasSubstr("global header"));
}

TEST(ChooseInfiniBandPath, DoesNotLeaveTheSubnetOrUseAPortWithoutLid) {
  const Candidate client[] = {infiniband("m", 3)};
  const Candidate elsewhere[] = {infiniband("m", 9, "fec0:0:0:7::2")};
  const Candidate without_lid[] = {infiniband("m", 0, "fe80::2")};
  EXPECT_THAT(complaint([&] { choose_path(client, elsewhere, {}, routes()); }).what(),
              has_all("LID 3 subnet fe80000000000000", "fec0000000000007"));
  EXPECT_EQ(complaint([&] { choose_path(client, without_lid, {}, routes()); }).fault(),
            Fault::unavailable);
}

TEST(ChooseNoPath, ListsWhatBothSidesHave) {
  const Candidate client[] = {roce("a", 0, "fe80::1", 64), roce("a", 1, "10.0.0.1", 24)};
  const Candidate server[] = {roce("b", 3, "10.0.0.2", 24, GidType::roce_v1),
                              roce("b", 5, "fd00::2", 64)};
  const Error error = complaint([&] { choose_path(client, server, {}, routes()); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(),
              AllOf(has_all("client has: a:1 RoCE v2 GID 0 fe80::1/64 (eth0), a:1 RoCE v2 GID 1",
                            "server has: b:1 RoCE v1 GID 3 10.0.0.2/24 (eth0)", "`gid_index`"),
                    Not(HasSubstr("more"))));
}

TEST(ChooseNoPath, KeepsALongListShort) {
  const std::vector<Candidate> client(20, roce("a", 1, "10.0.0.1", 24));
  const Error error = complaint([&] { choose_path(client, {}, {}, routes()); });
  EXPECT_THAT(error.what(), has_all("and 12 more", "server has: none"));
}

TEST(KernelRoute, OfTheLoopbackAddressIsItself) {
  EXPECT_EQ(route_source(parse_gid("127.0.0.1").value()), parse_gid("127.0.0.1"));
  EXPECT_EQ(route_source(parse_gid("fe80::1").value()), std::nullopt);  // on which link?
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
