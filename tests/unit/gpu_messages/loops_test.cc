// The loops over GPU memory, both sides in two threads. The fake GPU's bytes are unreadable to the
// host, so a loop that touched one would die here.
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "../folder.h"
#include "gpu/allocation.h"
#include "memory/gpu_memory.h"
#include "on_fake_gpu.h"
#include "rdmabench/features.h"
#include "rdmabench/transport/verbs/endpoint.h"
#include "rdmabench/workload/loops.h"
#include "transport/verbs/backend.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

using workload::EpochPlan;
using workload::EpochResult;
using workload::LoopKey;
using workload::Outcome;
using workload::Shape;
using workload::Side;
using workload::Watch;

struct Sides {
  std::string client = "cuda:0";
  std::string server = "cuda:1";
};

struct Case {
  Shape shape = Shape::bandwidth;
  OperationCode operation = OperationCode::send;
  bool validate = true;
  std::uint64_t size = 200;
};

struct Outcomes {
  EpochResult client;
  EpochResult server;
};

EpochPlan plan_of(const Case& one) {
  return {.iterations = one.shape == Shape::latency ? 10U : 40U,
          .size = is_atomic(one.operation) ? kAtomicBytes : one.size,
          .depth = 8,
          .receives = 16,
          .gap_q16 = one.shape == Shape::load ? std::uint64_t{2000} << 16 : 0};
}

EndpointRequest request_of(const Case& one, const std::string& memory, bool client) {
  const EpochPlan plan = plan_of(one);
  EndpointRequest request;
  request.client = client;
  request.operations = one.operation;
  request.latency = one.shape == Shape::latency;
  request.max_size = plan.size;
  request.depth = plan.depth;
  request.receives = plan.receives;
  request.signal_every = 4;
  request.send_slots = 8;
  request.receive_slots = 16;
  request.memory = memory;
  return request;
}

/// The server's end of a write between two GPUs; nobody opens the other.
Endpoint server_alone() {
  const EndpointRequest own = request_of({.operation = OperationCode::write}, "cuda:0", true);
  const EndpointRequest other = request_of({.operation = OperationCode::write}, "cuda:1", false);
  return Endpoint(other, choose(own, offer(own), offer(other)).server);
}

/// An epoch of one side, as run::Worker does it.
EpochResult run_side(Endpoint& endpoint, const LoopKey& key, const EpochPlan& plan,
                     std::atomic<bool>& gone) {
  const auto entry = workload::find_loop<Endpoint>(key);
  std::vector<measure::Ticks> intervals(plan.iterations);
  Watch watch(std::chrono::seconds(5), [&] { return gone.load(); });
  EpochResult result = entry.loop(endpoint, plan, watch, intervals);
  if (result.outcome == Outcome::ok) entry.check(endpoint, key, plan, result);
  if (result.outcome != Outcome::ok) gone = true;
  return result;
}

class GpuLoops : public OnFakeGpu {
 protected:
  template <class Between>
  Outcomes run(const Case& one, const Sides& sides, Between&& between) {
    const EndpointRequest own = request_of(one, sides.client, true);
    const EndpointRequest other = request_of(one, sides.server, false);
    const Choice choice = choose(own, offer(own), offer(other));
    Endpoint client(own, choice.client);
    Endpoint server(other, choice.server);
    server.connect(client.address());
    client.connect(server.address());
    between(client, server);
    const EpochPlan plan = plan_of(one);
    LoopKey key{.shape = one.shape,
                .operation = one.operation,
                .validate = one.validate,
                .epoch_content = true,
                .clock = measure::clock_choice().source,
                .paced = one.shape == Shape::load};
    LoopKey target = key;
    target.side = Side::target;
    Outcomes last;
    for (int epoch = 0; epoch < 2; ++epoch) {
      workload::find_loop<Endpoint>(key).prepare(client, key, plan);
      workload::find_loop<Endpoint>(target).prepare(server, target, plan);
      std::atomic<bool> gone{false};
      std::thread thread([&] { last.server = run_side(server, target, plan, gone); });
      last.client = run_side(client, key, plan, gone);
      thread.join();
      if (gone) break;
    }
    return last;
  }
  Outcomes run(const Case& one, const Sides& sides) {
    return run(one, sides, [](Endpoint&, Endpoint&) {});
  }
};

constexpr std::array kShapes{Shape::latency, Shape::bandwidth, Shape::bidirectional, Shape::load};
constexpr std::array kOperations{OperationCode::send,        OperationCode::send_imm,
                                 OperationCode::write,       OperationCode::write_imm,
                                 OperationCode::read,        OperationCode::fetch_add,
                                 OperationCode::compare_swap};

