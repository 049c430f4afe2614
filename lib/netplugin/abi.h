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

namespace rdmabench::netplugin::abi {

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

struct VirtualDevices {
  int count;
  int devices[kMaxVirtualDevices];
};

struct PropertiesV9 {  // and of version 10
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
  VirtualDevices virtual_devices;
  std::size_t max_point_to_point_bytes;
  std::size_t max_collective_bytes;
};

struct PropertiesV11 {
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
  VirtualDevices virtual_devices;
  std::size_t max_point_to_point_bytes;
  std::size_t max_collective_bytes;
  int max_multi_request;
};

struct VirtualDevicesV12 {
  int count;
  int devices[kMaxVirtualDevicesV12];
};

struct PropertiesV12 {
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
  VirtualDevicesV12 virtual_devices;
  std::size_t max_point_to_point_bytes;
  std::size_t max_collective_bytes;
  int max_multi_request;
  std::int16_t rail_id;
  std::int16_t plane_id;
};

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

// The tables: their functions in the order of the interface. The functions that make a comm or take
// a message changed from version to version.
using Devices = Result (*)(int* count);
using Listen = Result (*)(int device, void* handle, void** listening);
using ConnectV6 = Result (*)(int device, void* handle, void** sending);
using ConnectV7 = Result (*)(int device, void* handle, void** sending, DeviceHandle** on_device);
using ConnectV10 = Result (*)(int device, CommConfig* config, void* handle, void** sending,
                              DeviceHandle** on_device);
using AcceptV6 = Result (*)(void* listening, void** receiving);
using AcceptV7 = Result (*)(void* listening, void** receiving, DeviceHandle** on_device);
using RegisterV6 = Result (*)(void* comm, void* data, int bytes, int kind, void** registration);
using RegisterV8 = Result (*)(void* comm, void* data, std::size_t bytes, int kind,
                              void** registration);
using RegisterDmaBuf = Result (*)(void* comm, void* data, std::size_t bytes, int kind,
                                  std::uint64_t offset, int fd, void** registration);
using Deregister = Result (*)(void* comm, void* registration);
using SendV6 = Result (*)(void* comm, void* data, int bytes, int tag, void* registration,
                          void** request);
using SendV9 = Result (*)(void* comm, void* data, std::size_t bytes, int tag, void* registration,
                          void** request);
using SendV10 = Result (*)(void* comm, void* data, std::size_t bytes, int tag, void* registration,
                           void* profiled, void** request);
using ReceiveV6 = Result (*)(void* comm, int count, void** data, int* bytes, int* tags,
                             void** registrations, void** request);
using ReceiveV9 = Result (*)(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                             void** registrations, void** request);
using ReceiveV10 = Result (*)(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                              void** registrations, void** profiled, void** request);
using Flush = Result (*)(void* comm, int count, void** data, int* bytes, void** registrations,
                         void** request);
using Test = Result (*)(void* request, int* done, int* bytes);
using Close = Result (*)(void* comm);
using DeviceRegistration = Result (*)(void* comm, void* registration, void** on_device);
using Consumed = Result (*)(void* comm, int count, void* request);
using MakeVirtual = Result (*)(int* device, VirtualDevices* parts);

struct NetV6 {
  static constexpr int kVersion = 6;
  using Properties = PropertiesV6;
  const char* name;
  Result (*init)(Logger);
  Devices devices;
  Result (*properties)(int, PropertiesV6*);
  Listen listen;
  ConnectV6 connect;
  AcceptV6 accept;
  RegisterV6 register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  SendV6 send;
  ReceiveV6 receive;
  Flush flush;
  Test test;
  Close close_send, close_receive, close_listen;
};

/// Of versions 7 and 8.
template <int kNumber, class PropertiesOf, class Register>
struct NetWithDevice {
  static constexpr int kVersion = kNumber;
  using Properties = PropertiesOf;
  const char* name;
  Result (*init)(Logger);
  Devices devices;
  Result (*properties)(int, PropertiesOf*);
  Listen listen;
  ConnectV7 connect;
  AcceptV7 accept;
  Register register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  SendV6 send;
  ReceiveV6 receive;
  Flush flush;
  Test test;
  Close close_send, close_receive, close_listen;
  DeviceRegistration device_registration;
  Consumed consumed;
};
using NetV7 = NetWithDevice<7, PropertiesV7, RegisterV6>;
using NetV8 = NetWithDevice<8, PropertiesV8, RegisterV8>;

/// Of versions 9 and 10.
template <int kNumber, class Init, class Connect, class Send, class Receive>
struct NetWithVirtual {
  static constexpr int kVersion = kNumber;
  using Properties = PropertiesV9;
  const char* name;
  Init init;
  Devices devices;
  Result (*properties)(int, PropertiesV9*);
  Listen listen;
  Connect connect;
  AcceptV7 accept;
  RegisterV8 register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  Send send;
  Receive receive;
  Flush flush;
  Test test;
  Close close_send, close_receive, close_listen;
  DeviceRegistration device_registration;
  Consumed consumed;
  MakeVirtual make_virtual;
};
using NetV9 = NetWithVirtual<9, Result (*)(Logger), ConnectV7, SendV9, ReceiveV9>;
using NetV10 =
    NetWithVirtual<10, Result (*)(Logger, ProfilerCallback), ConnectV10, SendV10, ReceiveV10>;

/// Of versions 11 and 12.
template <int kNumber, class PropertiesOf, class VirtualDevicesOf>
struct NetWithContext {
  static constexpr int kVersion = kNumber;
  using Properties = PropertiesOf;
  const char* name;
  Result (*init)(void** context, std::uint64_t comm_id, CommConfig*, Logger, ProfilerCallback);
  Devices devices;
  Result (*properties)(int, PropertiesOf*);
  Result (*listen)(void* context, int device, void* handle, void** listening);
  Result (*connect)(void* context, int device, void* handle, void** sending, DeviceHandle**);
  AcceptV7 accept;
  RegisterV8 register_memory;
  RegisterDmaBuf register_dma_buf;
  Deregister deregister;
  SendV10 send;
  ReceiveV10 receive;
  Flush flush;
  Test test;
  Close close_send, close_receive, close_listen;
  DeviceRegistration device_registration;
  Consumed consumed;
  Result (*make_virtual)(int* device, VirtualDevicesOf* parts);
  Result (*finalize)(void* context);
  Result (*set_attributes)(void* context, Attributes*);
};
using NetV11 = NetWithContext<11, PropertiesV11, VirtualDevices>;
using NetV12 = NetWithContext<12, PropertiesV12, VirtualDevicesV12>;

}  // namespace rdmabench::netplugin::abi
