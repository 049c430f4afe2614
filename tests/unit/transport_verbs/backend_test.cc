#include "transport/verbs/backend.h"
#include "rdmabench/transport/verbs/endpoint.h"

#include <cerrno>
#include <nlohmann/json.hpp>

#include "pair.h"

namespace rdmabench::inline v1::transport::verbs::backend_test {
namespace {

using fake_verbs::Call;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Backend : public OnFakeVerbs {};

TEST_F(Backend, OffersTheGidsOfActivePorts) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.ports.push_back({.state = IBV_PORT_DOWN, .gids = {{0, "10.0.7.7"}}});
  fake_verbs::reset({device});
  const json text = json::parse(offer(small_request()));
  ASSERT_EQ(text["candidates"].size(), 2U);
  EXPECT_EQ(text["candidates"][1]["gid"], "10.0.0.1");
  EXPECT_EQ(text["candidates"][1]["port"], 1);
}

TEST_F(Backend, OffersOneCandidateForAnInfiniBandPort) {
  fake_verbs::reset(
      {{.name = "mlx5_0",
        .ports = {{.link_layer = IBV_LINK_LAYER_INFINIBAND,
                   .lid = 7,
                   .gids = {{0, "fe80::5", IBV_GID_TYPE_IB}, {1, "fe80::6", IBV_GID_TYPE_IB}}}}}});
  EXPECT_EQ(json::parse(offer(small_request()))["candidates"].size(), 1U);
}

TEST_F(Backend, OffersOnlyWhatTheUserAsksFor) {
  fake_verbs::Device second = fake_verbs::soft_roce();
  second.name = "rxe1";
  fake_verbs::reset({fake_verbs::soft_roce(), second});
  EndpointRequest request = small_request();
  request.device = "rxe1:1";
  request.gid_index = 0;
  const json text = json::parse(offer(request));
  ASSERT_EQ(text["candidates"].size(), 1U);
  EXPECT_EQ(text["candidates"][0]["device"], "rxe1");
  EXPECT_EQ(text["candidates"][0]["index"], 0);
  const Choice choice = choice_for(request);
  EXPECT_EQ(json::parse(choice.client)["index"], 0);
}

TEST_F(Backend, OffersTheGidsOfIpv6Alone) {
  EndpointRequest request = small_request();
  request.gid_index = kAnyIpv6Gid;
  fake_verbs::Device device = fake_verbs::soft_roce();
  fake_verbs::reset({device});
  const json text = json::parse(offer(request));
  ASSERT_EQ(text["candidates"].size(), 1U);
  EXPECT_EQ(text["candidates"][0]["gid"], "fe80::1");
  device.ports[0].gids = {{.index = 1, .address = "10.0.0.1"}};
  fake_verbs::reset({device});
  EXPECT_THAT(complaint([&] { offer(request); }).what(), HasSubstr("with a GID of IPv6"));
}

TEST_F(Backend, HasNothingToOfferWithoutADevice) {
  fake_verbs::reset({});
  const Error error = complaint([] { offer(small_request()); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  // The second where this machine has a device: the fake library does not show it.
  EXPECT_THAT(error.what(), AllOf(HasSubstr("no RDMA device"),
                                  AnyOf(HasSubstr("rdma link add"), HasSubstr("The kernel has"))));
}

TEST_F(Backend, SaysWhyNoPortCanBeUsed) {
  fake_verbs::Device down = fake_verbs::soft_roce();
  down.ports[0].state = IBV_PORT_DOWN;
  fake_verbs::Device iwarp = fake_verbs::soft_roce();
  iwarp.name = "iw0";
  iwarp.transport = IBV_TRANSPORT_IWARP;
  fake_verbs::reset({down, iwarp});
  EXPECT_THAT(complaint([] { offer(small_request()); }).what(),
              has_all("rxe0:1 down", "iw0:1 cannot connect RC", "rdma_cm"));
  fake_verbs::reset();
  EndpointRequest request = small_request();
  request.gid_index = 5;
  EXPECT_THAT(complaint([&] { offer(request); }).what(),
              has_all("GID index 5", "GIDs of index 0 1", "Give `gid_index` one of those"));
  fake_verbs::fail(Call::open_device, 1, EACCES);
  EXPECT_THAT(complaint([] { offer(small_request()); }).what(), HasSubstr("ibv_open_device(rxe0)"));
}

TEST_F(Backend, SaysWhatToTakeInPlaceOfAServiceThatNoDeviceHas) {
  fake_verbs::reset();
  EndpointRequest request = small_request();
  request.options.service = Service::srd;
  EXPECT_THAT(
      complaint([&] { offer(request); }).what(),
      AllOf(has_all("rxe0:1 has no SRD", "Take `service` rc."), Not(HasSubstr("Bring a port up"))));
}

TEST_F(Backend, OffersNoXrcOfADeviceWithout) {
  fake_verbs::Device without = fake_verbs::soft_roce();
  without.xrc = false;
  fake_verbs::Device with = fake_verbs::soft_roce();
  with.name = "mlx5_0";
  fake_verbs::reset({without, with});
  EndpointRequest request = small_request();
  request.options.service = Service::xrc;
  const json offered = json::parse(offer(request))["candidates"];
  ASSERT_EQ(offered.size(), 2U);
  for (const json& candidate : offered) EXPECT_EQ(candidate["device"], "mlx5_0");
  fake_verbs::reset({without});
  const Error error = complaint([&] { offer(request); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), has_all("rxe0:1 has no XRC (IBV_DEVICE_XRC)", "`service` rc"));
  request.options.service = Service::rc;
  EXPECT_EQ(json::parse(offer(request))["candidates"].size(), 2U);
}

TEST_F(Backend, TakesTheSmallerActiveMtuUnlessTold) {
  fake_verbs::Device wide = fake_verbs::soft_roce();
  wide.ports[0].active_mtu = IBV_MTU_4096;
  fake_verbs::reset({wide});
  const std::string wide_offer = offer(small_request());
  fake_verbs::reset();
  const std::string narrow_offer = offer(small_request());
  EndpointRequest request = small_request();
  Choice choice = choose(request, wide_offer, narrow_offer);
  EXPECT_EQ(json::parse(choice.client)["mtu"], 1024);
  EXPECT_EQ(json::parse(choice.server)["mtu"], 1024);
  request.options.verbs.mtu = 256;
  choice = choose(request, wide_offer, narrow_offer);
  EXPECT_EQ(json::parse(choice.server)["mtu"], 256);
  for (const int mtu : {2048, 1500, -1}) {
    request.options.verbs.mtu = mtu;
    const Error error = complaint([&] { choose(request, wide_offer, narrow_offer); });
    EXPECT_EQ(error.fault(), Fault::usage);
    EXPECT_THAT(error.what(), has_all(std::to_string(mtu), "active MTU 4096", "at most 1024"));
  }
}

/// For the origin of a computed line rate: of which end, and of its PCIe link, not its port.
TEST_F(Backend, NamesThePcieLinkThatIsSlowerThanThePorts) {
  const EndpointRequest request = small_request();
  const auto at = [&](int mbps, const char* least) {
    json offered = json::parse(offer(request));
    for (json& candidate : offered["candidates"]) {
      candidate.update({{"mbps", mbps}, {"least", least}});
    }
    return offered.dump();
  };
  const std::string client = at(2500, "");
  const auto slowed = [&](bool pcie) { return at(500, pcie ? "the PCIe link" : ""); };
  EXPECT_EQ(json::parse(choose(request, client, client).client)["slower"], "");
  EXPECT_EQ(json::parse(choose(request, client, slowed(false)).client)["slower"], "");
  const Choice choice = choose(request, client, slowed(true));
  EXPECT_THAT(json::parse(choice.client)["slower"], has_all("PCIe", "server's rxe0"));
  EXPECT_THAT(json::parse(choice.server)["slower"], has_all("PCIe", "server's rxe0"));
  EXPECT_THAT(json::parse(choose(request, slowed(true), client).client)["slower"],
              has_all("PCIe", "client's rxe0"));
  const Endpoint endpoint(request, choice.client);
  EXPECT_THAT(endpoint.describe().details,
              Contains(Fact("rate_of", json::parse(choice.client)["slower"])));
}

/// A card of two ports of 100 Gb/s that are one device.
TEST_F(Backend, CountsThePortsOfABondThatTheQueuePairsUse) {
  const Folder sysfs;
  const std::string card = "pci/0000:3b:00.";
  sysfs.link("mlx5_bond_0/device", "../" + card + "0");
  sysfs.link(card + "0/driver", "/sys/bus/pci/drivers/mlx5_core");
  sysfs.write(card + "0/infiniband/mlx5_bond_0/ports", "");
  sysfs.link(card + "0/net/eth0/master", "../../../../bond0");
  sysfs.write(card + "1/vendor", "0x15b3\n");
  sysfs.write("bond0/bonding/mode", "802.3ad 4\n");
  sysfs.link("bond0/lower_eth0/device", "../../" + card + "0");
  sysfs.link("bond0/lower_eth1/device", "../../" + card + "1");
  sysfs.write("mlx5_bond_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.name = "mlx5_bond_0";
  device.sysfs = sysfs.file("mlx5_bond_0");
  fake_verbs::reset({device});
  const auto facts = [](std::uint32_t queue_pairs) {
    EndpointRequest request = small_request();
    request.options.queue_pairs = queue_pairs;
    const Choice choice = choice_for(request);
    return GeneralEndpoint(request, choice.client).describe().details;
  };
  EXPECT_THAT(facts(1), AllOf(Contains(Fact("rate_gbps", "100")),
                              Contains(testing::Pair("rate_of", has_all("one port of the bond",
                                                                        "client's mlx5_bond_0"))),
                              Contains(Fact("rate_of_bond", "true"))));
  for (const std::uint32_t queue_pairs : {2U, 3U}) {
    EXPECT_THAT(facts(queue_pairs),
                AllOf(Contains(Fact("rate_gbps", "200")), Not(Contains(testing::Key("rate_of")))));
  }
  const auto lines = devices();
  EXPECT_THAT(lines.at(0).details,
              AllOf(Contains(Fact("rate", "200 Gb/s")),
                    Contains(Fact("queue_pair_rate", "100 Gb/s: one port of the bond"))));
}

TEST_F(Backend, RefusesOffersThatAreNone) {
  const EndpointRequest request = small_request();
  const std::string good = offer(request);
  EXPECT_THAT(complaint([&] { choose(request, good, "{}"); }).what(),
              has_all("server's verbs offer", "'candidates'"));
  EXPECT_THAT(complaint([&] { choose(request, "nonsense", good); }).what(),
              HasSubstr("client's verbs offer"));
  json many = json::parse(good);
  many["candidates"] = json(std::vector<int>(5000));
  EXPECT_THAT(complaint([&] { choose(request, good, many.dump()); }).what(), HasSubstr("5000"));
  std::string empty = R"({"candidates":[{})";
  for (int i = 0; i < 70000; ++i) empty += ",{}";
  EXPECT_THAT(complaint([&] { choose(request, good, empty + "]}"); }).what(),
              HasSubstr("more than 65536 values"));
  EXPECT_EQ(complaint([&] { choose(request, good, R"({"candidates":[]})"); }).fault(),
            Fault::unavailable);
  const auto refusal = [&](const char* key, const json& value) {
    json bad = json::parse(good);
    bad["candidates"][1][key] = value;
    return std::string(complaint([&] { choose(request, good, bad.dump()); }).what());
  };
  EXPECT_THAT(refusal("device", std::string(64, 'x')), HasSubstr("'device'"));
  EXPECT_THAT(refusal("device", "rxe\n0"), HasSubstr("'device'"));
  EXPECT_THAT(refusal("port", 256), HasSubstr("'port' of the message is 256"));
  EXPECT_THAT(refusal("index", 256), HasSubstr("'index' of the message is 256"));
  EXPECT_THAT(refusal("mtu", 0), HasSubstr("'mtu'"));
  EXPECT_THAT(refusal("lid", 65536), HasSubstr("'lid'"));
  EXPECT_THAT(refusal("mbps", ~std::uint64_t{0}), HasSubstr("'mbps'"));
  EXPECT_THAT(refusal("grh", 1), HasSubstr("'grh'"));
  EXPECT_THAT(refusal("type", "RoCE v9"), HasSubstr("'type'"));
  EXPECT_THAT(refusal("gid", 5), HasSubstr("'gid'"));
  EXPECT_THAT(refusal("prefix", 256), HasSubstr("'prefix'"));
  EXPECT_THAT(refusal("link", nullptr), HasSubstr("'link'"));
}

TEST_F(Backend, TakesNoPrefixLongerThanTheAddress) {
  json offered = json::parse(offer(small_request()));
  for (const int bits : {33, 255}) {
    offered["candidates"][1]["prefix"] = bits;
    EXPECT_THAT(choose(small_request(), offered.dump(), offered.dump()).reason,
                HasSubstr("10.0.0.1"));
  }
}

TEST_F(Backend, ListsEveryPortWithItsFacts) {
  const Folder sysfs;
  sysfs.write("ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
  fake_verbs::Device first = fake_verbs::soft_roce();
  first.sysfs = sysfs.path();
  fake_verbs::Device broken = fake_verbs::soft_roce();
  broken.name = "rxe1";
  fake_verbs::reset({first, broken});
  fake_verbs::fail(Call::open_device, 2, EACCES);
  const std::vector<DeviceInfo> lines = devices();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].backend, "verbs");
  EXPECT_EQ(lines[0].name, "rxe0:1");
  EXPECT_EQ(lines[0].state, "active");
  EXPECT_THAT(lines[0].details, Contains(Fact("link_layer", "Ethernet")));
  EXPECT_THAT(lines[0].details, Contains(Fact("rate", "2.5 Gb/s")));
  EXPECT_THAT(lines[0].details, Contains(Fact("node_guid", "0123456789abcdef")));
  EXPECT_THAT(lines[0].details, Contains(Fact("gid", "RoCE v2 GID 1 10.0.0.1")));
  EXPECT_EQ(lines[1].name, "rxe1");
  EXPECT_EQ(lines[1].state, "unavailable");
  EXPECT_THAT(lines[1].details, Contains(testing::Pair("fault", HasSubstr("EACCES"))));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::backend_test
