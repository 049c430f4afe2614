// A back end that is not of this library, under its loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "../complaint.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/connect.h"
#include "rdmabench/run/patterns.h"
#include "rdmabench/run/worker.h"
#include "rdmabench/transport/loop/endpoint.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

/// The loop back end's endpoint under another name, and without an operation.
struct Foreign : transport::loop::Endpoint {
  using EndpointOf::EndpointOf;
  template <class Op>
  static constexpr bool supports = !std::is_same_v<Op, transport::FetchAdd>;
  transport::Description describe(std::uint64_t bytes = 0) const {
    transport::Description description = EndpointBase::describe(bytes);
    description.backend = "foreign";
    return description;
  }
};

Backend row_of(std::string_view name) {
  const Backend& loop = find_backend("loop");
  Backend row{{.name = name, .reaches_others = false}};
  row.offer = loop.offer;
  row.choose = loop.choose;
  return row;
}

void register_once() {
  static const bool registered = [] {
    add_backend<Foreign>(row_of("foreign"));
    return true;
  }();
  EXPECT_TRUE(registered);
}

TEST(OwnBackend, RunsEveryShapeOverIt) {
  register_once();
  EXPECT_THAT(backends(), Contains(Field(&Backend::name, "foreign")));
  for (const workload::Shape shape :
       {workload::Shape::latency, workload::Shape::bandwidth, workload::Shape::bidirectional}) {
    Config config = usual_config(shape);
    config.backend = "foreign";
    config.sizes = {64};
    config.stop = measure::StopRule::iterations(100);
    config.traffic.validate = true;
    config.traffic.watch = false;
    const report::Report report = run_in_process(config);
    EXPECT_EQ(report.error, std::nullopt);
    EXPECT_EQ(report.resolved.backend, "foreign");
  }
}

TEST(OwnBackend, AnOperationThatItLacksIsWrongUse) {
  register_once();
  Config config;
  config.backend = "foreign";
  config.traffic.operation = transport::OperationCode::fetch_add;
  config.sizes = {8};
  config.stop = measure::StopRule::iterations(10);
  config.traffic.watch = false;
  EXPECT_THAT(usage_complaint([&] { run_in_process(config); }), HasSubstr("fetch-add"));
}

/// Foreign, whose writes cannot be seen by polling, and which has nothing to tell of them.
struct Unseen : Foreign {
  using Foreign::Foreign;
  template <class Op>
  static constexpr bool supports = !Op::kImmediate;
  static transport::WriteOrder write_order() noexcept { return {}; }
};

TEST(OwnBackend, WhatIsTakenInPlaceOfAWriteIsNamedAsTheWrite) {
  add_backend<Unseen>(row_of("unseen"));
  Config config;
  config.backend = "unseen";
  config.traffic.operation = transport::OperationCode::write;
  config.sizes = {64};
  config.stop = measure::StopRule::iterations(10);
  config.traffic.watch = false;
  EXPECT_THAT(usage_complaint([&] { run_in_process(config); }),
              has_all("a write of this size is not", "no write-imm"));
  config.traffic.operation = transport::OperationCode::write_imm;
  EXPECT_THAT(usage_complaint([&] { run_in_process(config); }),
              has_all("`operation` write-imm is not"));
}

TEST(OwnBackend, AnInvalidOrKnownNameIsRefused) {
  register_once();
  for (const std::string_view name : {"", "auto", "Upper", "a/b", "verbs", "loop", "foreign"}) {
    const std::string said = usage_complaint([&] { add_backend<Foreign>(row_of(name)); });
    EXPECT_THAT(said, ::testing::HasSubstr("'" + std::string(name) + "'"));
  }
}

std::string said_of(const Config& config) {
  return usage_complaint([&] { run_in_process(config); });
}

TEST(OwnBackend, WithoutOfferOrChooseIsRefused) {
  Backend row = row_of("without-offer");
  row.offer = nullptr;
  EXPECT_THAT(usage_complaint([&] { add_backend<Foreign>(row); }), HasSubstr("`offer`"));
  row = row_of("without-choose");
  row.choose = nullptr;
  EXPECT_THAT(usage_complaint([&] { add_backend<Foreign>(row); }), HasSubstr("`choose`"));
}

TEST(OwnBackend, WhatItTakesIsOfTheList) {
  Backend row = row_of("takes-mtu");
  const std::string_view takes[] = {"events", "mtu"};
  row.takes = takes;
  EXPECT_THAT(usage_complaint([&] { add_backend<Foreign>(row); }), HasSubstr("'mtu'"));
}

