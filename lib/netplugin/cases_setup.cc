// Cases before and around the first message.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "side.h"

namespace rdmabench::netplugin {
namespace {

void check(bool right, const std::string& what) {
  if (!right) throw Failed{what};
}

void check_properties(const Net& net, int device, const Properties& p) {
  const auto at = [device](const std::string& text) {
    return fmt::format("device {}: {}", device, text);
  };
  check(p.name.has_value() && !p.name->empty(), at("it has no name"));
  if (p.pci_path) {
    std::error_code error;
    check(
        std::filesystem::is_directory(*p.pci_path, error),
        at(fmt::format("pciPath '{}' is no folder; of a virtual device it is NULL", *p.pci_path)));
  }
  check((p.pointer_kinds & abi::kHostMemory) != 0,
        at(fmt::format("ptrSupport {:#x} lacks NCCL_PTR_HOST (1)", p.pointer_kinds)));
  check((p.pointer_kinds & ~7) == 0,
        at(fmt::format("ptrSupport {:#x} has bits that mean nothing", p.pointer_kinds)));
  check((p.pointer_kinds & abi::kDmaBuf) == 0 || net.has_dma_buf(),
        at("ptrSupport has NCCL_PTR_DMABUF, but there is no regMrDmaBuf"));
  check(p.speed_mbps > 0, at(fmt::format("speed is {} Mb/s", p.speed_mbps)));
  check(p.port >= 0, at(fmt::format("port is {}", p.port)));
  check(std::isfinite(p.latency_us) && p.latency_us >= 0,
        at(fmt::format("latency is {} us", p.latency_us)));
  check(p.max_comms > 0, at(fmt::format("maxComms is {}", p.max_comms)));
  check(p.max_receives > 0, at(fmt::format("maxRecvs is {}", p.max_receives)));
  if (p.virtual_devices) {
    check(*p.virtual_devices >= 0 && *p.virtual_devices <= abi::kMaxVirtualDevices,
          at(fmt::format("vProps.ndevs is {}", *p.virtual_devices)));
  }
  if (p.max_point_to_point_bytes) {
    check(*p.max_point_to_point_bytes > 0, at("maxP2pBytes is 0"));
    check(*p.max_collective_bytes > 0, at("maxCollBytes is 0"));
  }
}

}  // namespace

namespace cases_of {

/// What came before the case has done all that can be said without a device.
void init(Side& side) {
  int count = 0;
  side.good("devices", side.net().devices(count));
  check(count > 0,
        fmt::format("devices() gives {}: where there is none, init() has to fail", count));
  check(side.device() < count,
        fmt::format("there is no device {}: the plugin has {}", side.device(), count));
}

void properties(Side& side) {
  int count = 0;
  side.good("devices", side.net().devices(count));
  for (int device = 0; device < count; ++device) {
    Properties first;
    Properties second;
    side.good("getProperties", side.net().properties(device, first));
    side.good("getProperties", side.net().properties(device, second));
    check_properties(side.net(), device, first);
    check(first.name == second.name && first.guid == second.guid &&
              first.max_receives == second.max_receives && first.port == second.port,
          fmt::format("device {}: it says another thing the second time", device));
  }
}

void handle(Side& side) {
  if (side.sender()) {
    HandleRoom room;
    room.put(side.wire().receive(side.deadline()));
    End end{side.connect(room), true};
    Block block = side.block(end, 64);
    fill(block.data(), 64, 1);
    side.run_one(end, block.part(0, 64));
    side.release(end, block);
    side.finish(end);
    return;
  }
  HandleRoom room;
  HandleRoom other;
  void* const listening = side.listen(room);
  void* const second = side.listen(other);
  check(!room.untouched(), "listen() wrote no handle");
  check(room.text() != other.text(), "listen() gave the same handle twice");
  side.wire().send(room.text());
  End end{side.accept(listening), false};
  Block block = side.block(end, 64);
  side.run_one(end, block.part(0, 64));
  expect(block.data(), 64, 1, "message");
  side.release(end, block);
  side.good("closeListen", side.net().close_listen(listening));
  side.good("closeListen of a comm to which nobody connected", side.net().close_listen(second));
  side.finish(end);
}

void connect(Side& side) {
  HandleRoom room;
  End end;
  if (side.sender()) {
    room.put(side.wire().receive(side.deadline()));
    end.sends = true;
    side.step("in connect(), which has to return before the other end accepts");
    side.good("connect", side.net().connect(side.device(), room.data(), &end.comm));
    side.wire().send("connect returned");
    if (end.comm == nullptr) end.comm = side.connect(room);
  } else {
    void* const listening = side.listen(room);
    side.step("in accept(), which has to return before the other end connects");
    side.good("accept", side.net().accept(listening, &end.comm));
    check(end.comm == nullptr, "accept() gave a comm before anyone had connected");
    side.wire().send(room.text());
    side.step("waiting for the other end's connect()");
    side.wire().receive(side.deadline());
    end.comm = side.accept(listening);
    side.good("closeListen", side.net().close_listen(listening));
  }
  side.step("");
  side.finish(end);
}

void registration(Side& side) {
  const End end = side.open();
  Block memory(1 << 20);
  struct Part {
    std::size_t offset, bytes;
    void* registration = nullptr;
  };
  std::vector<Part> parts{{0, 1}, {1, 4095}, {4095, 8193}, {0, 1 << 20}, {0, 1 << 20}, {13, 777}};
  side.step("in regMr()");
  for (Part& part : parts) {
    side.good(fmt::format("regMr of {} bytes at offset {}", part.bytes, part.offset),
              side.net().register_memory(end.comm, memory.data() + part.offset, part.bytes,
                                         abi::kHostMemory, &part.registration));
  }
  // The same memory was registered twice: the other registration goes on.
  for (const std::size_t i : {3U, 0U, 5U, 1U}) {
    side.step("in deregMr()");
    side.good("deregMr", side.net().deregister(end.comm, parts[i].registration));
  }
  if (side.sender()) fill(memory.data() + 4095, 8193, 3);
  for (const std::size_t i : {2U, 4U}) {
    const Message message{memory.data() + 4095, 8193, 0, parts[i].registration};
    side.run_one(end, message);
    if (!side.sender()) expect(memory.data() + 4095, 8193, 3, "message");
    side.good("deregMr", side.net().deregister(end.comm, parts[i].registration));
  }
  side.finish(end);
}

void reopen(Side& side) {
  const auto open_files = [] {
    std::error_code error;
    const std::filesystem::directory_iterator folder("/proc/self/fd", error);
    return error ? 0 : std::distance(folder, std::filesystem::directory_iterator());
  };
  constexpr int kCycles = 10;
  std::ptrdiff_t before = 0;
  for (int cycle = -2; cycle < kCycles; ++cycle) {
    if (cycle == 0) before = open_files();
    const End end = side.open();
    Block block = side.block(end, 4096);
    fill(block.data(), 4096, side.sender() ? 5 : 6);
    side.run_one(end, block.part(0, 4096));
    if (!side.sender()) expect(block.data(), 4096, 5, "message");
    side.release(end, block);
    side.finish(end);
  }
  // What is closed may be let go of a moment later.
  const Deadline patience = Deadline::after(
      std::min<std::chrono::nanoseconds>(side.deadline().left() / 2, std::chrono::seconds(5)));
  while (open_files() - before >= kCycles && !patience.passed()) {
    side.pause("the time of the case was over");
  }
  const std::ptrdiff_t more = open_files() - before;
  side.meet();
  check(more < kCycles, fmt::format("{} connections left {} file descriptors open", kCycles, more));
}

void finalize(Side& side) {
  if (side.net().version() < 11) throw Skipped{"this version has no finalize()"};
  for (int round = 0; round < 2; ++round) {
    const End end = side.open();
    Block block = side.block(end, 4096);
    fill(block.data(), 4096, side.sender() ? 5 : 6);
    side.run_one(end, block.part(0, 4096));
    if (!side.sender()) expect(block.data(), 4096, 5, "message");
    side.release(end, block);
    side.finish(end);
    side.step("in finalize()");
    side.good("finalize", side.net().finalize());
    side.meet();
    side.step("in init() after finalize()");
    side.good("init after finalize", side.net().init());
    side.step("");
  }
}

}  // namespace cases_of
}  // namespace rdmabench::netplugin
