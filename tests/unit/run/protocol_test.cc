#include "run/protocol.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <type_traits>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "run/options.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Request sample() {
  Request request;
  request.spec.traffic.shape = workload::Shape::bandwidth;
  request.spec.traffic.operation = transport::OperationCode::write_imm;
  request.spec.max_size = 4096;
  request.spec.traffic.depth = 64;
  request.spec.traffic.signal_every = 16;
  request.spec.endpoint.ofi.provider = "tcp";
  request.spec.endpoint.ofi.delivery = true;
  request.spec.endpoint.ofi.shared_memory = true;
  request.spec.endpoint.verbs.path.traffic_class = 96;
  request.spec.endpoint.events = true;
  request.rails = {{{"verbs", "", "no device"}, {"ofi", "{}", ""}}};
  return request;
}

std::string refusal_with(const std::string& from, const std::string& to) {
  std::string text = to_text(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return complaint([&] { parse<Request>(text); }).what();
}

TEST(Protocol, ARequestSurvivesTheWire) {
  const Request got = parse<Request>(to_text(sample()));
  EXPECT_EQ(got.spec.traffic.shape, workload::Shape::bandwidth);
  EXPECT_EQ(got.spec.traffic.operation, transport::OperationCode::write_imm);
  EXPECT_EQ(got.spec.max_size, 4096U);
  EXPECT_EQ(got.spec.traffic.signal_every, 16U);
  EXPECT_EQ(got.spec.endpoint.inline_limit, -1);
  EXPECT_EQ(got.spec.endpoint.ofi.provider, "tcp");
  EXPECT_TRUE(got.spec.endpoint.ofi.delivery);
  EXPECT_TRUE(got.spec.endpoint.ofi.shared_memory);
  EXPECT_EQ(got.spec.timeout, std::chrono::seconds(10));
  EXPECT_EQ(got.spec.endpoint.verbs.path, sample().spec.endpoint.verbs.path);
  EXPECT_TRUE(got.spec.endpoint.events);
  ASSERT_EQ(got.rails.size(), 1U);
  ASSERT_EQ(got.rails[0].size(), 2U);
  EXPECT_EQ(got.rails[0][0].error, "no device");
}

TEST(Protocol, RefusesValuesThatWouldHarmTheServer) {
  EXPECT_THAT(refusal_with("\"max_size_bytes\":4096", "\"max_size_bytes\":99999999999"),
              HasSubstr("max_size_bytes"));
  EXPECT_THAT(refusal_with("\"depth\":64", "\"depth\":0"), HasSubstr("depth"));
  EXPECT_THAT(refusal_with("\"depth\":64", "\"depth\":4294967296"), HasSubstr("depth"));
  EXPECT_THAT(refusal_with("\"signal_every\":16", "\"signal_every\":65"),
              HasSubstr("`signal_every`"));
  EXPECT_THAT(refusal_with("{", "{\"queue_pairs\":1025,"), HasSubstr("queue_pairs"));
  EXPECT_THAT(refusal_with("{", "{\"incast_clients\":0,"), HasSubstr("clients"));
  EXPECT_THAT(refusal_with("{", "{\"threads\":0,"), HasSubstr("threads"));
  EXPECT_THAT(refusal_with("{", "{\"service\":\"rd\","), HasSubstr("service"));
  EXPECT_THAT(refusal_with("\"timeout_ms\":10000", "\"timeout_ms\":86400000"),
              HasSubstr("timeout"));
  EXPECT_THAT(refusal_with("\"write-imm\"", "\"format-disk\""), HasSubstr("format-disk"));
  EXPECT_THAT(refusal_with("\"bandwidth\"", "7"), HasSubstr("shape"));
}

TEST(Protocol, ARequestNamesTheOptionsThatAreNotAtTheirDefault) {
  const std::string text = to_text(Request{.spec = {}, .rails = {{{"verbs", "{}", ""}}}});
  EXPECT_EQ(text.find("queue_pairs"), std::string::npos);
  EXPECT_NE(to_text(sample()).find("\"depth\":64"), std::string::npos);
}

TEST(Protocol, RefusesAnOptionThatIsUnknownHere) {
  EXPECT_THAT(refusal_with("{", "{\"phase_of_the_moon\":1,"), HasSubstr("'phase_of_the_moon'"));
  EXPECT_THAT(refusal_with("{", "{\"devices\":[\"mlx5_0\"],"), HasSubstr("'devices'"))
      << "the client's own";
}

TEST(Protocol, AnEpochMayNotPassTheSession) {
  SessionSpec spec;
  spec.max_size = 64;
  EXPECT_EQ(parse<EpochOrder>(to_text(EpochOrder{64, 10}), &spec).iterations, 10U);
  EXPECT_THROW(parse<EpochOrder>(to_text(EpochOrder{65, 10}), &spec), Error);
  EXPECT_THROW(parse<EpochOrder>(to_text(EpochOrder{64, 0}), &spec), Error);
  EXPECT_THROW(parse<EpochOrder>(to_text(EpochOrder{64, kMaxEpoch + 1}), &spec), Error);
}

TEST(Protocol, OnlyWritesOfALatencyTestMayBeGivenAnImmediate) {
  const std::string order = to_text(EpochOrder{.size = 8, .iterations = 10, .immediate = true});
  SessionSpec spec;
  EXPECT_THROW(parse<EpochOrder>(order, &spec), Error) << "of sends";
  spec.traffic.operation = transport::OperationCode::write;
  EXPECT_TRUE(parse<EpochOrder>(order, &spec).immediate);
  spec.traffic.shape = workload::Shape::bandwidth;
  EXPECT_THROW(parse<EpochOrder>(order, &spec), Error) << "nobody polls in a stream";
}

TEST(Protocol, OnlyAStreamMayGrow) {
  const std::string order = to_text(EpochOrder{.size = 8, .iterations = 10, .grows = true});
  SessionSpec spec;
  EXPECT_THROW(parse<EpochOrder>(order, &spec), Error);
  spec.traffic.shape = workload::Shape::bandwidth;
  EXPECT_TRUE(parse<EpochOrder>(order, &spec).grows);
  EXPECT_THROW(parse<Extension>(to_text(Extension{kMaxEpoch + 1})), Error);
}

TEST(Protocol, RelaxedOrderingKeepsItsThreeValues) {
  for (const std::optional<bool> value :
       {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    Request request{.spec = {}, .rails = {{{"verbs", "{}", ""}}}};
    request.spec.endpoint.relaxed_ordering = value;
    EXPECT_EQ(parse<Request>(to_text(request)).spec.endpoint.relaxed_ordering, value);
  }
}

TEST(Protocol, FactsKeepTheirKindAndBadBytesDoNoHarm) {
  Introduction introduction{.addresses = {"a"},
                            .environment = {{"hostname", std::string("n\xff\xc2\x9b")},
                                            {"cpus", std::uint64_t{2}},
                                            {"ghz", 2.5},
                                            {"smt", true}},
                            .memory = MemoryPath::staged};
  const Introduction got = parse<Introduction>(to_text(introduction));
  ASSERT_EQ(got.environment.size(), 4U);
  EXPECT_EQ(ascii_only(std::get<std::string>(got.environment[0].value)),
            std::get<std::string>(got.environment[0].value));
  EXPECT_EQ(got.memory, MemoryPath::staged);
  EXPECT_EQ(std::get<std::uint64_t>(got.environment[1].value), 2U);
  EXPECT_EQ(std::get<double>(got.environment[2].value), 2.5);
  EXPECT_EQ(std::get<bool>(got.environment[3].value), true);
}

SessionSpec stream_of(std::uint64_t size) {
  SessionSpec spec;
  spec.traffic.shape = workload::Shape::bandwidth;
  spec.max_size = size;
  spec.traffic.depth = 128;
  spec.traffic.signal_every = 32;
  return spec;
}

TEST(Options, HaveNamesAndFlagsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::string_view> flags;
  for_each_option([&](const Option& option) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    if (option.flag.empty()) return;
    EXPECT_TRUE(flags.insert(option.long_flag()).second) << option.long_flag();
    EXPECT_FALSE(option.text.empty()) << option.name;
  });
}

TEST(Options, AreRefusedBeyondTheirBounds) {
  std::size_t refused = 0;
  for_each_option([&](const Option& option) {
    Config config;
    std::visit(
        [&](auto* value) {
          using T = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::optional<std::uint32_t>> ||
                        (std::is_integral_v<T> && !std::is_same_v<T, bool>)) {
            *value = static_cast<T>(option.bounds.max + 1);
            ++refused;
            EXPECT_THAT(complaint([&] { check_bounds(config); }, Fault::usage),
                        HasSubstr(fmt::format("invalid `{}`", option.name)));
          }
        },
        option.in(config));
  });
  EXPECT_GT(refused, 20U);
}

