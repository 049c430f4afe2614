// Our declarations against NCCL's own, compiled where its headers are found (the folder nccl/ of
// plugins/net/example of NCCL 2.30 or later): cmake
// -DRDMABENCH_NCCL_NET_INCLUDE=FOLDER.
#include <gtest/gtest.h>

#include <cstddef>

#include "netplugin/abi.h"

extern "C" {
#include "net.h"
}

namespace rdmabench::inline v1::netplugin::abi {
namespace {

static_assert(sizeof(ncclResult_t) == sizeof(Result));
static_assert(ncclSystemError == kSystemError && ncclInternalError == kInternalError);
static_assert(ncclInvalidUsage == kInvalidUsage && ncclRemoteError == kRemoteError);
static_assert(NCCL_NET_HANDLE_MAXSIZE == kHandleBytes && NCCL_NET_MAX_REQUESTS == kMaxRequests);
static_assert(NCCL_PTR_HOST == kHostMemory && NCCL_PTR_CUDA == kDeviceMemory);
static_assert(NCCL_PTR_DMABUF == kDmaBuf);
static_assert(NCCL_NET_OPTIONAL_RECV_COMPLETION == kOptionalCompletion);
static_assert(sizeof(ncclNetDeviceHandle_v7_t) == sizeof(DeviceHandle));
static_assert(sizeof(ncclNetAttr_v11_t) == sizeof(Attributes));

#define SAME_PROPERTY(theirs, ours, a, b) \
  static_assert(offsetof(theirs, a) == offsetof(ours, b) && sizeof(theirs::a) == sizeof(ours::b))
#define SAME_PROPERTIES(theirs, ours)                     \
  static_assert(sizeof(theirs) == sizeof(ours));          \
  SAME_PROPERTY(theirs, ours, name, name);                \
  SAME_PROPERTY(theirs, ours, pciPath, pci_path);         \
  SAME_PROPERTY(theirs, ours, guid, guid);                \
  SAME_PROPERTY(theirs, ours, ptrSupport, pointer_kinds); \
  SAME_PROPERTY(theirs, ours, speed, speed_mbps);         \
  SAME_PROPERTY(theirs, ours, port, port);                \
  SAME_PROPERTY(theirs, ours, latency, latency_us);       \
  SAME_PROPERTY(theirs, ours, maxComms, max_comms);       \
  SAME_PROPERTY(theirs, ours, maxRecvs, max_receives)
#define SAME_DEVICE(theirs, ours)                          \
  SAME_PROPERTY(theirs, ours, netDeviceType, device_type); \
  SAME_PROPERTY(theirs, ours, netDeviceVersion, device_version)
#define SAME_VIRTUAL(theirs, ours)                                    \
  SAME_PROPERTY(theirs, ours, regIsGlobal, global_registration);      \
  SAME_PROPERTY(theirs, ours, forceFlush, force_flush);               \
  SAME_PROPERTY(theirs, ours, vProps, virtual_devices);               \
  SAME_PROPERTY(theirs, ours, maxP2pBytes, max_point_to_point_bytes); \
  SAME_PROPERTY(theirs, ours, maxCollBytes, max_collective_bytes)

SAME_PROPERTIES(ncclNetProperties_v6_t, PropertiesV6);
SAME_PROPERTIES(ncclNetProperties_v7_t, PropertiesV7);
SAME_PROPERTIES(ncclNetProperties_v8_t, PropertiesV8);
SAME_PROPERTIES(ncclNetProperties_v9_t, PropertiesV9);
SAME_PROPERTIES(ncclNetProperties_v10_t, PropertiesV9);
SAME_PROPERTIES(ncclNetProperties_v11_t, PropertiesV11);
SAME_PROPERTIES(ncclNetProperties_v12_t, PropertiesV12);
SAME_DEVICE(ncclNetProperties_v7_t, PropertiesV7);
SAME_DEVICE(ncclNetProperties_v8_t, PropertiesV8);
SAME_DEVICE(ncclNetProperties_v9_t, PropertiesV9);
SAME_DEVICE(ncclNetProperties_v10_t, PropertiesV9);
SAME_DEVICE(ncclNetProperties_v11_t, PropertiesV11);
SAME_DEVICE(ncclNetProperties_v12_t, PropertiesV12);
SAME_PROPERTY(ncclNetProperties_v8_t, PropertiesV8, regIsGlobal, global_registration);
SAME_VIRTUAL(ncclNetProperties_v9_t, PropertiesV9);
SAME_VIRTUAL(ncclNetProperties_v10_t, PropertiesV9);
SAME_VIRTUAL(ncclNetProperties_v11_t, PropertiesV11);
SAME_VIRTUAL(ncclNetProperties_v12_t, PropertiesV12);
SAME_PROPERTY(ncclNetProperties_v11_t, PropertiesV11, maxMultiRequestSize, more.max_multi_request);
SAME_PROPERTY(ncclNetProperties_v12_t, PropertiesV12, maxMultiRequestSize, more.max_multi_request);
SAME_PROPERTY(ncclNetProperties_v12_t, PropertiesV12, railId, more.rail_id);
SAME_PROPERTY(ncclNetProperties_v12_t, PropertiesV12, planeId, more.plane_id);
static_assert(NCCL_NET_MAX_DEVS_PER_NIC_V12 == kMaxVirtualDevicesV12);
static_assert(NCCL_NET_ID_UNDEF == kUndefinedId);
static_assert(NCCL_MAX_NET_SIZE_BYTES == kMaxMessageBytes);
static_assert(NCCL_NET_DEVICE_HOST == kDrivenByHost && NCCL_NET_DEVICE_UNPACK == kUnpackedByGpu);
static_assert(NCCL_NET_DEVICE_UNPACK_VERSION == kUnpackVersion);

// Of the functions the place; that pointers to them are called rightly no compiler can tell.
#define SAME_FUNCTION(theirs, ours, a, b) static_assert(offsetof(theirs, a) == offsetof(ours, b))
#define SAME_TABLE(theirs, ours)                              \
  static_assert(sizeof(theirs) == sizeof(ours));              \
  SAME_FUNCTION(theirs, ours, name, name);                    \
  SAME_FUNCTION(theirs, ours, init, init);                    \
  SAME_FUNCTION(theirs, ours, devices, devices);              \
  SAME_FUNCTION(theirs, ours, getProperties, properties);     \
  SAME_FUNCTION(theirs, ours, listen, listen);                \
  SAME_FUNCTION(theirs, ours, connect, connect);              \
  SAME_FUNCTION(theirs, ours, accept, accept);                \
  SAME_FUNCTION(theirs, ours, regMr, register_memory);        \
  SAME_FUNCTION(theirs, ours, regMrDmaBuf, register_dma_buf); \
  SAME_FUNCTION(theirs, ours, deregMr, deregister);           \
  SAME_FUNCTION(theirs, ours, isend, send);                   \
  SAME_FUNCTION(theirs, ours, irecv, receive);                \
  SAME_FUNCTION(theirs, ours, iflush, flush);                 \
  SAME_FUNCTION(theirs, ours, test, test);                    \
  SAME_FUNCTION(theirs, ours, closeSend, close_send);         \
  SAME_FUNCTION(theirs, ours, closeRecv, close_receive);      \
  SAME_FUNCTION(theirs, ours, closeListen, close_listen)

SAME_TABLE(ncclNet_v6_t, NetTable<6>);
SAME_TABLE(ncclNet_v7_t, NetTable<7>);
SAME_TABLE(ncclNet_v8_t, NetTable<8>);
SAME_TABLE(ncclNet_v9_t, NetTable<9>);
SAME_TABLE(ncclNet_v10_t, NetTable<10>);
SAME_TABLE(ncclNet_v11_t, NetTable<11>);
SAME_TABLE(ncclNet_v12_t, NetTable<12>);
SAME_FUNCTION(ncclNet_v7_t, NetTable<7>, getDeviceMr, more.device_registration);
SAME_FUNCTION(ncclNet_v10_t, NetTable<10>, irecvConsumed, more.first.consumed);
SAME_FUNCTION(ncclNet_v10_t, NetTable<10>, makeVDevice, more.make_virtual);
SAME_FUNCTION(ncclNet_v11_t, NetTable<11>, finalize, more.finalize);
SAME_FUNCTION(ncclNet_v11_t, NetTable<11>, setNetAttr, more.set_attributes);
SAME_FUNCTION(ncclNet_v12_t, NetTable<12>, makeVDevice, more.make_virtual);
SAME_FUNCTION(ncclNet_v12_t, NetTable<12>, finalize, more.finalize);
SAME_FUNCTION(ncclNet_v12_t, NetTable<12>, setNetAttr, more.set_attributes);

/// The number of a function's arguments and the size of each: a size that became a size_t is seen.
template <class R, class... A>
constexpr std::size_t shape(R (*)(A...)) {
  std::size_t sum = sizeof...(A);
  ((sum = sum * 31 + sizeof(A)), ...);
  return sum;
}
template <class Theirs, class Ours>
constexpr bool same_calls() {
  return shape(decltype(Theirs::init){}) == shape(decltype(Ours::init){}) &&
         shape(decltype(Theirs::listen){}) == shape(decltype(Ours::listen){}) &&
         shape(decltype(Theirs::connect){}) == shape(decltype(Ours::connect){}) &&
         shape(decltype(Theirs::accept){}) == shape(decltype(Ours::accept){}) &&
         shape(decltype(Theirs::regMr){}) == shape(decltype(Ours::register_memory){}) &&
         shape(decltype(Theirs::deregMr){}) == shape(decltype(Ours::deregister){}) &&
         shape(decltype(Theirs::isend){}) == shape(decltype(Ours::send){}) &&
         shape(decltype(Theirs::irecv){}) == shape(decltype(Ours::receive){}) &&
         shape(decltype(Theirs::iflush){}) == shape(decltype(Ours::flush){}) &&
         shape(decltype(Theirs::test){}) == shape(decltype(Ours::test){});
}
static_assert(same_calls<ncclNet_v6_t, NetTable<6>>());
static_assert(same_calls<ncclNet_v7_t, NetTable<7>>());
static_assert(same_calls<ncclNet_v8_t, NetTable<8>>());
static_assert(same_calls<ncclNet_v9_t, NetTable<9>>());
static_assert(same_calls<ncclNet_v10_t, NetTable<10>>());
static_assert(same_calls<ncclNet_v11_t, NetTable<11>>());
static_assert(same_calls<ncclNet_v12_t, NetTable<12>>());

TEST(NcclLayout, IsOurs) {
  SUCCEED() << "what is asserted is asserted by the compiler";
}

}  // namespace
}  // namespace rdmabench::inline v1::netplugin::abi