bool is_polled_write(Shape shape, OperationCode operation) {
  return shape == Shape::latency && operation == OperationCode::write;  // run/ refuses it by name
}

TEST_F(GpuLoops, EveryOperationBetweenGpusAndHostsIsComparedByWhoMayTouchIt) {
  const std::array<Sides, 3> all{Sides{}, Sides{.client = "cuda:0", .server = "host"},
                                 Sides{.client = "host", .server = "cuda:1,vmm"}};
  for (const Sides& sides : all) {
    for (const Shape shape : kShapes) {
      for (const OperationCode operation : kOperations) {
        if (is_polled_write(shape, operation)) continue;
        for (const bool validate : {false, true}) {
          SCOPED_TRACE(testing::Message()
                       << sides.client << " " << sides.server << " shape "
                       << static_cast<int>(shape) << " " << name(operation) << " " << validate);
          const Outcomes got = run({shape, operation, validate}, sides);
          EXPECT_EQ(got.client.outcome, Outcome::ok);
          EXPECT_EQ(got.server.outcome, Outcome::ok);
          if (is_atomic(operation)) {
            EXPECT_GT(got.server.succeeded, 0U);
          } else {
            EXPECT_EQ(got.client.checked + got.server.checked > 0, validate);
          }
        }
      }
    }
  }
}

/// A NIC whose library delivers messages of up to 32 or 64 bytes in their completions.
void make_mlx5(fake_verbs::Device& device, int completion_bytes) {
  device = fake_verbs::mlx5();
  device.completion_bytes = completion_bytes;
  device.takes_dma_buf = true;
}

TEST_F(GpuLoops, TheProcessorCopiesNoShortMessageToAGpu) {
  for (const int completion_bytes : {64, 128}) {
    have({}, [&](fake_verbs::Device& device) { make_mlx5(device, completion_bytes); });
    for (const Case& one : {Case{Shape::latency, OperationCode::send, true, 8},
                            Case{Shape::bandwidth, OperationCode::send_imm, true, 32},
                            Case{Shape::latency, OperationCode::send, true, 64}}) {
      SCOPED_TRACE(testing::Message()
                   << name(one.operation) << " of " << one.size << ", " << completion_bytes);
      const Outcomes got = run(one, {});
      EXPECT_EQ(got.client.outcome, Outcome::ok);
      EXPECT_EQ(got.server.outcome, Outcome::ok);
    }
    EXPECT_THAT(fake_verbs::violations(), testing::IsEmpty());
  }
}

/// One short send each way, by whatever endpoint has that service.
template <class E>
void exchange_short_sends(Service service) {
  EndpointRequest own = request_of({}, "cuda:0", true);
  EndpointRequest other = request_of({}, "cuda:1", false);
  own.options.service = other.options.service = service;
  const Choice choice = choose(own, offer(own), offer(other));
  E client(own, choice.client);
  E server(other, choice.server);
  server.connect(client.address());
  client.connect(server.address());
  for (auto [from, to] : {std::pair(&client, &server), std::pair(&server, &client)}) {
    ASSERT_EQ(from->template post<Send>(0, 0, 8, 0, Signal::now), PostStatus::posted);
    std::uint64_t bytes = 0;
    to->poll([&](const Received& received) noexcept { bytes = received.bytes; });
    EXPECT_EQ(bytes, 8U) << name(service);
  }
}

TEST_F(GpuLoops, NorOverAnotherService) {
  for (const int completion_bytes : {64, 128}) {
    have({}, [&](fake_verbs::Device& device) { make_mlx5(device, completion_bytes); });
    exchange_short_sends<DatagramEndpoint>(Service::uc);
    exchange_short_sends<DatagramEndpoint>(Service::ud);
    exchange_short_sends<GeneralEndpoint>(Service::xrc);
#if RDMABENCH_HAVE_MLX5
    exchange_short_sends<DynamicEndpoint>(Service::dc);
#endif
    EXPECT_THAT(fake_verbs::violations(), testing::IsEmpty());
  }
}

#if RDMABENCH_HAVE_MLX5
TEST_F(GpuLoops, ALibraryThatKnowsNoFlagsOfADcTargetIsRefusedByName) {
  have({}, [&](fake_verbs::Device& device) { make_mlx5(device, 64); });
  EndpointRequest own = request_of({}, "cuda:0", true);
  EndpointRequest other = request_of({}, "cuda:1", false);
  own.options.service = other.options.service = Service::dc;
  const Choice choice = choose(own, offer(own), offer(other));
  fake_verbs::fail(fake_verbs::Call::create_qp, 2, EINVAL);  // the first is the initiator's
  const Error error = complaint([&] { const DynamicEndpoint client(own, choice.client); });
  EXPECT_TRUE(fake_verbs::struck());
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), has_all("GPU memory on", "from rdma-core 24 on"));
}
#endif

