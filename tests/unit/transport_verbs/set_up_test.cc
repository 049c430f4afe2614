#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>

#include "messages.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::transport::verbs::set_up_test {
namespace {

using fake_verbs::Call;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class SetUp : public OnFakeVerbs {};

struct Step {
  std::string name;
  Call call;
  std::string text;  ///< what the error must name
};

void PrintTo(const Step& step, std::ostream* out) {
  *out << step.name;
}

class EverySetUpStep : public OnFakeVerbs, public testing::WithParamInterface<Step> {};

TEST_P(EverySetUpStep, MayFailAndLeavesNothingBehind) {
  every_failure<Endpoint>(small_request(), GetParam().call, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Endpoint, EverySetUpStep,
    testing::Values(Step{"ListDevices", Call::get_device_list, "ibv_get_device_list()"},
                    Step{"OpenDevice", Call::open_device, "ibv_open_device(rxe0)"},
                    Step{"QueryDevice", Call::query_device, "ibv_query_device(rxe0)"},
                    Step{"QueryPort", Call::query_port, "ibv_query_port(rxe0:1)"},
                    Step{"QueryGid", Call::query_gid, "ibv_query_gid(rxe0:1, index 1)"},
                    Step{"AllocateDomain", Call::alloc_pd, "ibv_alloc_pd(rxe0)"},
                    Step{"RegisterMemory", Call::reg_mr, "ibv_reg_mr(512 bytes)"},
                    Step{"CreateCompletionQueue", Call::create_cq,
                         "ibv_create_cq(rxe0, 9 entries)"},
                    Step{"ModifyQueuePair", Call::modify_qp, "ibv_modify_qp(to "},
                    Step{"PostReceive", Call::post_recv, "ibv_post_recv("}),
    [](const auto& step) { return step.param.name; });

TEST_F(SetUp, SurvivesADeviceThatTakesNoQueuePair) {
  const Choice choice = choice_for(small_request());
  EndpointRequest request = small_request();
  request.options.inline_limit = 0;  // else the failure would be taken for too much inline data
  fake_verbs::fail(Call::create_qp, 1, ENOMEM);
  EXPECT_THAT(complaint([&] { const Endpoint endpoint(request, choice.client); }).what(),
              HasSubstr("ibv_create_qp(rxe0: RC, 4 sends, 4 receives)"));
}

TEST_F(SetUp, ReportsWhatItOpened) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.max_inline = 64;
  device.max_reads = 4;
  fake_verbs::reset({device});
  const Pair pair;
  const Description description = pair.client.describe();
  EXPECT_EQ(description.backend, "verbs");
  EXPECT_EQ(description.device, "rxe0:1");
  EXPECT_EQ(description.transport, "rc");
  EXPECT_EQ(description.completion, "delivery");
  EXPECT_THAT(description.details, Contains(Fact("gid", "10.0.0.1")));
  EXPECT_THAT(description.details, Contains(Fact("link_layer", "Ethernet")));
  EXPECT_THAT(description.details, Contains(Fact("mtu", "1024")));
  EXPECT_THAT(description.details, Contains(Fact("inline", "64")));  // of 220
  EXPECT_THAT(description.details, Contains(Fact("max_rd_atomic", "4")));
  EXPECT_THAT(description.details, Contains(testing::Pair("path", HasSubstr("RoCE v2 GID 1"))));
  EXPECT_THAT(description.details, Contains(Fact("global_header", "true")));
}

TEST_F(SetUp, AsksForInlineDataOnlyForLatency) {
  EndpointRequest request = small_request();
  request.latency = false;
  EXPECT_THAT(Pair(request).client.describe().details, Contains(Fact("inline", "0")));
  request.options.inline_limit = 32;
  EXPECT_THAT(Pair(request).client.describe().details, Contains(Fact("inline", "32")));
  request.latency = true;
  request.max_size = 8;
  request.options.inline_limit = -1;
  EXPECT_THAT(Pair(request).client.describe().details, Contains(Fact("inline", "8")));
}

TEST_F(SetUp, AsksForNoInlineDataOfALibraryThatIgnoresIt) {
  const Folder sysfs;
  sysfs.link("device/driver", "/sys/bus/pci/drivers/mana");
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.sysfs = sysfs.path();
  fake_verbs::reset({device});
  EXPECT_THAT(Pair().client.describe().details,
              testing::AllOf(Contains(Fact("inline", "0")),
                             Contains(testing::Pair("reduced", HasSubstr("inline sends off")))));
}

TEST_F(SetUp, OnInfiniBandGoesByLid) {
  fake_verbs::reset({{.name = "mlx5_0",
                      .ports = {{.link_layer = IBV_LINK_LAYER_INFINIBAND,
                                 .active_mtu = IBV_MTU_4096,
                                 .lid = 7,
                                 .gids = {{0, "fe80::5", IBV_GID_TYPE_IB}}}}}});
  Pair pair;
  EXPECT_EQ(pair.client.post<Write>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1);
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("lid", "7")));
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("link_layer", "InfiniBand")));
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("global_header", "false")));
}