TEST(SlotPlan, FollowsFromWhatWasGiven) {
  using transport::OperationCode;
  struct Case {
    const char* what;
    void (*give)(SessionSpec& spec);
    SlotPlan plan;  // depth, receives, signals, list, slots to send, slots to receive, stride
  };
  constexpr auto kBandwidth = workload::Shape::bandwidth;
  const Case cases[] = {
      {"latency", [](SessionSpec&) {}, {16, 8, 8, 1, 16, 8, 64}},
      {"a stream",
       [](SessionSpec& s) { s.traffic.shape = kBandwidth, s.max_size = 4096; },
       {128, 512, 32, 1, 1, 1, 4096}},
      {"a depth",
       [](SessionSpec& s) { s.traffic.shape = kBandwidth, s.traffic.depth = 4; },
       {4, 512, 2, 1, 4, 64, 64}},
      {"all",
       [](SessionSpec& s) {
         s.traffic.depth = 9, s.traffic.receives = 3, s.traffic.signal_every = 5;
       },
       {9, 3, 5, 1, 9, 3, 64}},
      {"a list longer than the usual depth",
       [](SessionSpec& s) { s.traffic.shape = kBandwidth, s.endpoint.post_list = 200; },
       {200, 512, 32, 200, 64, 64, 64}},
      {"two posts of a message",
       [](SessionSpec& s) { s.traffic.operation = OperationCode::flush; },
       {32, 8, 8, 1, 16, 8, 64}},
      {"a word of each queue pair",
       [](SessionSpec& s) {
         s.traffic.operation = OperationCode::fetch_add, s.endpoint.queue_pairs = 100;
       },
       {16, 8, 8, 1, 100, 64, 64}},
      {"all is kept until it was compared",
       [](SessionSpec& s) {
         s.traffic.shape = kBandwidth, s.max_size = 1 << 20, s.traffic.validate = true,
         s.endpoint.post_list = 32;
       },
       {16, 16, 8, 16, 16, 16, 1 << 20}},
      {"messages that walk",
       [](SessionSpec& s) { s.traffic.working_set = 1 << 20, s.traffic.stride = 128; },
       {16, 8, 8, 1, 8192, 8192, 128}},
      {"messages off their line",
       [](SessionSpec& s) { s.max_size = 4096, s.endpoint.misalignment = 3; },
       {16, 8, 8, 1, 1, 1, 4160}},
  };
  for (const Case& one : cases) {
    SessionSpec spec;
    one.give(spec);
    EXPECT_EQ(plan_slots(spec), one.plan) << one.what;
  }
}

