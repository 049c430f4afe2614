// Cases of the set-up of a plugin and of connections.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <system_error>

#include "case_runner.h"

namespace rdmabench::inline v1::netplugin {
namespace {

void check(bool right, const std::string& what) {
  if (!right) throw Failed{what};
}

/// What is said of devices: once, where it is true of several.
class Remarks {
 public:
  void add(int device, const std::string& what) {
    const auto same =
        std::find_if(all_.begin(), all_.end(), [&](const Remark& one) { return one.what == what; });
    (same == all_.end() ? all_.emplace_back(Remark{what, {}}) : *same).devices.push_back(device);
  }
  void pass_on(CaseRunner& runner) const {
    for (const Remark& one : all_) {
      runner.warn(fmt::format("{} {}: {}", one.devices.size() == 1 ? "device" : "devices",
                              fmt::join(one.devices, ", "), one.what));
    }
  }

 private:
  struct Remark {
    std::string what;
    std::vector<int> devices;
  };
  std::vector<Remark> all_;
};

/// Of each property what NCCL does with a wrong one: it is a FAIL where NCCL then does not work.
/// Sources: NCCL 2.30, src/plugin/net.cc, src/graph/topo.cc, src/graph/xml.cc,
/// src/transport/net.cc.
void check_properties(CaseRunner& runner, int device, const Properties& p, Remarks& remarks) {
  const auto at = [device](const std::string& text) {
    return fmt::format("device {}: {}", device, text);
  };
  const auto prefer = [&](bool right, const std::string& what, std::string_view does) {
    if (!right) remarks.add(device, fmt::format("{} (NCCL {})", what, does));
  };
  check(p.name.has_value(), at("the name is missing: NCCL finds a device by it"));
  prefer(!p.name->empty(), "the name is empty", "takes it");
  if (p.pci_path) {
    std::error_code error;
    prefer(
        std::filesystem::is_directory(*p.pci_path, error),
        fmt::format("pciPath '{}' is not a folder; a virtual device must have NULL", *p.pci_path),
        "takes the device as one without PCI, near the first CPU");
  }
  prefer((p.pointer_kinds & abi::kHostMemory) != 0,
         fmt::format("ptrSupport {:#x} lacks NCCL_PTR_HOST (1)", p.pointer_kinds),
         "registers host memory without looking");
  prefer((p.pointer_kinds & ~7) == 0,
         fmt::format("ptrSupport {:#x} has undefined bits", p.pointer_kinds), "ignores them");
  prefer((p.pointer_kinds & abi::kDmaBuf) == 0 || runner.net().has_dma_buf(),
         "ptrSupport has NCCL_PTR_DMABUF, but regMrDmaBuf is missing", "then uses no DMA-BUF");
  prefer(p.speed_mbps > 0, fmt::format("speed is {} Mb/s", p.speed_mbps),
         "takes 10000, by which it chooses among devices");
  prefer(p.port >= 0, fmt::format("port is {}", p.port), "takes it");
  prefer(std::isfinite(p.latency_us) && p.latency_us >= 0,
         fmt::format("latency is {} us", p.latency_us), "takes it to choose an algorithm");
  check(p.max_comms > 0,
        at(fmt::format("maxComms is {}: NCCL would make no channel over it", p.max_comms)));
  prefer(p.max_receives > 0, fmt::format("maxRecvs is {}", p.max_receives), "takes it as 1");
  if (p.device_type && *p.device_type != abi::kDrivenByHost) {
    const bool known = *p.device_type == abi::kUnpackedByGpu &&
                       p.device_version.value_or(0) == abi::kUnpackVersion;
    const std::string what = fmt::format("netDeviceType {} of version {} is unknown",
                                         *p.device_type, p.device_version.value_or(0));
    check(known || device > 0, at(what + ": NCCL would not take the plugin"));
    prefer(known, what, "looks at device 0 alone");
  }
  if (p.virtual_devices) {
    const int most =
        runner.net().version() >= 12 ? abi::kMaxVirtualDevicesV12 : abi::kMaxVirtualDevices;
    check(*p.virtual_devices <= most,
          at(fmt::format("vProps.ndevs is {}, of which there is room for {}", *p.virtual_devices,
                         most)));
    prefer(*p.virtual_devices >= 0, fmt::format("vProps.ndevs is {}", *p.virtual_devices),
           "takes it as 0");
  }
  if (p.max_point_to_point_bytes) {
    check(*p.max_point_to_point_bytes > 0 && *p.max_point_to_point_bytes <= abi::kMaxMessageBytes,
          at(fmt::format("maxP2pBytes is {}: NCCL would refuse every connection",
                         *p.max_point_to_point_bytes)));
    prefer(*p.max_collective_bytes > 0 && *p.max_collective_bytes <= abi::kMaxMessageBytes,
           fmt::format("maxCollBytes is {}", *p.max_collective_bytes),
           "reads it for plugins of collectives alone");
  }
  prefer(p.rail_id.value_or(0) >= abi::kUndefinedId,
         fmt::format("railId is {}; without one it is -1", p.rail_id.value_or(0)),
         "takes it as a rail");
  prefer(p.plane_id.value_or(0) >= abi::kUndefinedId,
         fmt::format("planeId is {}; without one it is -1", p.plane_id.value_or(0)),
         "takes it as a plane");
}

}  // namespace

namespace cases_of {

/// The functions and init() have been checked before the case starts.
void init(CaseRunner& runner) {
  if (runner.net().name() == nullptr) {
    runner.warn("the table lacks name (NCCL needs it with ncclConfig_t.netName alone)");
  }
  int count = 0;
  runner.good("devices", runner.net().devices(count));
  check(runner.device() < count, fmt::format("a second call of devices() gives {}", count));
}

void properties(CaseRunner& runner) {
  int count = 0;
  runner.good("devices", runner.net().devices(count));
  std::map<std::string, int> names;
  Remarks remarks;
  for (int device = 0; device < count; ++device) {
    Properties first;
    Properties second;
    runner.good("getProperties", runner.net().properties(device, first));
    runner.good("getProperties", runner.net().properties(device, second));
    check_properties(runner, device, first, remarks);
    if (const auto [other, added] = names.emplace(*first.name, device); !added) {
      remarks.add(device,
                  fmt::format("the name '{}' is that of device {} (NCCL takes devices of one "
                              "name as one device, the last)",
                              *first.name, other->second));
    }
    check(first.name == second.name && first.max_receives == second.max_receives,
          fmt::format("device {}: a second call gives another name or maxRecvs", device));
    if (first.guid != second.guid || first.port != second.port) {
      remarks.add(device,
                  "a second call gives another guid or port (NCCL reads them once for each "
                  "communicator)");
    }
  }
  remarks.pass_on(runner);
}

void handle(CaseRunner& runner) {
  if (runner.sender()) {
    HandleBuffer handle;
    handle.put(runner.oob().receive(runner.deadline()));
    End end{runner.connect(handle), true};
    Block block = runner.block(end, 64);
    fill(block.data(), 64, 1);
    runner.run_one(end, block.part(0, 64));
    runner.release(end, block);
    runner.finish(end);
    return;
  }
  HandleBuffer handle;
  HandleBuffer other;
  void* const listening = runner.listen(handle);
  void* const second = runner.listen(other);
  check(!handle.untouched(), "listen() did not write the handle");
  check(handle.text() != other.text(), "listen() gave the same handle twice");
  runner.oob().send(handle.text());
  End end{runner.accept(listening), false};
  Block block = runner.block(end, 64);
  runner.run_one(end, block.part(0, 64));
  expect(block.data(), 64, 1, "message");
  runner.release(end, block);
  runner.good("closeListen", runner.net().close_listen(listening));
  runner.good("closeListen of a comm to which nobody connected", runner.net().close_listen(second));
  runner.finish(end);
}

void connect(CaseRunner& runner) {
  HandleBuffer handle;
  End end;
  if (runner.sender()) {
    handle.put(runner.oob().receive(runner.deadline()));
    end.sends = true;
    runner.step("in connect(), which must return before the other end accepts");
    runner.good("connect", runner.net().connect(runner.device(), handle.data(), &end.comm));
    runner.oob().send("connect returned");
    if (end.comm == nullptr) end.comm = runner.connect(handle);
  } else {
    void* const listening = runner.listen(handle);
    runner.step("in accept(), which must return before the other end connects");
    runner.good("accept", runner.net().accept(listening, &end.comm));
    check(end.comm == nullptr, "accept() gave a comm before connect() was called");
    runner.oob().send(handle.text());
    runner.step("waiting for the other end's connect()");
    runner.oob().receive(runner.deadline());
    end.comm = runner.accept(listening);
    runner.good("closeListen", runner.net().close_listen(listening));
  }
  runner.step("");
  runner.finish(end);
}

void registration(CaseRunner& runner) {
  const End end = runner.open();
  Block memory(1 << 20);
  struct Part {
    std::size_t offset, bytes;
    void* registration = nullptr;
  };
  std::vector<Part> parts{{0, 1}, {1, 4095}, {4095, 8193}, {0, 1 << 20}, {0, 1 << 20}, {13, 777}};
  runner.step("in regMr()");
  for (Part& part : parts) {
    runner.good(fmt::format("regMr of {} bytes at offset {}", part.bytes, part.offset),
                runner.net().register_memory(end.comm, memory.data() + part.offset, part.bytes,
                                             abi::kHostMemory, &part.registration));
  }
  // The same memory was registered twice: the second registration must stay valid.
  for (const std::size_t i : {3U, 0U, 5U, 1U}) {
    runner.step("in deregMr()");
    runner.good("deregMr", runner.net().deregister(end.comm, parts[i].registration));
  }
  if (runner.sender()) fill(memory.data() + 4095, 8193, 3);
  for (const std::size_t i : {2U, 4U}) {
    const Message message{memory.data() + 4095, 8193, 0, parts[i].registration};
    runner.run_one(end, message);
    if (!runner.sender()) expect(memory.data() + 4095, 8193, 3, "message");
    runner.good("deregMr", runner.net().deregister(end.comm, parts[i].registration));
  }
  runner.finish(end);
}

void reopen(CaseRunner& runner) {
  const auto open_files = [] {
    std::error_code error;
    const std::filesystem::directory_iterator folder("/proc/self/fd", error);
    return error ? 0 : std::distance(folder, std::filesystem::directory_iterator());
  };
  constexpr int kCycles = 10;
  std::ptrdiff_t before = 0;
  for (int cycle = -2; cycle < kCycles; ++cycle) {
    if (cycle == 0) before = open_files();
    move_one(runner);
  }
  // A plugin may release resources shortly after the close.
  const Deadline patience = Deadline::after(
      std::min<std::chrono::nanoseconds>(runner.deadline().left() / 2, std::chrono::seconds(5)));
  while (open_files() - before >= kCycles && !patience.passed()) {
    runner.pause("the timeout of the case has passed");
  }
  const std::ptrdiff_t more = open_files() - before;
  runner.meet();
  if (more >= kCycles) {
    runner.warn(
        fmt::format("{} connections left {} file descriptors open (NCCL does not look; a "
                    "process that makes many communicators runs out of them)",
                    kCycles, more));
  }
}

void finalize(CaseRunner& runner) {
  if (runner.net().version() < 11) throw Skipped{"this interface version has no finalize()"};
  for (int round = 0; round < 2; ++round) {
    move_one(runner);
    runner.step("in finalize()");
    runner.good("finalize", runner.net().finalize());
    runner.meet();
    runner.step("in init() after finalize()");
    runner.good("init after finalize", runner.net().init());
    runner.step("");
  }
}

}  // namespace cases_of
}  // namespace rdmabench::inline v1::netplugin