TEST(OwnBackend, OptionsThatItDoesNotTakeAreRefused) {
  register_once();
  const auto refused = [](std::string_view what, auto change) {
    Config config = usual_config(workload::Shape::bandwidth);
    config.backend = "foreign";
    config.sizes = {64};
    config.stop = measure::StopRule::iterations(10);
    config.traffic.watch = false;
    change(config);
    EXPECT_THAT(said_of(config), has_all("'foreign'", what));
  };
  refused("`devices`", [](Config& c) { c.placement.devices = {"mlx5_0"}; });
  refused("`service` rc", [](Config& c) { c.endpoint.service = transport::Service::rc; });
  refused("memory 'huge'", [](Config& c) { c.placement.memory = "huge"; });
  refused("`gid_index`", [](Config& c) { c.placement.gid_index = 3; });
  refused("events", [](Config& c) { c.endpoint.events = true; });
  refused("scatter/gather", [](Config& c) { c.endpoint.segments = 2; });
  refused("second completion queue", [](Config& c) { c.endpoint.separate_queues = true; });
  refused("on-demand", [](Config& c) { c.endpoint.on_demand = true; });
  refused("relaxed ordering", [](Config& c) { c.endpoint.relaxed_ordering = true; });
  refused("`mtu`", [](Config& c) { c.endpoint.verbs.mtu = 1024; });
  refused("`provider`", [](Config& c) { c.endpoint.ofi.provider = "tcp"; });
  refused("`fabric`", [](Config& c) { c.placement.fabric = "efa"; });
}

/// Foreign, without what TransportDefaults has not.
struct Plain : Foreign {
  using Foreign::Foreign;
  static constexpr bool kManyQueuePairs = false, kPostLists = false;
};

TEST(OwnBackend, SeveralQueuePairsAndListsNeedItsTraits) {
  register_once();
  Backend row = row_of("plain");
  static constexpr std::string_view kTakes[] = {"service"};
  row.takes = kTakes;
  add_backend<Plain>(row);
  Config config = usual_config(workload::Shape::bandwidth);
  config.sizes = {64};
  config.stop = measure::StopRule::iterations(10);
  config.traffic.watch = false;
  config.backend = "plain";
  config.endpoint.service = transport::Service::rc;
  EXPECT_EQ(run_in_process(config).error, std::nullopt);
  config.endpoint.queue_pairs = 2;
  EXPECT_THAT(said_of(config), has_all("'plain'", "`queue_pairs` 2"));
  config.endpoint.queue_pairs = 1;
  config.endpoint.post_list = 4;
  EXPECT_THAT(said_of(config), has_all("'plain'", "`post_list` 4"));
  config.backend = "foreign";
  config.endpoint.service = transport::Service::automatic;
  EXPECT_EQ(run_in_process(config).error, std::nullopt);
}

/// Both sides of with_connected<Own...>(): what the client's ended with.
template <class... Own>
std::string connect_foreign(std::string& seen) {
  const auto soon = [] { return Deadline::after(std::chrono::seconds(5)); };
  control::Listener listener("127.0.0.1", 0);
  auto connecting = std::async(std::launch::async, [&] {
    return control::Channel::connect("127.0.0.1", listener.port(), soon());
  });
  control::Channel at_server = listener.accept(soon()).value();
  control::Channel at_client = connecting.get();
  const auto side = [&](control::Channel& channel, bool client) {
    transport::EndpointRequest request;
    request.client = client;
    request.timeout = std::chrono::seconds(3);
    return error_text([&] {
      with_connected<Own...>(channel, request, "foreign", [&](auto& endpoint) {
        if (client) seen = endpoint.describe().backend;
      });
    });
  };
  auto server = std::async(std::launch::async, [&] { return side(at_server, false); });
  std::string said = side(at_client, true);
  server.wait();
  return said;
}

TEST(OwnBackend, WithConnectedGivesItsEndpointToWhoNamesTheType) {
  register_once();
  std::string seen;
  EXPECT_EQ(connect_foreign<Foreign>(seen), "");
  EXPECT_EQ(seen, "foreign");
  EXPECT_THAT(connect_foreign(seen), has_all("'foreign'", "with_connected()"));
}

struct Ordered {
  static constexpr std::string_view kName = "example.com/ordered";
  static constexpr PatternNeeds kNeeds{
      .operations = transport::OperationCode::send, .ordered = true, .slots = 300};

  template <transport::Transport T, bool kValidate>
  static workload::EpochResult initiator(T& endpoint, const workload::EpochPlan& plan,
                                         workload::Watch& watch,
                                         std::span<measure::Ticks> intervals) noexcept {
    EXPECT_EQ(endpoint.send_region().slots, 300U);
    return workload::ping_pong_initiator<T, transport::Send>(endpoint, plan, watch, intervals);
  }

  template <transport::Transport T, bool kValidate>
  static workload::EpochResult target(T& endpoint, const workload::EpochPlan& plan,
                                      workload::Watch& watch,
                                      std::span<measure::Ticks> intervals) noexcept {
    return workload::ping_pong_target<T, transport::Send>(endpoint, plan, watch, intervals);
  }
};

TEST(OwnBackend, APatternOverItHasTheSlotsThatItNeeds) {
  register_once();
  add_pattern<Ordered, Foreign>();
  Config config;
  config.backend = "foreign";
  config.traffic.pattern = Ordered::kName;
  config.sizes = {64};
  config.stop = measure::StopRule::iterations(100);
  config.traffic.watch = false;
  const report::Report report = run_in_process(config);
  EXPECT_EQ(report.error, std::nullopt);
  ASSERT_EQ(report.latency().size(), 1U);

  // Several queue pairs keep no order.
  config.backend = "loop";
  config.endpoint.queue_pairs = 2;
  EXPECT_THAT(error_text([&] {
                const report::Report unordered = run_in_process(config);
                if (unordered.error) throw Error(Fault::usage, *unordered.error);
              }),
              has_all("example.com/ordered", "order"));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
