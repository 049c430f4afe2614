// What a request becomes on a device: refused, reduced, or taken.
#include "pair.h"
#include "rdmabench/features.h"

namespace rdmabench::inline v1::transport::verbs::plan_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Change = void (*)(EndpointRequest&);
using DeviceChange = void (*)(fake_verbs::Device&);

/// The endpoint of the type that the request gets.
std::string open(const EndpointRequest& request, const Choice& choice) {
  return with_endpoint_type(request, [&](auto type) {
    const typename decltype(type)::type endpoint(request, choice.client);
    std::string reduced;
    for (const auto& [key, value] : endpoint.describe().details) {
      if (key == "reduced") reduced = value;
    }
    return fmt::format("depth {}, receives {}: {}", endpoint.depth(), endpoint.receives(), reduced);
  });
}

struct Refusal {
  std::string name;
  Change change;
  Fault fault;
  std::string text;
  std::string remedy;
  DeviceChange device = [](fake_verbs::Device&) {};
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

/// As a device with two transports, of which each has something else.
void pages_sends(fake_verbs::Device& device) {
  device.on_demand = {
      .general_caps = IBV_ODP_SUPPORT,
      .per_transport_caps = {.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV,
                             .uc_odp_caps = IBV_ODP_SUPPORT_WRITE,
                             .ud_odp_caps = 0}};
}

class Refused : public OnFakeVerbs, public testing::WithParamInterface<Refusal> {};

TEST_P(Refused, ByName) {
  const Refusal& refusal = GetParam();
  fake_verbs::Device device = fake_verbs::soft_roce();
  refusal.device(device);
  fake_verbs::reset({device});
  const Choice choice = choice_for(small_request());
  EndpointRequest request = small_request();
  refusal.change(request);
  const Error error = complaint([&] { open(request, choice); });
  EXPECT_EQ(error.fault(), refusal.fault);
  EXPECT_THAT(error.what(), has_all(refusal.text, refusal.remedy));
}

INSTANTIATE_TEST_SUITE_P(
    Request, Refused,
    testing::Values(
        Refusal{
            "ReadOverUc",
            [](auto& r) { r.options.service = Service::uc, r.operations = OperationCode::read; },
            Fault::usage, "`operation` read over uc", "UC has send"},
        Refusal{
            "WriteOverUd",
            [](auto& r) { r.options.service = Service::ud, r.operations = OperationCode::write; },
            Fault::usage, "`operation` write over ud", "UD has send"},
        Refusal{"LargeDatagram",
                [](auto& r) { r.options.service = Service::ud, r.max_size = 1025; }, Fault::usage,
                "1025 bytes over ud", "path MTU, 1024 bytes"},
        Refusal{"Dc", [](auto& r) { r.options.service = Service::dc; }, Fault::unavailable, "",
                "mlx5dv"},
        Refusal{"Srd", [](auto& r) { r.options.service = Service::srd; }, Fault::unavailable, "",
                "efadv"},
        Refusal{"Rdm", [](auto& r) { r.options.service = Service::rdm; }, Fault::usage, "rdm",
                "`backend` ofi"},
        Refusal{"LibfabricsProvider", [](auto& r) { r.options.ofi.provider = "tcp"; },
                Fault::unavailable, "`provider`", "`backend` ofi"},
        Refusal{"LibfabricsFabric", [](auto& r) { r.fabric = "efa"; }, Fault::unavailable,
                "`fabric`", "`backend` ofi"},
        Refusal{"ManagerOverUd",
                [](auto& r) { r.options.service = Service::ud, r.options.verbs.rdma_cm = true; },
                Fault::usage, "rdma_cm with `service` ud", "RC queue pairs only"},
        Refusal{"LocalQueuePairsOverRc",
                [](auto& r) { r.options.queue_pairs = 4, r.local_queue_pairs = 1; }, Fault::usage,
                "1 queue pairs for 4 peers", "Only UD"},
        Refusal{"ReceivesInTooLittleMemory",
                [](auto& r) {
                  static std::vector<std::byte> small(255);
                  r.receive_buffer = small;
                },
                Fault::usage, "memory of the caller of 255 bytes", "Bring more"},
        Refusal{"AtomicsOfFourBytes",
                [](auto& r) { r.operations = OperationCode::fetch_add, r.max_size = 4; },
                Fault::usage, "atomics of 4 bytes", "`sizes` 8"},
        Refusal{"MisalignedAtomics",
                [](auto& r) {
                  r.operations = OperationCode::fetch_add, r.max_size = 8,
                  r.options.misalignment = 4;
                },
                Fault::usage, "off by 4 bytes", "aligned to 8"},
        Refusal{"AtomicsOfADeviceWithout",
                [](auto& r) { r.operations = OperationCode::compare_swap, r.max_size = 8; },
                Fault::unavailable, "compare-swap on rxe0", "atomic_cap",
                [](auto& device) { device.atomics = IBV_ATOMIC_NONE; }},
        Refusal{"ReadsOfADeviceWithout", [](auto& r) { r.operations = OperationCode::read; },
                Fault::unavailable, "read on rxe0", "max_qp_rd_atom 0",
                [](auto& device) { device.max_reads = 0; }},
        Refusal{"XrcOfADeviceWithout", [](auto& r) { r.options.service = Service::xrc; },
                Fault::unavailable, "XRC on rxe0", "`service` rc",
                [](auto& device) { device.xrc = false; }},
        Refusal{"SharedReceivesOfADeviceWithout",
                [](auto& r) { r.options.verbs.shared_receives = true; }, Fault::unavailable,
                "shared receive queue on rxe0", "max_srq is 0",
                [](auto& device) { device.max_srq = 0; }},
        Refusal{"TooManySharedReceives",
                [](auto& r) {
                  r.options.verbs.shared_receives = true, r.options.queue_pairs = 4,
                  r.receives = 100;
                },
                Fault::usage, "400 receives in one shared queue", "max_srq_wr is 256",
                [](auto& device) { device.max_srq_wr = 256; }},
        Refusal{"OnDemandWritesOfADeviceWithout",
                [](auto& r) { r.operations = OperationCode::write, r.options.on_demand = true; },
                Fault::unavailable, "write over rc on rxe0", "RC: send receive; UC: write",
                pages_sends},
        Refusal{"OnDemandAtomicsOfADeviceWithout",
                [](auto& r) {
                  r.operations = OperationCode::fetch_add, r.max_size = 8,
                  r.options.on_demand = true;
                },
                Fault::unavailable, "atomic over rc on rxe0", "`on_demand`", pages_sends},
        Refusal{"OnDemandSharedReceivesOfADeviceWithout",
                [](auto& r) { r.options.verbs.shared_receives = true, r.options.on_demand = true; },
                Fault::unavailable, "srq over rc on rxe0", "RC: send receive;", pages_sends},
        Refusal{"OnDemandOverAnotherTransport",
                [](auto& r) { r.options.service = Service::xrc, r.options.on_demand = true; },
                Fault::unavailable, "send srq over xrc on rxe0", "`service`", pages_sends},
        Refusal{"TooManySegments", [](auto& r) { r.options.segments = 9; }, Fault::usage,
                "9 scatter/gather entries", "max_sge is 8"},
        Refusal{"MoreSegmentsThanBytes", [](auto& r) { r.max_size = 2, r.options.segments = 3; },
                Fault::usage, "3 segments", ""},
        Refusal{"TooManyQueuePairs", [](auto& r) { r.options.queue_pairs = 9; }, Fault::usage,
                "9 queue pairs", "max_qp is 8", [](auto& device) { device.max_qp = 8; }},
        Refusal{"NoQueuePairs", [](auto& r) { r.options.queue_pairs = 0; }, Fault::usage,
                "`queue_pairs`", "at least"},
        Refusal{"QueuePairsBeyondTheCompletionQueue", [](auto& r) { r.options.queue_pairs = 200; },
                Fault::usage, "200 queue pairs", "max_cqe",
                [](auto& device) { device.max_cqe = 100; }},
        Refusal{"LongList", [](auto& r) { r.options.post_list = 5; }, Fault::usage, "lists of 5",
                "`post_list`"},
        Refusal{"Misalignment", [](auto& r) { r.options.misalignment = 64; }, Fault::usage,
                "`misalignment` 64", "0 to 63"},
        Refusal{"NarrowSlots", [](auto& r) { r.slot_stride = 192; }, Fault::usage,
                "slots of 192 bytes for messages of 256", "multiple of 64"},
        Refusal{"OddSlots", [](auto& r) { r.slot_stride = 1000; }, Fault::usage, "1000",
                "multiple of 64"},
        Refusal{"ServiceLevel", [](auto& r) { r.options.verbs.path.service_level = 16; },
                Fault::usage, "service level 16", "0 to 15"},
        Refusal{"TrafficClass", [](auto& r) { r.options.verbs.path.traffic_class = -2; },
                Fault::usage, "traffic class -2", "0 to 255"},
        Refusal{"FlowLabel", [](auto& r) { r.options.verbs.path.flow_label = 1 << 20; },
                Fault::usage, "flow label 1048576", ""},
        Refusal{"PartitionIndex", [](auto& r) { r.options.verbs.path.partition_index = 1; },
                Fault::usage, "partition key index 1 on rxe0:1", "table has 1"},
        Refusal{"RetryCount", [](auto& r) { r.options.verbs.path.retry_count = 8; }, Fault::usage,
                "retry count 8", "0 to 7"}),
    [](const auto& refusal) { return refusal.param.name; });

class PlanTest : public OnFakeVerbs {};

TEST_F(PlanTest, WhatVerbsForbidIsRefusedBeforeAnythingIsOpened) {
  EndpointRequest request = small_request();
  request.options.service = Service::uc;
  request.operations = OperationCode::read;
  EXPECT_EQ(complaint([&] { offer(request); }).fault(), Fault::usage);
  EXPECT_EQ(fake_verbs::calls(fake_verbs::Call::get_device_list), 0);
}

TEST_F(PlanTest, ReducesQueuesToWhatTheDeviceTakes) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.max_qp_wr = 64;
  device.max_cqe = 101;
  fake_verbs::reset({device});
  const Choice choice = choice_for(small_request());
  const auto opened = [&](Change change) {
    EndpointRequest request = small_request();
    change(request);
    return open(request, choice);
  };
  EXPECT_EQ(opened([](auto& r) { r.depth = 65; }),
            "depth 64, receives 4: depth 65 reduced to 64: max_qp_wr of rxe0");
  EXPECT_EQ(opened([](auto& r) { r.receives = 65; }),
            "depth 4, receives 64: receives 65 reduced to 64: max_qp_wr of rxe0");
  EXPECT_EQ(opened([](auto& r) { r.depth = r.receives = 60; }),
            "depth 50, receives 50: depth 60 reduced to 50: max_cqe of rxe0; receives 60 reduced "
            "to 50: max_cqe of rxe0");
  EXPECT_EQ(opened([](auto& r) { r.depth = r.receives = 60, r.options.separate_queues = true; }),
            "depth 60, receives 60: ");
  EXPECT_EQ(opened([](auto& r) { r.depth = 30, r.receives = 8, r.options.queue_pairs = 5; }),
            "depth 12, receives 8: depth 30 reduced to 12: max_cqe of rxe0");
  EXPECT_EQ(opened([](auto& r) { r.options.inline_limit = 256, r.latency = true; }),
            "depth 4, receives 4: ");
}