TEST_F(GpuLoops, AGpuIsRefusedWhereTheLibraryCannotLeaveTheCopy) {
  for (const auto& [driver, remedy] :
       {std::pair("mlx5_core", "libmlx5"), std::pair("hns3", "no way to leave it")}) {
    const Folder folder;
    folder.link("device/driver", driver);
    const auto nic = [&](fake_verbs::Device& device) { device.sysfs = folder.path(); };
    const auto open = [](const std::string& memory) {
      const EndpointRequest own = request_of({}, memory, true);
      const Choice choice = choose(own, offer(own), offer(request_of({}, "host", false)));
      return Endpoint(own, choice.client).describe();
    };
    have({}, nic);
    const Error error = complaint([&] { open("cuda:0"); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), has_all("GPU memory on rxe0", "`memory` host", remedy));
    open("host");
    have({{"FAKE_CUDA_DMA_BUF", "0"}}, nic);
    open("cuda:0");  // staged: it lies in the host's memory
  }
}

TEST_F(GpuLoops, AGpusMemoryIsRegisteredWithRelaxedOrderingUnlessThatIsTurnedOff) {
  const auto access = [](const std::string& memory, std::optional<bool> asked) {
    EndpointRequest own = request_of({}, memory, true);
    own.options.relaxed_ordering = asked;
    const Choice choice = choose(own, offer(own), offer(request_of({}, "host", false)));
    const Endpoint client(own, choice.client);
    std::map<std::string, std::string> facts;
    for (const auto& [key, value] : client.describe().details) facts[key] = value;
    const auto key = static_cast<std::uint32_t>(std::stoul(facts["rkey"], nullptr, 16));
    const bool relaxed = (fake_verbs::region(~key).access & IBV_ACCESS_RELAXED_ORDERING) != 0;
    EXPECT_EQ(facts["relaxed_ordering"], relaxed ? "true" : "false");
    EXPECT_EQ(client.write_order().bytes, 0U) << "before it is connected, and of a GPU's memory";
    return relaxed;
  };
  EXPECT_TRUE(access("cuda:0", std::nullopt));
  EXPECT_FALSE(access("cuda:0", false));
  EXPECT_FALSE(access("host", std::nullopt));
  EXPECT_TRUE(access("host", true));
  have({{"FAKE_CUDA_DMA_BUF", "0"}});
  EXPECT_FALSE(access("cuda:0", std::nullopt)) << "staged: it lies in the host's memory";
  EXPECT_TRUE(access("cuda:0", true));
}

TEST_F(GpuLoops, StagedMessagesAreComparedByTheGpuToo) {
  have({{"FAKE_CUDA_DMA_BUF", "0"}});
  for (const OperationCode operation : kOperations) {
    const Outcomes got =
        run({Shape::bandwidth, operation}, {}, [](Endpoint& client, Endpoint& server) {
          EXPECT_TRUE(client.window_memory().gpu()->staged());
          EXPECT_TRUE(server.send_memory().gpu()->staged());
        });
    EXPECT_EQ(got.client.outcome, Outcome::ok) << name(operation);
    EXPECT_EQ(got.server.outcome, Outcome::ok) << name(operation);
  }
}

TEST_F(GpuLoops, BytesThatNeverArriveAreFoundThoughAllCompletionsSayWell) {
  for (const OperationCode operation : kOperations) {
    if (operation == OperationCode::compare_swap) continue;  // may fail, and then moves nothing
    const Outcomes got = run({Shape::bandwidth, operation}, {},
                             [](Endpoint&, Endpoint&) { fake_verbs::lose_gpu_bytes(true); });
    fake_verbs::lose_gpu_bytes(false);
    const EpochResult& found = operation == OperationCode::read ? got.client : got.server;
    EXPECT_TRUE(is_about_data(found.outcome)) << name(operation);
  }
}