TEST(EndpointRequest, IsTheSameOnBothSidesButForTheRole) {
  const SessionSpec spec = stream_of(1 << 20);
  const auto client = endpoint_request(spec, true);
  const auto server = endpoint_request(spec, false);
  EXPECT_TRUE(client.client);
  EXPECT_FALSE(server.client);
  EXPECT_EQ(client.send_slots, server.send_slots);
  EXPECT_EQ(client.receives, server.receives);
}

TEST(EndpointRequest, KeepsWhatArrivesApartWhenItMustBeChecked) {
  SessionSpec spec = stream_of(1 << 20);
  EXPECT_EQ(endpoint_request(spec, true).receive_slots, 1U);
  spec.traffic.validate = true;
  const auto request = endpoint_request(spec, true);
  EXPECT_EQ(request.receives, request.receive_slots);
  EXPECT_EQ(request.receives, 16U);  // 16 MiB of them
  EXPECT_EQ(memory_of(request), std::uint64_t{48} << 20);
}

TEST(EndpointRequest, AsksForCompletionsWithinTheSlotsItMayFill) {
  SessionSpec spec = stream_of(1 << 20);
  spec.traffic.validate = true;
  for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{1} << 20, kMaxSize}) {
    spec.max_size = size;
    const auto request = endpoint_request(spec, true);
    EXPECT_LE(request.depth, request.send_slots);
    EXPECT_LE(request.signal_every, request.depth);
  }
}

