// What a run of perftest printed, in its own units.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/units.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {

inline constexpr double kMebi = 1024.0 * 1024.0;

/// What a table and a result in JSON have, by perftest's own words. A heading that begins another
/// one comes after it.
struct PerftestColumn {
  std::string_view heading;
  std::string_view json;
  std::string_view key;  ///< ours; "": it is not taken
  double factor;         ///< from perftest's unit to ours; 0: by the unit of the run's rates
};
inline constexpr std::array kPerftestColumns{
    PerftestColumn{"#bytes", "MsgSize", "size_bytes", 1},
    PerftestColumn{"#iterations", "n_iterations", "iterations", 1},
    PerftestColumn{"#sl", "", "", 0},
    PerftestColumn{"BW peak[", "BW_peak", "peak_bits_per_s", 0},
    PerftestColumn{"BW average[", "BW_average", "bits_per_s", 0},
    PerftestColumn{"MsgRate[", "MsgRate", "messages_per_s", 1e6},
    PerftestColumn{"BW Port1[", "", "", 0},
    PerftestColumn{"MsgRate Port1[", "", "", 0},
    PerftestColumn{"BW Port2[", "", "", 0},
    PerftestColumn{"MsgRate Port2[", "", "", 0},
    PerftestColumn{"t_min[", "t_min", "min_ns", kNsPerUs},
    PerftestColumn{"t_max[", "t_max", "max_ns", kNsPerUs},
    PerftestColumn{"t_typical[", "t_typical", "p50_ns", kNsPerUs},
    PerftestColumn{"t_avg[", "t_avg", "mean_ns", kNsPerUs},
    PerftestColumn{"t_stdev[", "t_stdev", "stddev_ns", kNsPerUs},
    PerftestColumn{"99% percentile[", "percentile_99", "p99_ns", kNsPerUs},
    PerftestColumn{"99.9% percentile[", "percentile_99.9", "p999_ns", kNsPerUs},
    PerftestColumn{"tps average", "", "", 0},
    PerftestColumn{"CPU_Util[", "", "", 0}};

struct PerftestRun {
  std::string title;                         ///< "RDMA_Write Bidirectional BW"
  std::map<std::string, std::string> facts;  ///< "Connection type": "RC"
  std::string unit;                          ///< of its rates: "MB/sec", "MiB/sec", "Gb/sec"
  std::vector<Row> rows;                     ///< in perftest's units
  std::string error;
  bool any_heading = false;
  bool ended = false;  ///< by dashes behind its heading
  bool of_server = false;
  bool of_times = false;  ///< by its heading

  bool latency() const { return of_times || has(title, "Latency"); }
  std::string fact(const std::string& name) const {
    const auto found = facts.find(name);
    return found == facts.end() ? "" : found->second;
  }
};

/// In our units.
Run run_of(const PerftestRun& run);

[[noreturn]] void refuse_text(const std::string& source, std::size_t line, const std::string& why);

/// A number that its rate is not, where it divided by nothing: "inf", "-nan".
bool is_no_number(std::string_view word) noexcept;

/// The runs of its JSON, which 4.5 does not write as JSON.
std::vector<Run> perftest_json_runs(std::string_view text, const std::string& source);

}  // namespace rdmabench::import