TEST_F(SetUp, NamesTheLimitThatTheRequestIsBeyond) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.max_qp_wr = 64;
  device.max_cqe = 100;
  fake_verbs::reset({device});
  const Choice choice = choice_for(small_request());
  const auto refusal = [&](auto&& change) {
    EndpointRequest request = small_request();
    change(request);
    const Error error = complaint([&] { const Endpoint endpoint(request, choice.client); });
    EXPECT_EQ(error.fault(), Fault::usage);
    return std::string(error.what());
  };
  EXPECT_THAT(refusal([](auto& request) { request.max_size = (1U << 23) + 1; }),
              has_all("8388609", "max_msg_sz is 8388608", "`sizes`"));
  EXPECT_THAT(refusal([](auto& request) { request.signal_every = 5; }),
              HasSubstr("`signal_every`"));
  EXPECT_THAT(refusal([](auto& request) { request.signal_every = 0; }),
              HasSubstr("`signal_every`"));
  EXPECT_THAT(refusal([](auto& request) { request.depth = 0; }), HasSubstr("at least 1"));
}

TEST_F(SetUp, OpensOnlyWhatWasChosen) {
  const auto refusal = [](const char* choice) {
    return std::string(complaint([&] { const Endpoint endpoint(small_request(), choice); }).what());
  };
  EXPECT_THAT(
      refusal(
          R"({"device":"rxe7","port":1,"index":1,"global":true,"mtu":1024,"mbps":0,"slower":"","bond":false,"reason":""})"),
      HasSubstr("'rxe7'"));
  EXPECT_THAT(
      refusal(
          R"({"device":"rxe0","port":2,"index":1,"global":true,"mtu":1024,"mbps":0,"slower":"","bond":false,"reason":""})"),
      HasSubstr("ibv_query_port(rxe0:2)"));
  EXPECT_THAT(
      refusal(
          R"({"device":"rxe0","port":1,"index":9,"global":true,"mtu":1024,"mbps":0,"slower":"","bond":false,"reason":""})"),
      HasSubstr("index 9"));
  EXPECT_THAT(
      refusal(R"({"device":"rxe0","port":1,"index":1,"global":true,"mtu":1500,"reason":""})"),
      HasSubstr("'mtu' is 1500"));
  EXPECT_THAT(refusal("\x1b[2J"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("no field 'device'"));
}

struct Absurdity {
  std::string name;
  std::string key;
  json value;  ///< null: the key is taken away
  std::string text;
};

void PrintTo(const Absurdity& absurdity, std::ostream* out) {
  *out << absurdity.name;
}

class AbsurdAddress : public OnFakeVerbs, public testing::WithParamInterface<Absurdity> {};

TEST_P(AbsurdAddress, IsRefusedBeforeItIsUsed) {
  const EndpointRequest request = small_request();
  const Choice choice = choice_for(request);
  Endpoint client(request, choice.client);
  const Endpoint server(other_side(request), choice.server);
  json address = json::parse(server.address());
  const Absurdity& absurdity = GetParam();
  const bool of_queue = address["queues"][0].contains(absurdity.key);
  json& object = of_queue ? address["queues"][0] : address;
  if (absurdity.value.is_null()) {
    object.erase(absurdity.key);
  } else {
    object[absurdity.key] = absurdity.value;
  }
  const Error error = complaint([&] { client.connect(address.dump()); });
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), HasSubstr(absurdity.text));
  client.connect(server.address());  // nothing was changed by the refused ones
}

constexpr std::uint64_t kHuge = ~std::uint64_t{0};

