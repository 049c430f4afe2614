// The sizes and places that NCCL 2.28 and 2.30 have on 64-bit machines, for builds without its
// headers.
#include "netplugin/abi.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace rdmabench::inline v1::netplugin::abi {
namespace {

static_assert(sizeof(void*) == 8);
static_assert(sizeof(PropertiesV6) == 48 && sizeof(PropertiesV7) == 56);
static_assert(sizeof(PropertiesV8) == 64 && sizeof(PropertiesV9) == 104);
static_assert(sizeof(PropertiesV11) == 112 && sizeof(PropertiesV12) == 128);
static_assert(offsetof(PropertiesV8, device_type) == 52);
static_assert(offsetof(PropertiesV9, virtual_devices) == 64);
static_assert(offsetof(PropertiesV9, max_point_to_point_bytes) == 88);
static_assert(offsetof(PropertiesV11, more.max_multi_request) == 104);
static_assert(offsetof(PropertiesV12, max_point_to_point_bytes) == 104);
static_assert(offsetof(PropertiesV12, more.max_multi_request) == 120);
static_assert(offsetof(PropertiesV12, more.rail_id) == 124 &&
              offsetof(PropertiesV12, more.plane_id) == 126);
static_assert(sizeof(PropertiesV12::more.rail_id) == 2 && sizeof(VirtualDevicesV12) == 36);
static_assert(sizeof(NetTable<6>) == 17 * 8 && sizeof(NetTable<7>) == 19 * 8 &&
              sizeof(NetTable<8>) == 19 * 8);
static_assert(sizeof(NetTable<9>) == 20 * 8 && sizeof(NetTable<10>) == 20 * 8 &&
              sizeof(NetTable<11>) == 22 * 8);
static_assert(sizeof(NetTable<12>) == 22 * 8 &&
              offsetof(NetTable<12>, more.set_attributes) == 21 * 8);
static_assert(offsetof(NetTable<11>, test) == 13 * 8 &&
              offsetof(NetTable<11>, more.finalize) == 20 * 8);
static_assert(sizeof(DeviceHandle) == 32 && sizeof(Attributes) == 44);

TEST(Abi, IsThatOfNccl) {
  SUCCEED() << "what is asserted is asserted by the compiler";
}

}  // namespace
}  // namespace rdmabench::inline v1::netplugin::abi
