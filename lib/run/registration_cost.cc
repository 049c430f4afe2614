#include "rdmabench/run/registration_cost.h"
#include "rdmabench/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/measure/samples.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::run {
namespace {

using measure::RawClock;
using measure::Ticks;

constexpr std::uint64_t kMostWarmup = 10;

/// The first device that `text` means.
std::string find_device(std::string_view text) {
  const std::vector<verbs::DeviceInfo> devices = verbs::list_devices();
  const std::vector<verbs::PortRef> ports = verbs::select_ports(devices, text);
  if (!ports.empty()) return ports.front().device->name;
  throw Error(Fault::unavailable, "there is no RDMA device here",
              devices.empty()
                  ? "Load its driver, or for a software one: 'rdma link add rxe0 type rxe netdev "
                    "eth0'."
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

RegistrationCost RegistrationBench::measure(const memory::Request& memory,
                                            const verbs::RegistrationRequest& registration,
                                            std::uint64_t bytes,
                                            const RegistrationStop& stop) const {
  if (stop.iterations == 0) {
    throw Error(Fault::usage, "0 registrations to measure", "Ask for at least 1.");
  }
  memory::Request request = memory;
  request.device = device_;
  const memory::Buffer buffer(request, bytes);
  const verbs::MemoryArea area{.bytes = buffer.bytes(),
                               .dma_buf = buffer.dma_buf(),
                               .dma_buf_offset = buffer.dma_buf_offset()};
  verbs::Registration found = verbs::register_memory(*domain_, area, registration);
  verbs::deregister(std::move(found.region));

  Samples samples;
  const auto once = [&](bool keep) {
    const Ticks before = RawClock::stamp();
    verbs::MemoryRegion region = verbs::register_by(found.route, *domain_, area, registration);
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
    if (i >= kFewestRegistrations && used >= stop.time) break;
    once(true);
  }
  return {.memory = memory::to_text(memory),
          .size_bytes = bytes,
          .route = found.route,
          .others = std::move(found.others),
          .notes = std::move(found.notes),
          .placement = buffer.placement(),
          .nodes = buffer.nodes(),
          .page_bytes = buffer.page_bytes(),
          .registering = summarize(samples.registering),
          .deregistering = summarize(samples.deregistering)};
}

}  // namespace rdmabench::run
