// A network plugin that passes everything on to a good one, but for one planted fault. For tests of
// `rdmabench netplugin` alone.
//
// RDMABENCH_BROKEN_PLUGIN is the good one's file, RDMABENCH_BROKEN_FAULT the fault:
//   order            two sends change places now and then
//   tags             in a group of receives the first two buffers change places
//   size             test() gives the room of a receive as its size
//   refused          no more than 8 receives can be under way
//   refused-by-error the same, with an error in place of a null request
//   refused-early    with an error from the fifth receive on
//   lost             of more than 8 sends under way one is never sent
//   close-hang       closing a sender waits for its sends
//   close-crash      closing a receiver crashes while receives are under way
//   handle-long      a handle has 160 bytes
//   handle-garbage   the handle is not where the listener is
//   connect-waits    connect() waits until the other end accepts
//   no-devices       there is no device, and init() succeeds
//   late-hole        init() leaves out a function of the table
//   no-init          the table has no init()
//   logs             init() logs twelve lines and prints one, and fails
//   exits            isend() calls exit(3)
//   handler-exits    isend() crashes, and a handler of the plugin ends the process with 7
//   handler-hangs    the same, and the handler does not return
//   handler-late     as handler-exits, but connect() installs the handler
//   init-crashes     init() crashes
//   forks            isend() ends the process, but another one that it started has its files
//   no-speed         the speed is 0, the rail -7 and the folder of the device not there
//   vnic-overflow    a device consists of more devices than there is room for
//   no-bytes         no message is small enough
//   no-flush         there is GPU memory and no iflush()
//   unknown-type     the device is of an unknown type
//   same-names       two devices have one name
//   slow-twins       the same, with a speed of 0
//   no-name          the table has no name
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "netplugin/abi.h"

namespace {

namespace abi = rdmabench::netplugin::abi;
using abi::Result;

struct Broken {
  std::string fault;
  const abi::NetTable<12>* good = nullptr;
  std::mutex mutex;
  std::map<void*, int> under_way;  // by comm
  std::map<void*, int> count;      // of sends, by comm
};

Broken& broken() {
  static Broken only;
  return only;
}

bool has(const char* fault) {
  return broken().fault == fault;
}

bool twins() {
  return has("same-names") || has("slow-twins");
}

int& under_way(void* comm) {
  const std::lock_guard lock(broken().mutex);
  return broken().under_way[comm];
}

/// Stands for the good one's request, or for a send that was put off.
struct Request {
  void* inner = nullptr;
  void* comm = nullptr;
  bool lost = false;
  bool receive = false;
  int rooms[8] = {};
  int groups = 1;
  // Of a send that waits for the next one to go first.
  bool held = false;
  void* data = nullptr;
  std::size_t bytes = 0;
  int tag = 0;
  void* registration = nullptr;
};

std::map<void*, Request*>& held_sends() {
  static std::map<void*, Request*> all;
  return all;
}

void release_held(void* comm) {
  Request* request = nullptr;
  {
    const std::lock_guard lock(broken().mutex);
    const auto found = held_sends().find(comm);
    if (found == held_sends().end()) return;
    request = found->second;
  }
  broken().good->send(comm, request->data, request->bytes, request->tag, request->registration,
                      nullptr, &request->inner);
  if (request->inner == nullptr) return;  // again at the next test
  request->held = false;
  const std::lock_guard lock(broken().mutex);
  held_sends().erase(comm);
}

void plant_in_table();

Result init(void** context, std::uint64_t id, abi::CommConfig* config, abi::Logger logger,
            abi::ProfilerCallback profiler) {
  const char* const file = std::getenv("RDMABENCH_BROKEN_PLUGIN");
  const char* const fault = std::getenv("RDMABENCH_BROKEN_FAULT");
  broken().fault = fault == nullptr ? "" : fault;
  plant_in_table();
  if (has("logs")) {
    for (int i = 1; i <= 12; ++i) logger(i % 2 == 0 ? 2 : 3, 16, "broken", i, "line %d", i);
    std::puts("printed");
    return abi::kSystemError;
  }
  if (has("init-crashes")) std::raise(SIGSEGV);
  if (has("handler-exits")) std::signal(SIGSEGV, [](int) { _exit(7); });
  if (has("handler-hangs")) {
    std::signal(SIGSEGV, [](int) {
      for (;;) pause();
    });
  }
  void* const library = file == nullptr ? nullptr : dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return abi::kSystemError;
  broken().good = static_cast<const abi::NetTable<12>*>(dlsym(library, "ncclNetPlugin_v12"));
  return broken().good->init(context, id, config, logger, profiler);
}

Result devices(int* count) {
  if (has("no-devices")) {
    *count = 0;
    return abi::kSuccess;
  }
  const Result result = broken().good->devices(count);
  if (twins()) *count = 2;
  return result;
}

Result properties(int device, abi::PropertiesV12* to) {
  static char nowhere[] = "/sys/nowhere";
  const Result result = broken().good->properties(twins() ? 0 : device, to);
  if (has("no-speed")) {
    to->speed_mbps = 0;
    to->more.rail_id = -7;
    to->pci_path = nowhere;
  }
  if (has("slow-twins")) to->speed_mbps = 0;
  if (has("vnic-overflow")) to->virtual_devices.count = abi::kMaxVirtualDevicesV12 + 1;
  if (has("no-bytes")) to->max_point_to_point_bytes = 0;
  if (has("no-flush")) to->pointer_kinds |= abi::kDeviceMemory;
  if (has("unknown-type")) to->device_type = 9;
  return result;
}

int garbage = 1;

Result listen(void* context, int device, void* handle, void** comm) {
  const Result result = broken().good->listen(context, device, handle, comm);
  if (has("handle-long")) std::memset(static_cast<char*>(handle) + 120, 7, 40);
  if (has("handle-garbage")) std::memset(static_cast<char*>(handle) + 8, garbage++, 16);
  return result;
}

Result connect(void* context, int device, void* handle, void** comm, abi::DeviceHandle** on) {
  if (has("handler-late")) std::signal(SIGSEGV, [](int) { _exit(7); });
  Result result = broken().good->connect(context, device, handle, comm, on);
  // A comm of its own comes of it only when the other end has accepted; here it is waited for.
  while (has("connect-waits") && result == abi::kSuccess) {
    if (*comm != nullptr) pause();
    usleep(1000);
    result = broken().good->connect(context, device, handle, comm, on);
  }
  return result;
}

Result accept(void* listening, void** comm, abi::DeviceHandle** on) {
  return broken().good->accept(listening, comm, on);
}

Result register_memory(void* comm, void* data, std::size_t bytes, int kind, void** registration) {
  return broken().good->register_memory(comm, data, bytes, kind, registration);
}
Result deregister(void* comm, void* registration) {
  return broken().good->deregister(comm, registration);
}

Result send(void* comm, void* data, std::size_t bytes, int tag, void* registration, void* profiled,
            void** request) {
  *request = nullptr;
  if (has("exits")) std::exit(3);
  if (has("handler-exits") || has("handler-hangs") || has("handler-late")) std::raise(SIGSEGV);
  if (has("forks")) {
    if (fork() == 0) {
      sleep(30);
      _exit(0);
    }
    _exit(4);
  }
  const int number = [&] {
    const std::lock_guard lock(broken().mutex);
    return broken().count[comm];
  }();
  auto one = std::make_unique<Request>();
  one->comm = comm;
  if (has("order") && number % 8 == 5) {
    one->held = true;
    one->data = data;
    one->bytes = bytes;
    one->tag = tag;
    one->registration = registration;
    const std::lock_guard lock(broken().mutex);
    held_sends()[comm] = one.get();
  } else if (has("lost") && under_way(comm) >= 8) {
    one->lost = true;
  } else {
    const Result result =
        broken().good->send(comm, data, bytes, tag, registration, profiled, &one->inner);
    if (result != abi::kSuccess || one->inner == nullptr) return result;
    release_held(comm);
  }
  {
    const std::lock_guard lock(broken().mutex);
    ++broken().count[comm];
    ++broken().under_way[comm];
  }
  *request = one.release();
  return abi::kSuccess;
}

Result receive(void* comm, int count, void** data, std::size_t* bytes, int* tags,
               void** registrations, void** profiled, void** request) {
  *request = nullptr;
  if (has("refused") && under_way(comm) >= 8) return abi::kSuccess;
  if (has("refused-by-error") && under_way(comm) >= 8) return abi::kInternalError;
  if (has("refused-early") && under_way(comm) >= 4) return abi::kInternalError;
  if (has("tags") && count > 1) {
    std::swap(data[0], data[1]);
    std::swap(bytes[0], bytes[1]);
  }
  auto one = std::make_unique<Request>();
  one->comm = comm;
  one->receive = true;
  one->groups = count;
  for (int i = 0; i < count && i < 8; ++i) one->rooms[i] = static_cast<int>(bytes[i]);
  const Result result =
      broken().good->receive(comm, count, data, bytes, tags, registrations, profiled, &one->inner);
  if (result != abi::kSuccess || one->inner == nullptr) return result;
  ++under_way(comm);
  *request = one.release();
  return abi::kSuccess;
}

Result flush(void* comm, int count, void** data, int* bytes, void** registrations, void** request) {
  return broken().good->flush(comm, count, data, bytes, registrations, request);
}

Result test(void* request, int* done, int* bytes) {
  auto* const one = static_cast<Request*>(request);
  *done = 0;
  if (one->lost) return abi::kSuccess;
  if (one->held) release_held(one->comm);
  if (one->held) return abi::kSuccess;
  const Result result = broken().good->test(one->inner, done, bytes);
  if (*done == 0) return result;
  --under_way(one->comm);
  if (has("size") && one->receive && bytes != nullptr) {
    for (int i = 0; i < one->groups; ++i) bytes[i] = one->rooms[i];
  }
  delete one;
  return result;
}

Result close_send(void* comm) {
  if (has("close-hang") && under_way(comm) > 0) pause();
  return broken().good->close_send(comm);
}
Result close_receive(void* comm) {
  if (has("close-crash") && under_way(comm) > 0) std::abort();
  return broken().good->close_receive(comm);
}
Result close_listen(void* comm) {
  return broken().good->close_listen(comm);
}
Result finalize(void* context) {
  return broken().good->more.finalize(context);
}

}  // namespace

extern "C" {
extern abi::NetTable<12> ncclNetPlugin_v12;
abi::NetTable<12> ncclNetPlugin_v12{"broken",     init,
                                    devices,      properties,
                                    listen,       connect,
                                    accept,       register_memory,
                                    nullptr,      deregister,
                                    send,         receive,
                                    flush,        test,
                                    close_send,   close_receive,
                                    close_listen, {{nullptr, nullptr}, nullptr, finalize, nullptr}};
}

namespace {

void plant_in_table() {
  if (has("late-hole")) ncclNetPlugin_v12.close_receive = nullptr;
  if (has("no-flush")) ncclNetPlugin_v12.flush = nullptr;
}

// What NCCL reads before init().
__attribute__((constructor)) void plant_at_load() {
  const char* const fault = std::getenv("RDMABENCH_BROKEN_FAULT");
  const std::string_view name = fault == nullptr ? "" : fault;
  if (name == "no-init") ncclNetPlugin_v12.init = nullptr;
  if (name == "no-name") ncclNetPlugin_v12.name = nullptr;
}

}  // namespace
