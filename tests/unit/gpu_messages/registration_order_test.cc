// The order of the ways to register a GPU's memory with a NIC: each way is refused in turn.
#include "transport/verbs/registration_order.h"

#include <cerrno>

#include "../folder.h"
#include "memory/gpu_memory.h"
#include "on_fake_gpu.h"
#include "rdmabench/verbs/device.h"
#include "run/registration_cost.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

using memory::GpuMapping;
using rdmabench::verbs::Registration;
using rdmabench::verbs::RegistrationAttempt;
using rdmabench::verbs::RegistrationRequest;
using rdmabench::verbs::Route;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kBytes = 5000;

class RegistrationOrder : public OnFakeGpu {
 protected:
  void load_peer_memory() const { root_.write("sys/module/nvidia_peermem/version", "570\n"); }

  /// Registers, lets `look` see the result, and undoes the registration.
  template <class Look>
  void register_in_order(const std::string& kind, GpuMapping mapping, RegistrationRequest how,
                         Look&& look) {
    const auto context = rdmabench::verbs::open_device("rxe0");
    const auto domain = rdmabench::verbs::allocate_protection_domain(*context);
    memory::Request where = memory::parse_request(kind);
    where.gpu_mapping = mapping;
    how.machine_root = root_.path();
    memory::Buffer buffer(where, kBytes);
    const Registration made = register_buffer(*domain, buffer, where, how);
    look(buffer, made);
  }

  const Folder root_;
};

std::string reason_of(const Registration& made, Route route, std::string_view mapping = "") {
  for (const RegistrationAttempt& attempt : made.others) {
    if (attempt.route == route && attempt.mapping == mapping) return attempt.reason;
  }
  return "no such attempt";
}

TEST_F(RegistrationOrder, ADmaBufInTheDefaultMappingIsTakenFirst) {
  for (const char* kind : {"cuda:0", "cuda:0,vmm"}) {
    register_in_order(kind, GpuMapping::automatic, {},
                      [](memory::Buffer& buffer, const Registration& made) {
                        EXPECT_EQ(made.route, Route::dma_buf);
                        EXPECT_EQ(made.mapping, "default");
                        EXPECT_EQ(made.others.size(), 4U);
                        EXPECT_THAT(reason_of(made, Route::staged), "not needed: dma-buf works");
                        EXPECT_THAT(reason_of(made, Route::data_direct, "pcie"),
                                    HasSubstr("mlx5dv_get_data_direct_sysfs_path(rxe0)"));
                        EXPECT_FALSE(buffer.gpu()->staged());
                        EXPECT_EQ(fake_verbs::region(made.region->lkey).dma_buf, buffer.dma_buf());
                      });
  }
}

TEST_F(RegistrationOrder, DataDirectGoesFirstWhereTheDeviceHasIt) {
  have({}, [](fake_verbs::Device& device) { device.data_direct = true; });
  register_in_order("cuda:0", GpuMapping::automatic, {},
                    [](memory::Buffer&, const Registration& made) {
                      EXPECT_EQ(made.route, Route::data_direct);
                      EXPECT_EQ(made.mapping, "pcie");
                    });
}

TEST_F(RegistrationOrder, ARefusedDefaultMappingLeavesThePcieOne) {
  fake_verbs::fail(fake_verbs::Call::reg_dmabuf_mr, 2, 524);  // the first is the probe
  register_in_order(
      "cuda:0", GpuMapping::automatic, {}, [](memory::Buffer&, const Registration& made) {
        EXPECT_EQ(made.route, Route::dma_buf);
        EXPECT_EQ(made.mapping, "pcie");
        EXPECT_THAT(reason_of(made, Route::dma_buf, "default"), HasSubstr("ibv_reg_dmabuf_mr("));
      });
}

TEST_F(RegistrationOrder, ADeviceWithoutDmaBufsTakesTheAddressByPeerMemory) {
  load_peer_memory();
  have({}, [](fake_verbs::Device& device) {
    device.takes_dma_buf = false;
    device.peer_memory = true;
  });
  register_in_order("cuda:0", GpuMapping::automatic, {},
                    [](memory::Buffer& buffer, const Registration& made) {
                      EXPECT_EQ(made.route, Route::peer_memory);
                      EXPECT_FALSE(buffer.gpu()->staged());
                      EXPECT_THAT(reason_of(made, Route::dma_buf, "default"),
                                  AllOf(HasSubstr("EOPNOTSUPP"), HasSubstr("rxe0")));
                      EXPECT_EQ(made.region->addr, buffer.data());
                    });
}

