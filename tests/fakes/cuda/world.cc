#include "world.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>

namespace fake_cuda {
namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
}

std::vector<std::string> split(const std::string& list, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

struct Cost {
  std::string_view call;
  int us;
  bool once = false;  ///< of the first call alone
};

/// Orders of magnitude of real drivers. Pinning pages is what costs: the kernel locks each one and
/// the IOMMU maps it. The driver is awake (persistence mode).
constexpr Cost kCosts[] = {
    {"cuInit", 100'000, true},
    {"cuDevicePrimaryCtxRetain", 150'000, true},
    {"cuMemCreate", 200},
    {"cuMemMap", 20},
    {"cuMemSetAccess", 100},
    {"cuMemHostAlloc", 1000},
    {"cuMemFreeHost", 500},
    {"cuMemAlloc_v2", 200},
    {"cuMemFree_v2", 200},
    {"cuModuleLoadData", 20000},
    {"cuStreamBeginCapture_v2", 10},
    {"cuGraphInstantiateWithFlags", 100},
    {"cuGraphLaunch", 10},
    {"cuLaunchKernel", 5},
    {"cuMemcpyHtoDAsync_v2", 10},
    {"cuMemcpyDtoHAsync_v2", 10},
    {"cuMemcpyDtoDAsync_v2", 5},
    {"cuMemsetD8Async", 5},
};

constexpr std::uint64_t kBytesOfUs = 25'000;  ///< copied over PCIe 5.0, of half its rate

Cost cost_of(std::string_view call) {
  for (const Cost& one : kCosts) {
    if (one.call == call) return one;
  }
  return {call, 0};
}

void spend(long long us) {
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

std::vector<Controls::Failure> read_failures() {
  std::vector<Controls::Failure> failures;
  for (const std::string& item : split(text("FAKE_CUDA_FAIL"), ',')) {
    const std::vector<std::string> parts = split(item, ':');
    if (parts.size() != 3) std::abort();  // an error of the test
    failures.push_back({parts[0], std::atoi(parts[1].c_str()), std::atoi(parts[2].c_str())});
  }
  return failures;
}

}  // namespace

Controls read_controls() {
  Controls read;
  read.devices = static_cast<int>(std::min<std::uint64_t>(number("FAKE_CUDA_DEVICES", 2), 8));
  read.pci = split(text("FAKE_CUDA_PCI"), ',');
  for (const char* address : {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0",
                              "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"}) {
    if (read.pci.size() < 8) read.pci.emplace_back(address);
  }
  read.driver = static_cast<int>(number("FAKE_CUDA_DRIVER", 12080));
  read.init = static_cast<Result>(number("FAKE_CUDA_INIT", 0));
  read.align = number("FAKE_CUDA_ALIGN", 65536);
  if (const std::string name = text("FAKE_CUDA_NAME"); !name.empty()) read.name = name;
  read.compute_mode = static_cast<int>(number("FAKE_CUDA_COMPUTE_MODE", 0));
  read.dma_buf = number("FAKE_CUDA_DMA_BUF", 1) != 0;
  read.pcie = text("FAKE_CUDA_PCIE") != "refuse";
  read.vmm = number("FAKE_CUDA_VMM", 1) != 0;
  read.vmm_rdma = number("FAKE_CUDA_VMM_RDMA", 1) != 0;
  read.rdma = number("FAKE_CUDA_RDMA", 1) != 0;
  read.coherent = number("FAKE_CUDA_COHERENT", 0) != 0;
  read.ordering = static_cast<int>(number("FAKE_CUDA_ORDERING", 200));
  read.flush = static_cast<int>(number("FAKE_CUDA_FLUSH", 1));
  read.jit = static_cast<Result>(number("FAKE_CUDA_JIT", 0));
  read.spend = number("FAKE_CUDA_SPEND", 0) != 0;
  read.stuck = number("FAKE_CUDA_STUCK", 0);
  read.failures = read_failures();
  return read;
}

World& World::get() {
  static World& world = *new World;
  return world;
}

Controls World::controls() {
  const std::lock_guard lock(mutex_);
  return controls_;
}

void World::reload() {
  const std::lock_guard lock(mutex_);
  controls_ = read_controls();
  calls_.clear();
  copied_ = 0;
}

Result World::called(const char* name) {
  std::unique_lock lock(mutex_);
  const int call = ++calls_[name];
  if (const Cost cost = cost_of(name); controls_.spend && (call == 1 || !cost.once)) {
    lock.unlock();
    spend(cost.us);
    lock.lock();
  }
  for (const Controls::Failure& failure : controls_.failures) {
    if (failure.name == name && (failure.call == 0 || failure.call == call)) return failure.result;
  }
  return abi::kSuccess;
}

void World::remember_mapping(int descriptor, bool pcie) {
  const std::lock_guard lock(mutex_);
  pcie_[descriptor] = pcie;
}

bool World::is_pcie(int descriptor) {
  const std::lock_guard lock(mutex_);
  const auto found = pcie_.find(descriptor);
  return found != pcie_.end() && found->second;
}

void World::copied(std::uint64_t bytes) {
  bool spends = false;
  {
    const std::lock_guard lock(mutex_);
    copied_ += bytes;
    spends = controls_.spend;
  }
  if (spends) spend(static_cast<long long>(bytes / kBytesOfUs));
}

long long World::cost_us() {
  const std::lock_guard lock(mutex_);
  auto us = static_cast<long long>(copied_ / kBytesOfUs);
  for (const auto& [name, count] : calls_) {
    const Cost cost = cost_of(name);
    us += static_cast<long long>(cost.us) * (cost.once ? 1 : count);
  }
  return us;
}

int World::calls(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(name);
  return found == calls_.end() ? 0 : found->second;
}

}  // namespace fake_cuda
