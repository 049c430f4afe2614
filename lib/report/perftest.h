// A report as perftest prints it, for programs that read its tables by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// What perftest's own options change of its print.
struct PerftestStyle {
  bool gigabits = false;  ///< --report_gbits: Gb/s (10^9 bits) and not MiB/s
  bool peak = true;       ///< false, --noPeak: the peak is 0.00
  bool cycles = false;    ///< --report-cycles: latency in ticks of Report::clock
  /// --cpu_util, of a size in bytes: percent, another column of the tables by duration. None: no
  /// such column.
  std::function<double(std::uint64_t)> cpu_percent = nullptr;
};

/// One number, as of perftest's --output.
enum class PerftestNumber : std::uint8_t { bandwidth, message_rate, latency };

/// The tables of perftest 4.5: what was used, the addresses of each queue pair, and a row for each
/// size. The newest release differs in its heading alone: MiB/sec, where 4.5 calls the same number
/// MB/sec.
///
/// A column that perftest fills wrongly holds the right number here: t_max is the largest of all
/// samples, t_stdev is not truncated, t_avg and the percentiles leave no sample out, and the peak
/// is the rate of the fastest epoch (0.00 where it is not known). A latency run by duration has
/// perftest's short table. Notes and the error are not in it: a caller prints them elsewhere.
///
/// Of Resolved::details it reads link_layer, mtu, gid, gid_index, lid, inline, max_rd_atomic, qpn,
/// psn, rkey, vaddr, remote_gid, remote_lid, remote_qpn, remote_psn, remote_rkey, remote_vaddr,
/// post_api and relaxed_ordering; of Report::config queue_pairs, depth, receives, signal_every,
/// post_list, shared_receives, events, completion_vector, rdma_cm, outstanding_reads and
/// duration_s. qpn, psn, lid, rkey and vaddr are numbers, separated by commas where they differ
/// between queue pairs; hexadecimal begins with 0x. Without a qpn there are no lines of addresses.
///
/// With `number` no table: a line for each size, with six decimals, of the average bandwidth in the
/// unit of `style`, millions of messages per second, or the mean latency in microseconds. Nothing
/// for results of the other kind.
class PerftestText {
 public:
  explicit PerftestText(PerftestStyle style = {}, std::optional<PerftestNumber> number = {})
      : style_(std::move(style)), number_(number) {}

  /// What stands above the rows at first, then the rows that the report has more than at the last
  /// call; the `last` one ends the table.
  std::string more(const Report& report, bool last);

 private:
  PerftestStyle style_;
  std::optional<PerftestNumber> number_;
  bool begun_ = false;
  std::size_t told_ = 0;  ///< rows
};

inline std::string to_perftest(const Report& report, const PerftestStyle& style = {}) {
  return PerftestText(style).more(report, true);
}

/// The newest release's JSON, {"test_info": {...}, "results": {...}}, ended by a newline: valid,
/// and with several sizes "results" is a list, of which perftest keeps the last one only. Rates are
/// in the unit of `style`, named in "BW_unit", which perftest leaves out.
std::string to_perftest_json(const Report& report, const PerftestStyle& style = {});

/// A row of bandwidth, here of an interval.
std::string perftest_row(const BandwidthResult& result, const PerftestStyle& style);

/// Average bandwidth as perftest prints it, to hold limits against.
double perftest_bandwidth(const BandwidthResult& result, const PerftestStyle& style);

}  // namespace rdmabench::inline v1::report
