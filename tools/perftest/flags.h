// What a command line of one of perftest's tools asks for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/run/config.h"
#include "rdmabench/transport/transport.h"
#include "report/perftest.h"
#include "tool.h"

namespace rdmabench::inline v1::tools::perftest {

enum class RateUnit : std::uint8_t { gigabits, mebibytes, messages };

/// What was not given has the initial values here; to_config() takes perftest's defaults for some.
struct Flags {
  Flags() {
    config.backend = "verbs";
    config.endpoint.service = transport::Service::rc;
    config.endpoint.relaxed_ordering = true;
  }

  run::Config config;  ///< the flags that set a member of it

  // Where.
  std::string host;  ///< "" = this side is the server
  std::uint16_t port = 18515;
  std::string device;  ///< without a port
  std::uint32_t ib_port = 0;

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
  std::optional<double> rate_limit;  ///< above 0, in `rate_unit`
  RateUnit rate_unit = RateUnit::gigabits;
  std::int32_t port_mtu = 0;  ///< bytes; for -a of datagrams without -m

  // Memory.
  bool huge_pages = false;
  std::string file;  ///< --mmap
  std::uint64_t file_offset = 0;
  std::string gpu;          ///< --use_cuda: the driver's number
  std::string gpu_address;  ///< --use_cuda_bus_id
  bool gpu_dma_buf = false;
  bool gpu_pcie = false;         ///< with gpu_dma_buf alone
  bool gpu_data_direct = false;  ///< likewise

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

  bool verbose = false;  ///< tell suspicions although no terminal shows them

  std::vector<std::string> notes;  ///< for standard error: flags that have no effect
};

}  // namespace rdmabench::inline v1::tools::perftest
