// What a command line of one of perftest's tools asks for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/report/perftest.h"
#include "rdmabench/transport/transport.h"
#include "tool.h"

namespace rdmabench::tools::perftest {

enum class RateUnit : std::uint8_t { gigabits, mebibytes, messages };

/// to_config() replaces these initial values by perftest's defaults.
struct Flags {  // NOLINT(clang-analyzer-optin.performance.Padding): grouped by what they are of
  // Where.
  std::string host;  ///< "" = this side is the server
  std::uint16_t port = 18515;
  std::string device;  ///< without a port
  std::uint32_t ib_port = 0;
  std::string backend = "verbs";  ///< --backend, --provider, --timeout: ours, not perftest's
  std::string provider;
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);

  // What.
  std::optional<std::uint64_t> size;  ///< bytes
  bool all_sizes = false;
  std::optional<std::uint64_t> iterations;  ///< of each queue pair, as perftest counts them
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::chrono::nanoseconds> margin;
  bool endless = false;
  bool compare_swap = false;
  bool immediate = false;
  bool both_ways = false;
  bool validate = false;

  // How.
  transport::Service service = transport::Service::rc;
  bool connection_manager = false;
  std::uint32_t queue_pairs = 1;
  std::uint32_t depth = 0;     ///< 0 = perftest's 128 for bandwidth, ours for latency
  std::uint32_t receives = 0;  ///< 0 = ours
  std::uint32_t signal_every = 0;
  std::uint32_t post_list = 1;
  std::uint32_t outstanding_reads = 0;
  bool shared_receives = false;
  bool events = false;
  std::int32_t completion_vector = -1;
  std::int32_t inline_limit = -1;
  std::optional<double> rate_limit;  ///< above 0, in `rate_unit`
  RateUnit rate_unit = RateUnit::gigabits;

  // The path.
  std::int32_t gid_index = -1;
  std::int32_t mtu = 0;
  std::int32_t port_mtu = 0;  ///< bytes; for -a of datagrams without `mtu`
  transport::PathOptions path{};

  // Memory and processors.
  bool huge_pages = false;
  std::string file;  ///< --mmap
  std::uint64_t file_offset = 0;
  std::string gpu;          ///< --use_cuda: the driver's number
  std::string gpu_address;  ///< --use_cuda_bus_id
  bool gpu_dma_buf = false;
  bool gpu_pcie = false;         ///< with gpu_dma_buf alone
  bool gpu_data_direct = false;  ///< likewise
  bool relaxed_ordering = true;
  bool on_demand = false;
  bool region_per_queue_pair = false;
  std::string numa = "auto";
  std::optional<int> cpu;

  // The report.
  bool gigabits = false;
  bool peak = true;
  bool cycles = false;
  bool cpu_util = false;
  std::optional<report::PerftestNumber> one_number;  ///< --output: print it and nothing else
  bool json = false;
  std::string json_file = "perftest_out.json";
  std::vector<std::string> counters;         ///< as sysfs names them: "hw_counters/out_of_sequence"
  std::optional<double> limit_bandwidth;     ///< in the report's unit
  std::optional<double> limit_message_rate;  ///< millions per second

  std::vector<std::string> notes;  ///< for standard error: flags that have no effect
};

}  // namespace rdmabench::tools::perftest