TEST_F(GpuLoops, WhatOnlyAReadOfTheNicShowsIsReadBeforeItIsJudged) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  for (const Shape shape : kShapes) {
    for (const OperationCode operation : kOperations) {
      if (is_polled_write(shape, operation)) continue;
      SCOPED_TRACE(testing::Message() << static_cast<int>(shape) << " " << name(operation));
      fake_verbs::hold_gpu_writes(true);
      const int before = fake_verbs::gpu_reads();
      const Outcomes got = run({shape, operation}, {}, [](Endpoint& client, Endpoint&) {
        for (const memory::Buffer* one : {&client.send_memory(), &client.window_memory()}) {
          EXPECT_THAT(one->gpu()->flush_text(), testing::HasSubstr("the NIC reads a byte"));
        }
      });
      EXPECT_EQ(got.client.outcome, Outcome::ok);
      EXPECT_EQ(got.server.outcome, Outcome::ok);
      EXPECT_GT(fake_verbs::gpu_reads(), before);
      EXPECT_EQ(fake_cuda_calls("cuFlushGPUDirectRDMAWrites"), 0);
    }
  }
}

TEST_F(GpuLoops, NothingIsReadWhereNothingIsLookedAt) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  const Outcomes got = run({Shape::bandwidth, OperationCode::write, /*validate=*/false}, {});
  EXPECT_EQ(got.server.outcome, Outcome::ok);
  EXPECT_EQ(fake_verbs::gpu_reads(), 0) << "a flush is no part of what is timed";
}

TEST_F(GpuLoops, WithoutTheFlushWhatIsHeldBackIsTakenForWrong) {
  // A GPU that says of itself that it orders writes, and does not.
  fake_verbs::hold_gpu_writes(true);
  const Outcomes got = run({Shape::bandwidth, OperationCode::write}, {});
  fake_verbs::hold_gpu_writes(false);
  EXPECT_EQ(got.server.outcome, Outcome::wrong_data);
  EXPECT_EQ(fake_verbs::gpu_reads(), 0);
}

TEST_F(GpuLoops, AFlushThatFailsIsNoVerdictOnTheBytes) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  Endpoint server = server_alone();
  fake_verbs::fail_message(IBV_WC_REM_ACCESS_ERR);
  const Error error = complaint([&] { workload::compare(workload::window_of(server), 200, 8); });
  EXPECT_THAT(error.what(), testing::HasSubstr("the flush failed"));
}

TEST_F(GpuLoops, ADeviceThatCannotReachItselfFlushesNothingAndSaysWhy) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  const EndpointRequest own = request_of({}, "cuda:0", true);
  const Choice choice = choose(own, offer(own), offer(request_of({}, "host", false)));
  fake_verbs::fail(fake_verbs::Call::create_qp, 2, EPROTONOSUPPORT);  // the first is for messages
  const Endpoint client(own, choice.client);
  EXPECT_TRUE(fake_verbs::struck());
  for (const memory::Buffer* one :
       {&client.send_memory(), &client.receive_memory(), &client.window_memory()}) {
    EXPECT_THAT(one->gpu()->flush_text(),
                has_all("not done: ", "a queue pair to itself", "EPROTONOSUPPORT"));
  }
}

#if RDMABENCH_HAVE_EFA
TEST_F(GpuLoops, OverSrdNothingFlushesAndNoRegionNeedsReadsForIt) {
  constexpr std::uint32_t kNoRdma = 0b0010;
  for (const char* dma_buf : {"1", "0"}) {
    have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}, {"FAKE_CUDA_DMA_BUF", dma_buf}},
         [](fake_verbs::Device& device) {
           device = fake_verbs::efa();
           device.takes_dma_buf = true;
           device.efa_capabilities = kNoRdma;
         });
    EndpointRequest own = request_of({}, "cuda:0", true);
    own.options.service = Service::srd;
    EndpointRequest other = request_of({}, "cuda:1", false);
    other.options.service = Service::srd;
    const Choice choice = choose(own, offer(own), offer(other));
    const ScalableEndpoint client(own, choice.client);
    const memory::GpuMemory& gpu = *client.send_memory().gpu();
    EXPECT_EQ(gpu.staged(), *dma_buf == '0');
    EXPECT_THAT(gpu.flush_text(),
                gpu.staged() ? testing::Matcher<std::string>(testing::HasSubstr("not needed"))
                             : has_all("not done", "EFA"));
  }
}
#endif

TEST_F(GpuLoops, ASlotThatNoMessageWasForStaysClear) {
  Endpoint server = server_alone();
  const workload::ContentSlots window = workload::window_of(server);
  workload::clear(window, 200);
  EXPECT_FALSE(workload::find_stray(window, 200, 3).has_value());
  auto* byte = static_cast<std::byte*>(fake_cuda_host_pointer(
      reinterpret_cast<std::uintptr_t>(window.region.data) + 5 * window.region.stride + 17));
  *byte = std::byte{1};
  const auto stray = workload::find_stray(window, 200, 3);
  ASSERT_TRUE(stray.has_value());
  EXPECT_EQ(stray->slot, 5U);
  EXPECT_EQ(stray->byte, 17U);
  EXPECT_FALSE(workload::find_stray(window, 200, 6).has_value());
}

