// The tables that NCCL looks up: ncclNetPlugin_v6 to ncclNetPlugin_v11, and nothing else.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <type_traits>

#include "attempts.h"
#include "netplugin/abi.h"
#include "rdmabench/base/error.h"
#include "setup.h"

namespace rdmabench::netplugin::plugin {
namespace {

constexpr const char* kName = "rdmabench";

/// Found once, at the first init().
struct State {
  std::mutex mutex;
  bool ready = false;
  Settings settings;
  std::vector<Device> devices;
  abi::Logger logger = nullptr;
  int registration = 0;  ///< its address is every registration: messages are copied into slots
  int context = 0;       ///< its address is every context
};

State& state() {
  static State only;
  return only;
}

/// Never destroyed: a comm that nobody fetched may not end later than its back end's own statics.
Attempts& attempts() {
  static Attempts* const only = new Attempts;
  return *only;
}

void warn(const char* text) {
  constexpr int kWarning = 2;
  constexpr unsigned long kNetwork = 16;
  if (state().logger != nullptr) {
    state().logger(kWarning, kNetwork, kName, 0, "NET/rdmabench: %s", text);
  }
}

/// No exception may reach NCCL.
template <class Work>
abi::Result guarded(Work&& work) noexcept {
  try {
    return work();
  } catch (const Error& error) {
    warn(error.what());
    return error.fault() == Fault::usage ? abi::kInvalidUsage : abi::kSystemError;
  } catch (const std::exception& error) {
    warn(error.what());
    return abi::kSystemError;
  }
}

const Device& device_at(int index) {
  if (index < 0 || index >= static_cast<int>(state().devices.size())) {
    throw Error(Fault::usage, fmt::format("device {}", index),
                fmt::format("There are {}.", state().devices.size()));
  }
  return state().devices[static_cast<std::size_t>(index)];
}

abi::Result init(abi::Logger logger) {
  return guarded([&] {
    background();  // before what it must outlive
    State& all = state();
    const std::lock_guard lock(all.mutex);
    all.logger = logger;
    if (!all.ready) {
      all.settings = read_settings();
      all.devices = find_devices(all.settings);
      all.ready = true;
    }
    return abi::kSuccess;
  });
}

abi::Result devices(int* count) {
  *count = static_cast<int>(state().devices.size());
  return abi::kSuccess;
}

template <class Properties>
abi::Result properties(int index, Properties* to) {
  return guarded([&] {
    const Device& device = device_at(index);
    *to = {};
    to->name = const_cast<char*>(device.shown.c_str());
    to->pci_path = device.pci_path.empty() ? nullptr : const_cast<char*>(device.pci_path.c_str());
    to->guid = static_cast<std::uint64_t>(index);
    to->pointer_kinds = abi::kHostMemory;
    to->speed_mbps = device.speed_mbps;
    to->port = device.port;
    to->max_comms = 65536;
    to->max_receives = kMaxGroup;
    if constexpr (requires { to->global_registration; }) to->global_registration = 1;
    if constexpr (requires { to->virtual_devices; }) {
      to->virtual_devices.count = 1;
      to->virtual_devices.devices[0] = index;
      to->max_point_to_point_bytes = std::size_t{1} << 30U;
      to->max_collective_bytes = std::size_t{1} << 30U;
    }
    if constexpr (requires { to->max_multi_request; }) to->max_multi_request = 1;
    return abi::kSuccess;
  });
}

abi::Result listen(int device, void* handle, void** comm) {
  return guarded([&] {
    Handle made;
    auto listening = std::make_unique<Listening>(state().settings, device_at(device), made);
    std::memset(handle, 0, abi::kHandleBytes);
    std::memcpy(handle, &made, sizeof made);
    *comm = listening.release();
    return abi::kSuccess;
  });
}

/// NCCL calls again with the same handle, in which lies the number of what was begun.
abi::Result connect(int device, void* handle, void** comm) {
  *comm = nullptr;
  return guarded([&] {
    Handle given;
    std::memcpy(&given, handle, sizeof given);
    const auto keep = [&] { std::memcpy(handle, &given, sizeof given); };
    try {
      auto sender = attempts().connect(state().settings, device_at(device), given);
      keep();
      *comm = sender.release();
    } catch (...) {
      keep();
      throw;
    }
    return abi::kSuccess;
  });
}

abi::Result accept(void* listening, void** comm) {
  *comm = nullptr;
  return guarded([&] {
    if (auto receiver = static_cast<Listening*>(listening)->take()) *comm = receiver.release();
    return abi::kSuccess;
  });
}

template <class Size>
abi::Result register_memory(void* /*comm*/, void* /*data*/, Size /*bytes*/, int kind,
                            void** registration) {
  if (kind != abi::kHostMemory) {
    warn("it takes host memory only");
    return abi::kInvalidUsage;
  }
  *registration = &state().registration;
  return abi::kSuccess;
}

abi::Result deregister(void* /*comm*/, void* /*registration*/) {
  return abi::kSuccess;
}

abi::Result warned(const Comm& comm, abi::Result result) {
  if (result == abi::kSystemError) warn(comm.trouble().c_str());
  return result;
}

template <class Size>
abi::Result send(void* comm, void* data, Size bytes, int tag, void** request) {
  auto& sender = *static_cast<Sender*>(comm);
  return warned(sender, sender.send(data, static_cast<std::size_t>(bytes), tag, request));
}

template <class Size>
abi::Result receive(void* comm, int count, void** data, Size* bytes, int* tags, void** request) {
  auto& receiver = *static_cast<Receiver*>(comm);
  std::array<std::size_t, kMaxGroup> sizes{};
  for (int i = 0; i < count && i < static_cast<int>(kMaxGroup); ++i) {
    sizes[static_cast<std::size_t>(i)] = static_cast<std::size_t>(bytes[i]);
  }
  return warned(receiver, receiver.receive(count, data, sizes.data(), tags, request));
}

/// Host memory holds what has arrived.
abi::Result flush(void* /*comm*/, int /*count*/, void** /*data*/, int* /*bytes*/,
                  void** /*registrations*/, void** request) {
  *request = nullptr;
  return abi::kSuccess;
}

abi::Result test(void* request, int* done, int* bytes) {
  const auto& one = *static_cast<const Request*>(request);
  return warned(*one.comm, one.comm->test(one, done, bytes));
}

template <class T>
abi::Result close_comm(void* comm) {
  return guarded([&] {
    background().bury(std::unique_ptr<Comm>(static_cast<T*>(comm)), state().settings.linger);
    return abi::kSuccess;
  });
}

abi::Result close_listen(void* comm) {
  return guarded([&] {
    delete static_cast<Listening*>(comm);
    return abi::kSuccess;
  });
}

template <class Size>
abi::Result send_plain(void* comm, void* data, Size bytes, int tag, void* /*registration*/,
                       void** request) {
  return send(comm, data, bytes, tag, request);
}
abi::Result send_profiled(void* comm, void* data, std::size_t bytes, int tag,
                          void* /*registration*/, void* /*profiled*/, void** request) {
  return send(comm, data, bytes, tag, request);
}
template <class Size>
abi::Result receive_plain(void* comm, int count, void** data, Size* bytes, int* tags,
                          void** /*registrations*/, void** request) {
  return receive(comm, count, data, bytes, tags, request);
}
abi::Result receive_profiled(void* comm, int count, void** data, std::size_t* bytes, int* tags,
                             void** /*registrations*/, void** /*profiled*/, void** request) {
  return receive(comm, count, data, bytes, tags, request);
}
abi::Result connect_device(int device, void* handle, void** comm, abi::DeviceHandle**) {
  return connect(device, handle, comm);
}
abi::Result connect_config(int device, abi::CommConfig*, void* handle, void** comm,
                           abi::DeviceHandle**) {
  return connect(device, handle, comm);
}
abi::Result accept_device(void* listening, void** comm, abi::DeviceHandle**) {
  return accept(listening, comm);
}

/// What all versions share; the rest follows from the version's types.
template <class Table>
Table table() {
  constexpr int kVersion = Table::kVersion;
  Table t{};
  t.name = kName;
  if constexpr (kVersion >= 11) {
    t.init = [](void** context, std::uint64_t, abi::CommConfig*, abi::Logger logger,
                abi::ProfilerCallback) {
      *context = &state().context;
      return init(logger);
    };
    t.listen = [](void*, int device, void* handle, void** comm) {
      return listen(device, handle, comm);
    };
    t.connect = [](void*, int device, void* handle, void** comm, abi::DeviceHandle**) {
      return connect(device, handle, comm);
    };
    t.finalize = [](void*) { return abi::Result{abi::kSuccess}; };
  } else if constexpr (kVersion == 10) {
    t.init = [](abi::Logger logger, abi::ProfilerCallback) { return init(logger); };
    t.listen = &listen;
    t.connect = &connect_config;
  } else {
    t.init = &init;
    t.listen = &listen;
    if constexpr (kVersion >= 7) {
      t.connect = &connect_device;
    } else {
      t.connect = &connect;
    }
  }
  t.devices = &devices;
  t.properties = &properties<typename Table::Properties>;
  if constexpr (kVersion >= 7) {
    t.accept = &accept_device;
  } else {
    t.accept = &accept;
  }
  using Narrow = std::conditional_t<kVersion >= 9, std::size_t, int>;
  using Registered = std::conditional_t<kVersion >= 8, std::size_t, int>;
  t.register_memory = &register_memory<Registered>;
  t.deregister = &deregister;
  if constexpr (kVersion >= 10) {
    t.send = &send_profiled;
    t.receive = &receive_profiled;
  } else {
    t.send = &send_plain<Narrow>;
    t.receive = &receive_plain<Narrow>;
  }
  t.flush = &flush;
  t.test = &test;
  t.close_send = &close_comm<Sender>;
  t.close_receive = &close_comm<Receiver>;
  t.close_listen = &close_listen;
  return t;
}

}  // namespace
}  // namespace rdmabench::netplugin::plugin

namespace abi = rdmabench::netplugin::abi;
namespace made = rdmabench::netplugin::plugin;

extern "C" {
extern const abi::NetV6 ncclNetPlugin_v6;
extern const abi::NetV7 ncclNetPlugin_v7;
extern const abi::NetV8 ncclNetPlugin_v8;
extern const abi::NetV9 ncclNetPlugin_v9;
extern const abi::NetV10 ncclNetPlugin_v10;
extern const abi::NetV11 ncclNetPlugin_v11;
const abi::NetV6 ncclNetPlugin_v6 = made::table<abi::NetV6>();
const abi::NetV7 ncclNetPlugin_v7 = made::table<abi::NetV7>();
const abi::NetV8 ncclNetPlugin_v8 = made::table<abi::NetV8>();
const abi::NetV9 ncclNetPlugin_v9 = made::table<abi::NetV9>();
const abi::NetV10 ncclNetPlugin_v10 = made::table<abi::NetV10>();
const abi::NetV11 ncclNetPlugin_v11 = made::table<abi::NetV11>();
}