TEST(EndpointRequest, EveryQueuePairHasASlotOfItsOwnWhenItMustBeChecked) {
  SessionSpec spec = stream_of(kMaxSize);
  spec.traffic.validate = true;
  spec.endpoint.queue_pairs = 4;
  const auto request = endpoint_request(spec, true);
  EXPECT_EQ(request.depth, 1U);
  EXPECT_EQ(request.send_slots, 4U);
}

TEST(EndpointRequest, MessagesWalkThroughTheWorkingSet) {
  SessionSpec spec = stream_of(4096);
  spec.traffic.working_set = 64 << 20;
  EXPECT_EQ(endpoint_request(spec, true).send_slots, 16384U);
  spec.traffic.stride = 8192;
  EXPECT_EQ(endpoint_request(spec, true).send_slots, 8192U);
  spec.endpoint.misalignment = 3;
  spec.traffic.stride = 0;
  EXPECT_EQ(endpoint_request(spec, true).slot_stride, 4160U);
}

/// "no error" of a request that is taken.
std::string refusal(const SessionSpec& spec) {
  return error_text(
      [&] {
        parse<Request>(to_text(Request{spec, {{}}}));
      },
      "no error", Fault::usage);
}

TEST(Combination, WhatVerbsForbidsIsRefusedByName) {
  using transport::OperationCode;
  using transport::Service;
  const auto pair = [](Service service, OperationCode operation) {
    SessionSpec spec = stream_of(8);
    spec.endpoint.service = service;
    spec.traffic.operation = operation;
    return refusal(spec);
  };
  for (const OperationCode operation :
       {OperationCode::read, OperationCode::fetch_add, OperationCode::compare_swap}) {
    EXPECT_THAT(pair(Service::uc, operation), HasSubstr("over uc"));
    EXPECT_THAT(pair(Service::ud, operation), HasSubstr("over ud"));
    EXPECT_EQ(pair(Service::rc, operation), "no error");
  }
  EXPECT_THAT(pair(Service::ud, OperationCode::write), HasSubstr("`operation` write over ud"));
  EXPECT_EQ(pair(Service::uc, OperationCode::write_imm), "no error");
  EXPECT_EQ(pair(Service::ud, OperationCode::send_imm), "no error");
}

TEST(Combination, WhatThisBuildLacksIsUnavailableBeforeAnythingIsOpened) {
  SessionSpec spec = stream_of(8);
  const auto fault = [&](transport::Service service) -> std::optional<Fault> {
    spec.endpoint.service = service;
    try {
      parse<Request>(to_text(Request{spec, {{}}}));
    } catch (const Error& error) {
      return error.fault();
    }
    return std::nullopt;
  };
  const auto expected = [](bool built) {
    return built ? std::nullopt : std::optional(Fault::unavailable);
  };
  EXPECT_EQ(fault(transport::Service::dc), expected(RDMABENCH_HAVE_MLX5 != 0));
  EXPECT_EQ(fault(transport::Service::srd), expected(RDMABENCH_HAVE_EFA != 0));
}