INSTANTIATE_TEST_SUITE_P(
    Peer, AbsurdAddress,
    testing::Values(
        Absurdity{"NoQueuePair", "qpn", 0, "'qpn' of the message is 0"},
        Absurdity{"QueuePairOf25Bits", "qpn", 1 << 24, "'qpn' of the message is 16777216"},
        Absurdity{"NegativeNumber", "qpn", -1, "'qpn' of the message is -1"},
        Absurdity{"FractionalNumber", "qpn", 1.5, "'qpn' of the message is 1.5"},
        Absurdity{"TextForANumber", "psn", "5", "'psn' of the message is \"5\""},
        Absurdity{"PacketNumberOf25Bits", "psn", 1 << 24, "'psn'"},
        Absurdity{"LargeLid", "lid", 1 << 16, "'lid'"},
        Absurdity{"NoAddress", "gid", "localhost", "'gid'"},
        Absurdity{"ControlCharacters", "gid", "\x1b[2J", "'gid' is '?[2J'"},
        Absurdity{"OddMtu", "mtu", 1500, "'mtu' is 1500"},
        Absurdity{"AnotherMtu", "mtu", 2048, "path MTU is 2048"},
        Absurdity{"KeyOf33Bits", "key", std::uint64_t{1} << 32, "'key'"},
        Absurdity{"WindowAtNull", "window", 0, "'window'"},
        Absurdity{"WindowThatWraps", "window", kHuge - 10, "'bytes'"},
        Absurdity{"ShortWindow", "bytes", 511, "511 bytes"},
        Absurdity{"EndlessWindow", "bytes", kHuge, "'bytes'"},
        Absurdity{"AnotherStride", "stride", 64, "slots of 64"},
        Absurdity{"NoQueues", "queues", json::array(), "'queues'"},
        Absurdity{"QueuesOfAnotherKind", "queues", json::array({1}), "no field 'qpn'"},
        Absurdity{"MoreQueuesThanQueuePairs", "queues", json::array({1, 2}), "'queues'"},
        Absurdity{"AnotherService", "service", "uc", "transport is uc"},
        Absurdity{"NoService", "service", "tcp", "'service'"},
        Absurdity{"FewerQueuePairs", "queue_pairs", 2, "2 queue pairs and this side 1"},
        Absurdity{"TooManyQueuePairs", "queue_pairs", 1 << 20, "'queue_pairs'"},
        Absurdity{"LargeListener", "listener", 1 << 16, "'listener'"},
        Absurdity{"NoManagerAddress", "manager", "here", "'manager'"},
        Absurdity{"MissingQueueNumber", "qpn", nullptr, "no field 'qpn'"},
        Absurdity{"MissingField", "stride", nullptr, "no field 'stride'"}),
    [](const auto& absurdity) { return absurdity.param.name; });

TEST_F(SetUp, RefusesAnAddressThatIsNone) {
  const Choice choice = choice_for(small_request());
  Endpoint client(small_request(), choice.client);
  for (const std::string& text : {std::string(), std::string("[]"), std::string(1 << 23, '['),
                                  std::string("{\"qpn\":"), std::string("\xff\xfe")}) {
    EXPECT_EQ(complaint([&] { client.connect(text); }).fault(), Fault::failed);
  }
}

TEST_F(SetUp, ConnectsOnlyOnce) {
  Pair pair;
  EXPECT_THAT(complaint([&] { pair.client.connect(pair.server.address()); }).what(),
              HasSubstr("twice"));
}

TEST_F(SetUp, SendsToNobodyThatTheOperatorDoesNotAllow) {
  const Choice choice = choice_for(small_request());
  const Endpoint client(small_request(), choice.client);
  EndpointRequest request = other_side(small_request());
  const auto serve = [&](const std::string& allow) {
    request.session = std::make_shared<SessionRequest>(
        SessionRequest{{}, AllowedPeers("192.0.2.7", "192.0.2.1", parse_allowed({&allow, 1}, {}))});
    Endpoint server(request, choice.server);
    server.connect(client.address());
  };
  EXPECT_THAT(error_text([&] { serve("198.51.100.0/24"); }),
              has_all("192.0.2.7 names 10.0.0.1", "--allow 10.0.0.1"));
  serve("10.0.0.0/8");
}

TEST_F(SetUp, StartsAtAPacketNumberOfItsOwn) {
  const Pair pair;
  const json client = json::parse(pair.client.address())["queues"][0];
  const json server = json::parse(pair.server.address())["queues"][0];
  EXPECT_LT(client["psn"].get<std::uint32_t>(), 1U << 24);
  EXPECT_NE(client["qpn"], server["qpn"]);
  EXPECT_EQ(fake_verbs::attributes(server["qpn"]).rq_psn, client["psn"]);
  EXPECT_EQ(fake_verbs::attributes(client["qpn"]).sq_psn, client["psn"]);
}

TEST_F(SetUp, AsksForNoMoreReadsThanThePeerAnswers) {
  const Choice choice = choice_for(small_request());
  Endpoint client(small_request(), choice.client);
  const Endpoint server(other_side(small_request()), choice.server);
  json address = json::parse(server.address());
  address["reads"] = 2;
  client.connect(address.dump());
  const std::uint32_t number = json::parse(client.address())["queues"][0]["qpn"];
  EXPECT_EQ(fake_verbs::attributes(number).max_rd_atomic, 2);
  EXPECT_EQ(fake_verbs::attributes(number).max_dest_rd_atomic, 128);
}

/// What `--require` asks for.
TEST_F(SetUp, TellsADriverInSoftwareFromADevice) {
  const SoftRoceFolder folder;
  fake_verbs::Device device = fake_verbs::soft_roce();
  EXPECT_THAT(Pair().client.describe().details, AllOf(Contains(Fact("rdma_write", "offloaded")),
                                                      Contains(Fact("rdma_read", "offloaded")),
                                                      Contains(Fact("shm_short_cut", "no"))));
  device.sysfs = folder.path();
  fake_verbs::reset({device});
  EXPECT_THAT(Pair().client.describe().details, AllOf(Contains(Fact("rdma_write", "emulated")),
                                                      Contains(Fact("rdma_read", "emulated")),
                                                      Contains(Fact("shm_short_cut", "no"))));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::set_up_test
