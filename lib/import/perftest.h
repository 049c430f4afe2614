// What a run of perftest printed.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/units.h"
#include "table.h"

namespace rdmabench::inline v1::import {

inline constexpr double kMebi = 1024.0 * 1024.0;

inline constexpr std::array kPerftestColumns{
    Column{"#bytes", "MsgSize", "size_bytes"},
    Column{"#iterations", "n_iterations", "iterations"},
    Column{"iterations", "", "iterations"},
    Column{"#sl", "", ""},
    Column{"BW peak[", "BW_peak", "peak_bits_per_s", 0},
    Column{"BW average[", "BW_average", "bits_per_s", 0},
    Column{"MsgRate[", "MsgRate", "messages_per_s", 1e6},
    Column{"t_min[", "t_min", "min_ns", kNsPerUs},
    Column{"t_max[", "t_max", "max_ns", kNsPerUs},
    Column{"t_typical[", "t_typical", "p50_ns", kNsPerUs},
    Column{"t_avg[", "t_avg", "mean_ns", kNsPerUs},
    Column{"t_stdev[", "t_stdev", "stddev_ns", kNsPerUs},
    Column{"99% percentile[", "percentile_99", "p99_ns", kNsPerUs},
    Column{"99.9% percentile[", "percentile_99.9", "p999_ns", kNsPerUs},
    Column{"tps average", "", ""}};

struct PerftestRun {
  std::string title;                         ///< "RDMA_Write Bidirectional BW"
  std::string command;                       ///< the title that its command has; "" without one
  std::map<std::string, std::string> facts;  ///< "Connection type": "RC"
  std::string memory;                        ///< "cuda", "rocm"; "": not told
  std::string unit;                          ///< of its rates: "MB/sec", "MiB/sec", "Gb/sec"
  std::vector<Row> rows;
  std::string error;
  std::vector<std::string> notes;
  std::vector<Doubt> doubts;
  bool any_heading = false;
  bool ended = false;  ///< by dashes behind its heading
  bool of_server = false;
  bool of_times = false;  ///< by its heading
  bool aborted = false;   ///< which its error says

  bool latency() const { return of_times || has(title, "Latency"); }
  std::string fact(const std::string& name) const {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
  }
  /// Bits per second of a rate of 1; 0 where its unit is not told. perftest calls MiB "MB" in all
  /// of its releases but the newest.
  double rate() const {
    if (unit.empty()) return 0;
    return unit.starts_with("Gb") ? kBitsPerGigabit : kMebi * kBitsPerByte;
  }
};

Run run_of(const PerftestRun& run);

/// The runs of its JSON, which 4.5 does not write as JSON.
std::vector<Run> perftest_json_runs(const std::string& text, const Source& source);

}  // namespace rdmabench::inline v1::import