TEST(Combination, SrdHasNeitherAtomicsNorASharedReceiveQueue) {
  if (RDMABENCH_HAVE_EFA == 0) GTEST_SKIP() << "no libefa in this build";
  SessionSpec spec = stream_of(8);
  spec.endpoint.service = transport::Service::srd;
  spec.traffic.operation = transport::OperationCode::fetch_add;
  EXPECT_THAT(refusal(spec), HasSubstr("SRD has sends, writes and reads"));
  spec.traffic.operation = transport::OperationCode::send;
  spec.endpoint.verbs.shared_receives = true;
  EXPECT_THAT(refusal(spec), HasSubstr("`shared_receives` with `service` srd"));
  spec.endpoint.verbs.shared_receives = false;
  spec.endpoint.verbs.rdma_cm = true;
  EXPECT_THAT(refusal(spec), HasSubstr("rdma_cm with `service` srd"));
}

TEST(Combination, WishesThatExcludeEachOtherAreNamed) {
  const auto with = [](auto&& change) {
    SessionSpec spec = stream_of(64);
    change(spec);
    return refusal(spec);
  };
  using transport::OperationCode;
  using transport::Service;
  EXPECT_THAT(with([](SessionSpec& s) {
                s.traffic.shape = workload::Shape::latency;
                s.traffic.operation = OperationCode::write;
                s.endpoint.events = true;
              }),
              HasSubstr("`events`"));
  EXPECT_THAT(with([](SessionSpec& s) {
                s.traffic.shape = workload::Shape::latency;
                s.endpoint.post_list = 4;
              }),
              HasSubstr("`post_list` 4"));
  EXPECT_THAT(with([](SessionSpec& s) { s.traffic.operation = OperationCode::fetch_add; }),
              HasSubstr("64 bytes"));
  EXPECT_THAT(with([](SessionSpec& s) {
                s.endpoint.verbs.rdma_cm = true;
                s.endpoint.service = Service::uc;
              }),
              HasSubstr("rdma_cm"));
  EXPECT_THAT(with([](SessionSpec& s) { s.traffic.client_queue_pairs = 1; }), HasSubstr("`peers`"));
  EXPECT_THAT(with([](SessionSpec& s) { s.endpoint.segments = 32, s.max_size = 8; }),
              HasSubstr("`segments`"));
  EXPECT_THAT(with([](SessionSpec& s) { s.traffic.stride = 100; }),
              HasSubstr("`stride_bytes` 100"));
  EXPECT_THAT(with([](SessionSpec& s) { s.traffic.working_set = 8; }),
              HasSubstr("`working_set_bytes` 8"));
  EXPECT_THAT(with([](SessionSpec& s) { s.endpoint.post_list = 200; }),
              HasSubstr("`post_list` 200"));
  EXPECT_THAT(with([](SessionSpec& s) {
                s.endpoint.service = Service::ud;
                s.traffic.shape = workload::Shape::load;
              }),
              HasSubstr("load over ud"));
  EXPECT_THAT(with([](SessionSpec& s) { s.traffic.target_idle = true; }),
              HasSubstr("`target_idle`"));
  EXPECT_THAT(with([](SessionSpec& s) {
                s.endpoint.service = Service::rc;
                s.endpoint.ofi.provider = "tcp";
              }),
              HasSubstr("`provider` tcp"));
}

TEST(Combination, DeliveryIsRefusedWhereCompletionsSayNothingOfIt) {
  using transport::Service;
  SessionSpec spec = stream_of(64);
  spec.endpoint.ofi.delivery = true;
  for (const Service service : {Service::automatic, Service::rc, Service::rdm}) {
    spec.endpoint.service = service;
    EXPECT_EQ(refusal(spec), "no error") << transport::name(service);
  }
  for (const Service service : {Service::uc, Service::ud, Service::srd}) {
    if (service == Service::srd && RDMABENCH_HAVE_EFA == 0) continue;
    spec.endpoint.service = service;
    EXPECT_THAT(
        refusal(spec),
        AllOf(HasSubstr(fmt::format("`delivery` with `service` {}", transport::name(service))),
              HasSubstr("take `service` rc")));
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::run
