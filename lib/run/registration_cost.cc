#include "run/registration_cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/gpu_memory.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/verbs/device.h"
#include "transport/verbs/registration_order.h"

namespace rdmabench::inline v1::run {
namespace {

using measure::RawClock;
using measure::Ticks;

constexpr std::uint64_t kMostWarmup = 10;

/// The first device that `text` selects.
std::string find_device(std::string_view text) {
  const std::vector<verbs::DeviceInfo> devices = verbs::list_devices();
  const std::vector<verbs::PortRef> ports = verbs::select_ports(devices, text);
  if (!ports.empty()) return ports.front().device->name;
  throw Error(Fault::unavailable, "this machine has no usable RDMA device",
              devices.empty()
                  ? "Load the driver of the device, or add a software device: 'rdma link add rxe0 "
                    "type rxe netdev eth0'."
                  : fmt::format("{} cannot be opened: {}", devices[0].name, devices[0].fault));
}

/// Times of the calls, in nanoseconds.
struct Samples {
  std::vector<Ticks> registering;
  std::vector<Ticks> deregistering;
};

measure::LatencySummary summarize(const std::vector<Ticks>& samples) {
  measure::LatencyRecorder recorder;
  recorder.add(samples);
  return recorder.summary(/*ns_per_tick=*/1);
}

}  // namespace

double RegistrationCost::bytes_per_s() const noexcept {
  return registering.p50_ns > 0
             ? static_cast<double>(size_bytes) * kNsPerSecond / registering.p50_ns
             : 0;
}

RegistrationBench::RegistrationBench(std::string_view device)
    : device_(find_device(device)),
      context_(verbs::open_device(device_)),
      domain_(verbs::allocate_protection_domain(*context_)) {}

namespace {

void check(const RegistrationStop& stop) {
  if (stop.iterations == 0) {
    throw Error(Fault::usage, "invalid number of iterations 0", "It must be at least 1.");
  }
}

/// The facts of allocated memory.
RegistrationCost describe(const memory::Request& memory, const memory::Buffer& buffer) {
  return {.memory = memory::to_text(memory),
          .size_bytes = buffer.size(),
          .placement = buffer.placement(),
          .nodes = buffer.nodes(),
          .page_bytes = buffer.page_bytes()};
}

}  // namespace

void RegistrationBench::time_calls(RegistrationCost& cost, const verbs::MemoryArea& area,
                                   const verbs::RegistrationRequest& registration,
                                   const RegistrationStop& stop) const {
  Samples samples;
  const auto once = [&](bool keep) {
    const Ticks before = RawClock::stamp();
    verbs::MemoryRegion region = verbs::register_by(cost.route, *domain_, area, registration);
    const Ticks between = RawClock::stamp();
    verbs::deregister(std::move(region));
    const Ticks after = RawClock::stamp();
    if (!keep) return;
    samples.registering.push_back(between - before);
    samples.deregistering.push_back(after - between);
  };
  for (std::uint64_t i = 0; i < std::min(kMostWarmup, stop.iterations / 10); ++i) once(false);
  const Ticks start = RawClock::stamp();
  for (std::uint64_t i = 0; i < stop.iterations; ++i) {
    const auto used = std::chrono::nanoseconds(RawClock::stamp() - start);
    if (i >= kMinRegistrations && used >= stop.time) break;
    once(true);
  }
  cost.registering = summarize(samples.registering);
  cost.deregistering = summarize(samples.deregistering);
}

RegistrationCost RegistrationBench::measure(const memory::Request& memory,
                                            const verbs::RegistrationRequest& registration,
                                            std::uint64_t bytes,
                                            const RegistrationStop& stop) const {
  check(stop);
  memory::Request request = memory;
  request.device = device_;
  const memory::Buffer buffer(request, bytes);
  const verbs::MemoryArea area{.bytes = buffer.bytes(),
                               .dma_buf = buffer.dma_buf(),
                               .dma_buf_offset = buffer.dma_buf_offset()};
  verbs::Registration found = verbs::register_memory(*domain_, area, registration);
  verbs::deregister(std::move(found.region));
  RegistrationCost cost = describe(memory, buffer);
  cost.route = found.route;
  cost.others = std::move(found.others);
  cost.notes = std::move(found.notes);
  time_calls(cost, area, registration, stop);
  return cost;
}

GpuRoutes RegistrationBench::measure_routes(const memory::Request& memory,
                                            const verbs::RegistrationRequest& registration,
                                            std::uint64_t bytes,
                                            const RegistrationStop& stop) const {
  check(stop);
  if (registration.on_demand) {
    throw Error(Fault::usage, "on-demand paging of GPU memory",
                "The GPU's driver pins its pages: leave out `on_demand`.");
  }
  memory::Request request = memory;
  request.device = device_;
  GpuRoutes found;
  for (const transport::verbs::GpuRoute& route : transport::verbs::gpu_routes()) {
    if (registration.require_dma_buf && !by_dma_buf(route)) continue;
    memory::Buffer buffer(request, bytes);
    try {
      const verbs::MemoryArea area = ready(*domain_, buffer, route, registration.machine_root);
      RegistrationCost cost = describe(memory, buffer);
      cost.route = route.route;
      cost.mapping = mapping_text(route);
      cost.notes.push_back(buffer.gpu()->facts());
      time_calls(cost, area, registration, stop);
      found.costs.push_back(std::move(cost));
    } catch (const Error& error) {
      found.refused.push_back({.memory = memory::to_text(memory),
                               .size_bytes = bytes,
                               .route = route.route,
                               .mapping = mapping_text(route),
                               .reason = error.what()});
    }
  }
  if (!found.costs.empty()) return found;
  std::string reasons;
  for (const RefusedRoute& route : found.refused) {
    reasons += fmt::format("\n  {}: {}", route_text(route.route, route.mapping), route.reason);
  }
  throw Error(Fault::unavailable, fmt::format("no route to register GPU memory works:{}", reasons));
}

}  // namespace rdmabench::inline v1::run
