// Measures the cost of registering and deregistering memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/verbs/handles.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::run {

/// The end of a measurement: after `iterations`, or after `time` and at least kMinRegistrations.
struct RegistrationStop {
  std::uint64_t iterations = 1000;  ///< at least 1
  std::chrono::nanoseconds time = std::chrono::seconds(1);
};
inline constexpr std::uint64_t kMinRegistrations = 10;

/// One kind of memory at one size.
struct RegistrationCost {
  std::string memory;  ///< as on the command line: "huge:2M"
  std::uint64_t size_bytes = 0;
  verbs::Route route = verbs::Route::pinned;
  std::string mapping = {};  ///< of a dma-buf of GPU memory: "default", "pcie"; else ""
  std::vector<verbs::RegistrationAttempt> others = {};
  std::vector<std::string> notes = {};
  std::string placement;                       ///< see memory::Buffer::placement()
  std::vector<memory::NodePages> nodes;        ///< NUMA nodes of the pages
  std::uint64_t page_bytes = 0;                ///< of the pages in `nodes`
  measure::LatencySummary registering = {};    ///< of the one registering call
  measure::LatencySummary deregistering = {};  ///< of ibv_dereg_mr()

  /// At the median; 0 if it took no time.
  double bytes_per_s() const noexcept;
};

/// A route by which GPU memory was not registered.
struct RefusedRoute {
  std::string memory;  ///< as on the command line: "cuda:0,vmm"
  std::uint64_t size_bytes = 0;
  verbs::Route route = verbs::Route::dma_buf;
  std::string mapping;
  std::string reason;  ///< one line
};

/// All routes to register GPU memory: their costs, or why they failed.
struct GpuRoutes {
  std::vector<RegistrationCost> costs;
  std::vector<RefusedRoute> refused;
};

/// What was measured on a device, and what could not be.
struct RegistrationReport {
  std::string device;
  std::vector<RegistrationCost> results;
  std::vector<RefusedRoute> refused_routes;  ///< of GPU memory; others worked
  std::vector<std::string> refusals;         ///< "huge:1G, 4K: why"
  Fault fault = Fault::failed;               ///< of the first refusal
};

/// For people: a row for each result, then why its route was taken, then the refused routes.
std::string to_table(const RegistrationReport& report, std::size_t width = report::kUsualWidth);

/// A document rdmabench/1 of test "registration", and its rows with the same names as CSV.
std::string to_json(const RegistrationReport& report);
std::string to_csv(const RegistrationReport& report);

/// An opened device for measurements. Thread rule: one thread at a time.
class RegistrationBench {
 public:
  /// `device` is "NAME", "NAME:PORT" or "" for the first that can be opened. Throws
  /// Error(unavailable) when there is none.
  explicit RegistrationBench(std::string_view device);

  const std::string& device() const noexcept { return device_; }

  /// Allocates and touches the memory, takes the first route that works, registers and deregisters
  /// a few times to warm up, and then times every call of each kind by CLOCK_MONOTONIC_RAW, none
  /// left out. The pages stay where they are in between, so what is measured is pinning and
  /// mapping, not page faults. Throws what memory::Buffer and verbs::register_memory() throw.
  RegistrationCost measure(const memory::Request& memory,
                           const verbs::RegistrationRequest& registration, std::uint64_t bytes,
                           const RegistrationStop& stop) const;

  /// Measures GPU memory (Kind::cuda) by each route separately, each with new memory, so
  /// that routes behind the first that works are measured too. Throws what memory::Buffer does, and
  /// Error(unavailable) with all reasons if a dma-buf is required and no route works.
  GpuRoutes measure_routes(const memory::Request& memory,
                           const verbs::RegistrationRequest& registration, std::uint64_t bytes,
                           const RegistrationStop& stop) const;

 private:
  void time_calls(RegistrationCost& cost, const verbs::MemoryArea& area,
                  const verbs::RegistrationRequest& registration,
                  const RegistrationStop& stop) const;

  std::string device_;
  verbs::Context context_;
  verbs::ProtectionDomain domain_;
};

/// The document of to_json(), before it is text.
nlohmann::ordered_json to_document(const RegistrationReport& measured);

}  // namespace rdmabench::inline v1::run