/// `request` on memory of the caller, which only its GPU may touch.
EndpointRequest request_on(const gpu::Allocation& memory) {
  EndpointRequest request = request_of({.operation = OperationCode::write}, "cuda:0", true);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver has addresses as numbers
  request.buffers = {{reinterpret_cast<std::byte*>(memory.data()), 65536}};
  return request;
}

TEST_F(GpuLoops, AGpuPointerOfTheCallerIsUsedInPlace) {
  const gpu::Context context(0);
  const gpu::Allocation memory(context, 65536, gpu::Mode::plain);
  const EndpointRequest own = request_on(memory);
  const Choice choice = choose(
      own, offer(own), offer(request_of({.operation = OperationCode::write}, "host", false)));
  const Endpoint client(own, choice.client);
  EXPECT_EQ(client.window().data, own.buffers[0].data());
  EXPECT_EQ(client.window_memory().gpu()->staged(), false);
}

TEST_F(GpuLoops, AGpuPointerOfTheCallerIsNeverCopied) {
  have({{"FAKE_CUDA_DMA_BUF", "0"}},
       [](fake_verbs::Device& device) { device.takes_dma_buf = false; });
  const gpu::Context context(0);
  const gpu::Allocation memory(context, 65536, gpu::Mode::plain);
  const EndpointRequest own = request_on(memory);
  const Choice choice = choose(
      own, offer(own), offer(request_of({.operation = OperationCode::write}, "host", false)));
  EXPECT_THAT(complaint([&] { const Endpoint client(own, choice.client); }).what(),
              testing::HasSubstr("memory of the caller"));
}

TEST_F(GpuLoops, AllSlotsAreReadByOneCopy) {
  have({{"FAKE_CUDA_FAIL", "cuMemcpyDtoHAsync_v2:2:700"}});
  Endpoint server = server_alone();
  const workload::ContentSlots window = workload::window_of(server);
  ASSERT_GT(window.region.slots, 1U);
  workload::clear(window, 200);
  const workload::Landed landed = workload::find_landed(window, 200);
  EXPECT_EQ(landed.whole, 0U);
  EXPECT_FALSE(landed.wrong.has_value());
  EXPECT_THAT(complaint([&] { workload::find_landed(window, 200); }).what(),
              testing::HasSubstr("cuMemcpyDtoHAsync"));
}

TEST_F(GpuLoops, AWrongByteIsFoundWithItsPlace) {
  Endpoint server = server_alone();
  const workload::ContentSlots window = workload::window_of(server);
  workload::fill(window, 200, 8);
  EXPECT_FALSE(workload::compare(window, 200, 8).has_value());
  auto* byte = static_cast<std::byte*>(fake_cuda_host_pointer(
      reinterpret_cast<std::uintptr_t>(window.region.data) + 3 * window.region.stride + 11));
  *byte ^= std::byte{1};
  const auto wrong = workload::compare(window, 200, 8);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(wrong->slot, 3U);
  EXPECT_EQ(wrong->byte, 11U);
  const workload::Landed landed = workload::find_landed(window, 200);
  ASSERT_TRUE(landed.wrong.has_value());
  EXPECT_EQ(landed.wrong->slot, 3U);
  workload::clear(window, 200);
  EXPECT_EQ(workload::find_landed(window, 200).whole, 0U);
}

TEST_F(GpuLoops, TheReportSaysWhichWayAndWhyNoOther) {
  have({{"FAKE_CUDA_PCIE", "refuse"}});
  const EndpointRequest own = request_of({.shape = Shape::latency}, "cuda:0", true);
  const Choice choice = choose(own, offer(own), offer(request_of({}, "host", false)));
  const Endpoint client(own, choice.client);
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : client.describe().details) facts[key] = value;
  EXPECT_EQ(facts["memory"], "cuda:0");
  EXPECT_EQ(facts["memory_route"], "dma-buf, mapping default");
  EXPECT_EQ(client.describe().memory_routes, std::vector<std::string>{"dma-buf, mapping default"});
  EXPECT_THAT(facts["gpu"], testing::HasSubstr("rxe0 and GPU"));
  EXPECT_THAT(facts["memory_routes_refused"], testing::HasSubstr("staged: not needed"));
  EXPECT_EQ(facts["inline"], "0");
  EXPECT_THAT(facts["reduced"], testing::HasSubstr("inline sends off"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs
