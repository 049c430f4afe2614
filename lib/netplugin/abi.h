// netplugin: NCCL's network plugins, driven without NCCL, GPU or MPI.
//
// This file declares versions 6 to 12 of the plugin interface, without NCCL's headers. A plugin
// exports a table of functions under the name "ncclNetPlugin_v<N>". Sources: NCCL 2.28 and
// 2.30, plugins/net/README.md and src/include/plugin/net/; tests/unit/netplugin compares every
// size and offset with NCCL's headers if RDMABENCH_NCCL_NET_INCLUDE names their folder.
//
// A structure that several versions share is one type here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rdmabench::inline v1::netplugin::abi {

inline constexpr std::size_t kHandleBytes = 128;  ///< written by listen()
inline constexpr int kMaxRequests = 32;           ///< in flight on a comm; a group counts as one
inline constexpr int kSteps = 8;  ///< of them those that NCCL 2.30 has in flight (NCCL_STEPS)
inline constexpr int kMaxVirtualDevices = 4;  ///< of one NIC, up to version 11
inline constexpr int kMaxVirtualDevicesV12 = 8;
inline constexpr int kHostMemory = 1;  ///< bits: kinds of memory that a plugin can register
inline constexpr int kDeviceMemory = 2;
inline constexpr int kDmaBuf = 4;
inline constexpr int kUndefinedTrafficClass = -1;
inline constexpr int kUndefinedId = -1;  ///< of a rail or a plane
inline constexpr int kDrivenByHost = 0;  ///< types of a device
inline constexpr int kUnpackedByGpu = 1;
inline constexpr int kUnpackVersion = 7;
inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 40;

/// NCCL passes this in the request of irecv() if it detects arrival by the data itself.
inline constexpr std::uintptr_t kOptionalCompletion = 1;

/// ncclResult_t, an enumeration and so an int.
using Result = int;
inline constexpr Result kSuccess = 0, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4,
                        kInvalidUsage = 5, kRemoteError = 6;

/// Levels of the logger: 2 is a warning, 3 information.
using Logger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);
using ProfilerCallback = Result (*)(void** event, int type, void* handle, std::int64_t plugin,
                                    void* data);

struct PropertiesV6 {
  char* name;
  char* pci_path;  ///< folder of the PCI device in /sys; null if there is none
  std::uint64_t guid;
  int pointer_kinds;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_receives;
};

struct PropertiesV7 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointer_kinds;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_receives;
  int device_type;  ///< 0: driven by the host
  int device_version;
};

struct PropertiesV8 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointer_kinds;
  int global_registration;  ///< 1: a registration is valid for every comm
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_receives;
  int device_type;
  int device_version;
};

template <int kMost>
struct VirtualDevicesOf {
  int count;
  int devices[kMost];
};
using VirtualDevices = VirtualDevicesOf<kMaxVirtualDevices>;
using VirtualDevicesV12 = VirtualDevicesOf<kMaxVirtualDevicesV12>;

struct Nothing {};
struct MoreV11 {
  int max_multi_request;
};
struct MoreV12 {
  int max_multi_request;
  std::int16_t rail_id;
  std::int16_t plane_id;
};
template <class Virtual, class More>
struct PropertiesFromV9 {
  char* name;
  char* pci_path;
  std::uint64_t guid;
  int pointer_kinds;
  int global_registration;
  int force_flush;
  int speed_mbps;
  int port;
  float latency_us;
  int max_comms;
  int max_receives;
  int device_type;
  int device_version;
  Virtual virtual_devices;
  std::size_t max_point_to_point_bytes;
  std::size_t max_collective_bytes;
  [[no_unique_address]] More more;
};
using PropertiesV9 = PropertiesFromV9<VirtualDevices, Nothing>;  // and of version 10
using PropertiesV11 = PropertiesFromV9<VirtualDevices, MoreV11>;
using PropertiesV12 = PropertiesFromV9<VirtualDevicesV12, MoreV12>;

struct CommConfig {
  int traffic_class;
};

/// Of a comm that the GPU drives. rdmabench ignores it.
struct DeviceHandle {
  int type;
  int version;
  void* handle;
  std::size_t size;
  int needs_progress;
};

struct PeerCounts {
  std::int32_t max_peers, min_peers, max_flows, min_flows;
};
struct Attributes {
  PeerCounts send, receive;
  std::uint32_t operation, algorithm, protocol;
};

// Functions that changed from version to version: what an older one lacks is a parameter.
template <class... Arguments>
using Init = Result (*)(Arguments... arguments);
template <class... Context>
using Listen = Result (*)(Context... context, int device, void* handle, void** listening);
template <class... OnDevice>
using Accept = Result (*)(void* listening, void** receiving, OnDevice... on_device);
template <class Bytes, class... Profiled>
using Send = Result (*)(void* comm, void* data, Bytes bytes, int tag, void* registration,
                        Profiled... profiled, void** request);
template <class Bytes, class... Profiled>
using Receive = Result (*)(void* comm, int count, void** data, Bytes* bytes, int* tags,
                           void** registrations, Profiled... profiled, void** request);
using ConnectV6 = Result (*)(int device, void* handle, void** sending);
using ConnectV7 = Result (*)(int device, void* handle, void** sending, DeviceHandle** on_device);
using ConnectV10 = Result (*)(int device, CommConfig* config, void* handle, void** sending,
                              DeviceHandle** on_device);
using ConnectV11 = Result (*)(void* context, int device, void* handle, void** sending,
                              DeviceHandle** on_device);
using Close = Result (*)(void* comm);

/// What versions from 7 on have behind the functions of version 6.
struct AppendedV7 {
  Result (*device_registration)(void* comm, void* registration, void** on_device);
  Result (*consumed)(void* comm, int count, void* request);
};
struct AppendedV9 {
  AppendedV7 first;
  Result (*make_virtual)(int* device, VirtualDevices* parts);
};
template <class Virtual>
struct AppendedV11 {
  AppendedV7 first;
  Result (*make_virtual)(int* device, Virtual* parts);
  Result (*finalize)(void* context);
  Result (*set_attributes)(void* context, Attributes*);
};

/// What a plugin exports: its functions in the order of the interface.
template <int kNumber>
struct NetTable {
  static constexpr int kVersion = kNumber;
  /// `New` from version kFirst on.
  template <int kFirst, class New, class Old>
  using From = std::conditional_t<(kNumber >= kFirst), New, Old>;
  using Properties =
      From<12, PropertiesV12,
           From<11, PropertiesV11,
                From<9, PropertiesV9, From<8, PropertiesV8, From<7, PropertiesV7, PropertiesV6>>>>>;
  using Appended = From<
      12, AppendedV11<VirtualDevicesV12>,
      From<11, AppendedV11<VirtualDevices>, From<9, AppendedV9, From<7, AppendedV7, Nothing>>>>;

  const char* name;
  From<11, Init<void**, std::uint64_t, CommConfig*, Logger, ProfilerCallback>,
       From<10, Init<Logger, ProfilerCallback>, Init<Logger>>>
      init;
  Result (*devices)(int* count);
  Result (*properties)(int, Properties*);
  From<11, Listen<void*>, Listen<>> listen;
  From<11, ConnectV11, From<10, ConnectV10, From<7, ConnectV7, ConnectV6>>> connect;
  From<7, Accept<DeviceHandle**>, Accept<>> accept;
  Result (*register_memory)(void* comm, void* data, From<8, std::size_t, int> bytes, int kind,
                            void** registration);
  Result (*register_dma_buf)(void* comm, void* data, std::size_t bytes, int kind,
                             std::uint64_t offset, int fd, void** registration);
  Result (*deregister)(void* comm, void* registration);
  From<10, Send<std::size_t, void*>, Send<From<9, std::size_t, int>>> send;
  From<10, Receive<std::size_t, void**>, Receive<From<9, std::size_t, int>>> receive;
  Result (*flush)(void* comm, int count, void** data, int* bytes, void** registrations,
                  void** request);
  Result (*test)(void* request, int* done, int* bytes);
  Close close_send, close_receive, close_listen;
  [[no_unique_address]] Appended more;
};

}  // namespace rdmabench::inline v1::netplugin::abi
