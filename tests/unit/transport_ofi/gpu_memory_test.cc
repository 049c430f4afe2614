#include "transport/ofi/gpu_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "../setting.h"

namespace rdmabench::inline v1::transport::ofi::gpu_memory_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What a provider says of itself and its NIC.
struct Offered {
  Offered(std::string name, std::string vendor)
      : provider(std::move(name)), vendor_id(std::move(vendor)) {
    fabric.prov_name = provider.data();
    device.vendor_id = vendor_id.data();
    nic.device_attr = &device;
    info.fabric_attr = &fabric;
    info.nic = &nic;
  }

  std::string provider, vendor_id;
  fi_fabric_attr fabric{};
  fi_device_attr device{};
  fid_nic nic{};
  fi_info info{};
};

TEST(OfiGpuMemory, ProviderVerbsOfMlx5IsNotGivenAGpusAddressForShortMessages) {
  unsetenv("MLX5_SCATTER_TO_CQE");
  for (const char* provider : {"verbs", "verbs;ofi_rxm"}) {
    EXPECT_THAT(short_message_obstacle(Offered(provider, "0x02c9").info),
                AllOf(HasSubstr(provider), HasSubstr("MLX5_SCATTER_TO_CQE=0")));
    EXPECT_EQ(short_message_obstacle(Offered(provider, "0x14e4").info), "") << "another vendor";
    Offered silent(provider, "");
    silent.info.nic = nullptr;
    EXPECT_NE(short_message_obstacle(silent.info), "") << "it may be mlx5";
    const Setting off("MLX5_SCATTER_TO_CQE", "0");
    EXPECT_EQ(short_message_obstacle(Offered(provider, "0x02c9").info), "");
  }
  EXPECT_EQ(short_message_obstacle(Offered("efa", "0x1d0f").info), "");
  EXPECT_EQ(short_message_obstacle(Offered("tcp;ofi_rxm", "0x02c9").info), "");
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::gpu_memory_test