TEST_F(PlanTest, ReducesQueuesToWhatTheDeviceMakes) {
  fake_verbs::Device device = fake_verbs::mlx5();
  device.max_qp_wr = 1024;
  device.request_header = 192;  // of RC: four blocks of 64 bytes a request
  device.ports.front().partition_keys = 1;
  fake_verbs::reset({device});
  const auto opened = [&](Change change) {
    EndpointRequest request = small_request();
    change(request);
    return open(request, choice_for(request));
  };
  EXPECT_EQ(opened([](auto& r) { r.depth = 256; }), "depth 256, receives 4: ");
  EXPECT_THAT(
      opened([](auto& r) { r.depth = 1024, r.signal_every = 1000, r.options.post_list = 512; }),
      has_all("depth 256, receives 4: depth 1024 reduced to 256", "ibv_create_qp()"));
  EXPECT_THAT(opened([](auto& r) {
                r.depth = 64, r.options.queue_pairs = 8, r.local_queue_pairs = 1,
                r.options.service = Service::ud;
              }),
              has_all("depth 32, receives 4: depth 64 reduced to 32", "ibv_create_qp()"));
  EXPECT_THAT(complaint([&] {
                opened([](auto& r) {
                  r.depth = 1, r.options.queue_pairs = 512, r.local_queue_pairs = 1, r.receives = 1;
                  r.options.service = Service::ud;
                });
              }).what(),
              has_all("512 queue pairs on mlx5_0", "leaves no depth"));
}

TEST_F(PlanTest, ReportsLessInlineDataThanWasAskedFor) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.max_inline = 64;
  fake_verbs::reset({device});
  EndpointRequest request = small_request();
  request.options.inline_limit = 128;
  EXPECT_THAT(open(request, choice_for(request)),
              HasSubstr("inline 128 reduced to 64: what rxe0 takes"));
}

TEST_F(PlanTest, PagesOnDemandWhatTheTransportHas) {
  const auto opened = [](fake_verbs::Device device, auto change) {
    pages_sends(device);
    device.on_demand.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND;
    device.dc_on_demand = device.xrc_on_demand = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV;
    fake_verbs::reset({device});
    EndpointRequest request = small_request();
    request.options.on_demand = true;
    change(request);
    return open(request, choice_for(request));
  };
  const fake_verbs::Device rxe = fake_verbs::soft_roce();
  EXPECT_EQ(opened(rxe, [](auto&) {}), "depth 4, receives 4: ");
  EXPECT_EQ(opened(rxe, [](auto& r) { r.options.service = Service::ud; }), "depth 4, receives 4: ");
  EXPECT_EQ(opened(rxe, [](auto& r) { r.options.service = Service::xrc; }),
            "depth 4, receives 4: ");
#if RDMABENCH_HAVE_MLX5
  EXPECT_EQ(opened(fake_verbs::mlx5(), [](auto& r) { r.options.service = Service::dc; }),
            "depth 4, receives 4: ");
#endif
}

TEST_F(PlanTest, BoundsOutstandingReadsByBothSides) {
  EndpointRequest request = small_request();
  request.operations = OperationCode::read;
  request.options.outstanding_reads = 5;
  const Pair pair(request);
  EXPECT_THAT(pair.client.describe().details, Contains(Fact("max_rd_atomic", "5")));
  request.options.outstanding_reads = 200;
  EXPECT_THAT(open(request, choice_for(request)),
              HasSubstr("outstanding reads 200 reduced to 128"));
}

TEST_F(PlanTest, TakesThePathOptionsThatAreValid) {
  EndpointRequest request = small_request();
  request.options.verbs.path = {.service_level = 15,
                                .traffic_class = 255,
                                .flow_label = 0xfffff,
                                .hop_limit = 255,
                                .partition_index = 0,
                                .timeout = 31,
                                .retry_count = 7,
                                .rnr_retry_count = 7,
                                .rnr_timer = 31};
  const Pair pair(request);
}

TEST_F(PlanTest, WithinASubnetThereIsNoHeaderToMark) {
  fake_verbs::reset({{.name = "mlx5_0",
                      .ports = {{.link_layer = IBV_LINK_LAYER_INFINIBAND,
                                 .lid = 7,
                                 .gids = {{0, "fe80::5", IBV_GID_TYPE_IB}}}}}});
  EndpointRequest request = small_request();
  request.options.verbs.path.traffic_class = 8;
  EXPECT_THAT(complaint([&] { open(request, choice_for(request)); }).what(),
              HasSubstr("without the global header"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::plan_test