TEST_F(RegistrationOrder, WhatNothingTakesIsStagedAndEveryReasonIsKept) {
  have({{"FAKE_CUDA_DMA_BUF", "0"}});
  register_in_order(
      "cuda:0", GpuMapping::automatic, {}, [](memory::Buffer& buffer, const Registration& made) {
        EXPECT_EQ(made.route, Route::staged);
        EXPECT_TRUE(buffer.gpu()->staged());
        EXPECT_THAT(reason_of(made, Route::peer_memory), HasSubstr("nvidia_peermem is not loaded"));
        for (const char* mapping : {"default", "pcie"}) {
          EXPECT_THAT(reason_of(made, Route::dma_buf, mapping), HasSubstr("dma-buf")) << mapping;
        }
        EXPECT_EQ(made.region->addr, buffer.data());
        buffer.bytes()[0] = std::byte{1};  // the host's
      });
}

TEST_F(RegistrationOrder, AModuleThatIsLoadedAndDoesNotHelpIsARefusalToo) {
  load_peer_memory();
  have({}, [](fake_verbs::Device& device) { device.takes_dma_buf = false; });
  register_in_order(
      "cuda:0", GpuMapping::automatic, {}, [](memory::Buffer&, const Registration& made) {
        EXPECT_EQ(made.route, Route::staged);
        EXPECT_THAT(reason_of(made, Route::peer_memory),
                    AllOf(HasSubstr("ibv_reg_mr(GPU address, "), HasSubstr("EFAULT")));
      });
}

TEST_F(RegistrationOrder, AMappingThatIsAskedForIsHadOrNothingIs) {
  register_in_order("cuda:0", GpuMapping::pcie, {}, [](memory::Buffer&, const Registration& made) {
    EXPECT_EQ(made.mapping, "pcie");
    EXPECT_THAT(reason_of(made, Route::staged), HasSubstr("the mapping pcie was requested"));
  });
  const auto nothing = [](memory::Buffer&, const Registration&) { FAIL(); };
  have({{"FAKE_CUDA_PCIE", "refuse"}});
  const Error refused =
      complaint([&] { register_in_order("cuda:0", GpuMapping::pcie, {}, nothing); });
  EXPECT_EQ(refused.fault(), Fault::unavailable);
  EXPECT_THAT(refused.what(), AllOf(HasSubstr("rxe0"), HasSubstr("dma-buf, mapping pcie: "),
                                    HasSubstr("staged: the mapping pcie was requested")));
  const Error direct =
      complaint([&] { register_in_order("cuda:0", GpuMapping::data_direct, {}, nothing); });
  EXPECT_THAT(direct.what(), HasSubstr("no data-direct function"));
}

TEST_F(RegistrationOrder, ADmaBufThatIsDemandedIsNotReplaced) {
  have({}, [](fake_verbs::Device& device) { device.takes_dma_buf = false; });
  const auto nothing = [](memory::Buffer&, const Registration&) { FAIL(); };
  const Error error = complaint([&] {
    register_in_order("cuda:0", GpuMapping::automatic, {.require_dma_buf = true}, nothing);
  });
  EXPECT_THAT(error.what(), HasSubstr("staged: a dma-buf was requested"));
  EXPECT_EQ(complaint([&] {
              register_in_order("cuda:0", GpuMapping::automatic, {.on_demand = true}, nothing);
            }).fault(),
            Fault::usage);
}

TEST_F(RegistrationOrder, TheMatrixHasACostOrAReasonForEveryWay) {
  const run::RegistrationBench bench("rxe0");
  const run::GpuRoutes ways = bench.measure_routes(
      memory::parse_request("cuda:0"), {.machine_root = root_.path()}, kBytes, {.iterations = 20});
  EXPECT_EQ(ways.costs.size() + ways.refused.size(), gpu_routes().size());
  ASSERT_EQ(ways.costs.size(), 3U);
  EXPECT_EQ(ways.costs[0].mapping, "default");
  EXPECT_EQ(ways.costs[1].mapping, "pcie");
  EXPECT_EQ(ways.costs[2].route, Route::staged);
  for (const run::RegistrationCost& cost : ways.costs) {
    EXPECT_EQ(cost.registering.count, 20U);
    EXPECT_EQ(cost.memory, "cuda:0");
  }
  for (const run::RefusedRoute& way : ways.refused) EXPECT_FALSE(way.reason.empty());
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs
