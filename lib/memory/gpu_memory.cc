#include "memory/gpu_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "gpu/copy.h"
#include "gpu/pairing.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::memory {
namespace {

constexpr auto kLongestWait = std::chrono::seconds(10);
constexpr int kTimedCopies = 21;
constexpr int kWarmupCopies = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

/// The GPU that the request names, or the nearest to the RDMA device.
GpuMemory::Choice GpuMemory::choose(const Request& request) {
  if (request.gpu != "auto") {
    const gpu::DeviceInfo found = gpu::find_device(request.gpu);
    std::string text = gpu::to_text(found);
    if (!request.device.empty()) {
      text += fmt::format("; {}", gpu::find_pair(request.device, found.pci_address).text);
    }
    return {found.ordinal, std::move(text)};
  }
  const std::vector<gpu::DeviceInfo> all = gpu::devices();
  if (request.device.empty()) {
    return {all.front().ordinal, fmt::format("{}; the first one, because no RDMA device is given",
                                             gpu::to_text(all.front()))};
  }
  const gpu::DeviceInfo* best = &all.front();
  gpu::Pair nearest = gpu::find_pair(request.device, best->pci_address);
  for (const gpu::DeviceInfo& one : std::span(all).subspan(1)) {
    gpu::Pair pair = gpu::find_pair(request.device, one.pci_address);
    if (pair.distance >= nearest.distance) continue;
    best = &one;
    nearest = std::move(pair);
  }
  return {best->ordinal, fmt::format("{}; nearest of {} GPUs to the NIC: {}", gpu::to_text(*best),
                                     all.size(), nearest.text)};
}

void check_available(const Request& request) {
  if (request.kind != Kind::cuda) return;
  if (request.gpu == "auto") {
    static_cast<void>(gpu::devices());
  } else {
    static_cast<void>(gpu::find_device(request.gpu));
  }
}

std::optional<PciDistance> distance_to_gpu(const Request& request, std::string_view nic) {
  if (request.kind != Kind::cuda || request.gpu == "auto") return std::nullopt;
  return gpu::find_pair(nic, gpu::find_device(request.gpu).pci_address).distance;
}

GpuMemory::GpuMemory(const Request& request, std::uint64_t bytes)
    : GpuMemory(request, bytes, choose(request)) {}

GpuMemory::GpuMemory(const Request& request, std::uint64_t bytes, Choice choice)
    : choice_(std::move(choice.text)),
      context_(choice.ordinal),
      allocation_(
          request.existing != nullptr
              ? gpu::Allocation(context_, reinterpret_cast<std::uintptr_t>(request.existing), bytes)
              : gpu::Allocation(context_, request.unaligned + bytes,
                                request.vmm ? gpu::Mode::vmm : gpu::Mode::plain)),
      start_(request.existing != nullptr ? 0 : request.unaligned),
      size_(bytes),
      flush_(gpu::flush_rule(context_.device())),
      stream_(context_) {
  if (request.existing == nullptr) clear(0, bytes);
}

std::byte* GpuMemory::data() const noexcept {
  if (host_) return host_->data() + start_;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver has addresses as numbers
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at(0)));
}

gpu::DevicePointer GpuMemory::at(std::uint64_t offset) const noexcept {
  return allocation_.data() + start_ + offset;
}

std::string GpuMemory::facts() const {
  const std::optional<bool> reachable = allocation_.gpudirect();
  return fmt::format("{} allocation; {}; GPUDirect RDMA {}; flush {}", name(allocation_.mode()),
                     allocation_.sync_memops_text(),
                     !reachable   ? "unknown"
                     : *reachable ? "capable"
                                  : "not capable",
                     flush_.text);
}

const gpu::DmaBuf& GpuMemory::export_dma_buf(GpuMapping mapping) {
  dma_buf_ = gpu::DmaBuf();
  dma_buf_ = gpu::export_dma_buf(allocation_,
                                 mapping == GpuMapping::automatic  ? gpu::DmaBufMapping::automatic
                                 : mapping == GpuMapping::standard ? gpu::DmaBufMapping::standard
                                                                   : gpu::DmaBufMapping::pcie);
  return dma_buf_;
}

void GpuMemory::stage_through_host() {
  if (host_) return;
  dma_buf_ = gpu::DmaBuf();
  host_.emplace(context_, allocation_.size());
  std::fill(host_->bytes().begin(), host_->bytes().end(), std::byte{0});
}

gpu::Kernels& GpuMemory::kernels() {
  if (!kernels_) kernels_.emplace(context_);
  return *kernels_;
}

void GpuMemory::wait(const char* what) {
  stream_.synchronize(Deadline::after(kLongestWait), what);
}

void GpuMemory::fill(std::uint64_t offset, std::uint64_t size, std::uint64_t stride,
                     std::uint64_t count) {
  if (count == 0) return;
  kernels().fill_pattern(
      stream_, gpu::Slots{.data = at(offset), .size = size, .stride = stride, .count = count});
  push(offset, stride * (count - 1) + size);
}

std::optional<gpu::Mismatch> GpuMemory::find_mismatch(std::uint64_t offset, std::uint64_t size,
                                                      std::uint64_t stride, std::uint64_t count) {
  if (count == 0) return std::nullopt;
  pull(offset, stride * (count - 1) + size);
  return kernels().find_mismatch(
      stream_, gpu::Slots{.data = at(offset), .size = size, .stride = stride, .count = count},
      Deadline::after(kLongestWait));
}

void GpuMemory::clear(std::uint64_t offset, std::uint64_t bytes) {
  gpu::enqueue_set(stream_, at(offset), std::byte{0}, bytes);
  push(offset, bytes);
}

void GpuMemory::read(std::uint64_t offset, std::span<std::byte> to) {
  pull(offset, to.size());
  if (!staging_) staging_.emplace(context_, gpu::kStagingBytes);
  gpu::copy_from_device(stream_, *staging_, to, at(offset), Deadline::after(kLongestWait));
}

void GpuMemory::flush_by(std::function<void()> read, std::string what) {
  nic_read_ = std::move(read);
  nic_read_text_ = std::move(what);
}

std::string GpuMemory::flush_text() const {
  if (host_) return "not needed: messages are staged in host memory";
  if (nic_read_) return nic_read_text_;
  if (needs_nic_read()) {
    return fmt::format("not done: {}{}{}", flush_.text, no_flush_.empty() ? "" : "; ", no_flush_);
  }
  return flush_.text;
}

/// If a read of the NIC is needed and not possible, late bytes are reported as wrong.
void GpuMemory::see_writes() {
  try {
    if (nic_read_) return nic_read_();
    if (flush_.needed && flush_.by_driver) gpu::flush_writes(context_);
  } catch (const Error& error) {  // so that the text does not say that bytes were wrong
    throw error.at("the flush failed");
  }
}

void GpuMemory::pull(std::uint64_t offset, std::uint64_t bytes) {
  if (!host_) return see_writes();
  gpu::enqueue_copy_to_device(stream_, at(offset), *host_, bytes, start_ + offset);
}

void GpuMemory::push(std::uint64_t offset, std::uint64_t bytes) {
  if (host_) {
    gpu::enqueue_copy_from_device(stream_, *host_, at(offset), bytes, start_ + offset);
  }
  wait("writing messages on the GPU");
}

CopyTimes GpuMemory::measure_copies(std::uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  bytes = std::min(bytes, size());
  gpu::PinnedHost host(context_, bytes);
  std::vector<double> to, from;
  const auto time = [&](std::vector<double>& times, auto&& copy) {
    const Clock::time_point begin = Clock::now();
    copy();
    wait("a copy");
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  };
  for (int i = 0; i < kWarmupCopies + kTimedCopies; ++i) {
    if (i == kWarmupCopies) to.clear(), from.clear();
    time(from, [&] { gpu::enqueue_copy_from_device(stream_, host, at(0), bytes); });
    time(to, [&] { gpu::enqueue_copy_to_device(stream_, at(0), host, bytes); });
  }
  return {.bytes = bytes, .to_device_ns = median(to), .from_device_ns = median(from)};
}

}  // namespace rdmabench::inline v1::memory
