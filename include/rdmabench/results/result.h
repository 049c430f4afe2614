// results: what is of one run: its rows, facts, counters and suspicions, as JSON and as CSV, and
// the facts of the machine.
//
// It measures nothing, prints nothing and knows no documents: report makes them. Plain values,
// times in nanoseconds and rates in bits and messages per second; the writers are the only place
// where units are scaled. Names are those of the namespace report.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"

namespace rdmabench::inline v1 {

/// What came of judging one thing: the same words for a check of a node, a case of a plugin, a
/// limit, a requirement and a document.
enum class Status : std::uint8_t {
  pass,   ///< read, compared, and as it should be
  warn,   ///< works, but not as well as it could, or not as its interface or its peers say
  fail,   ///< does not work, breaks the limit, or loses a large part of the performance
  skip,   ///< was not judged; a reason says why. Never a pass
  open,   ///< was judged, and what was measured or told does not decide. Never a pass
  error,  ///< what was to be judged has another form than its documentation says
};

inline constexpr std::array<std::string_view, 6> kStatusNames{"PASS", "WARN", "FAIL",
                                                              "SKIP", "OPEN", "ERROR"};

/// "PASS", "WARN", ...
constexpr std::string_view name(Status status) noexcept {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

/// A word that is not known is an error, never a pass.
constexpr Status status_of(std::string_view word) noexcept {
  const auto* const found = std::find(kStatusNames.begin(), kStatusNames.end(), word);
  return found == kStatusNames.end() ? Status::error
                                     : static_cast<Status>(found - kStatusNames.begin());
}

}  // namespace rdmabench::inline v1

namespace rdmabench::inline v1::report {

inline constexpr std::size_t kUsualWidth = 80;  ///< columns of a table, unless told otherwise

inline constexpr std::string_view kRunSchema = "rdmabench/1";  ///< of a run as a document

/// One fact. Where the value has a unit the name ends in it: "memlock_limit_bytes", "duration_s".
/// Names are snake_case. A peer's facts may hold any bytes: every writer escapes them.
struct Fact {
  std::string name;
  std::variant<std::string, double, std::uint64_t, bool> value;
};

/// In the order in which they are written. Names do not repeat.
using Facts = std::vector<Fact>;

/// Where the two sides ran. Never the process environment, which may hold secrets.
struct Environment {
  Facts client;
  Facts server;  ///< empty where both sides are one process, or the server did not tell
};

/// Reads procfs, sysfs and etc/os-release under `root` (a test gives another directory).
///
/// hostname, os, kernel, cpu_model, cpus_online, numa_nodes, smt_active, cpu_governor,
/// turbo_enabled, hypervisor, clocksource, transparent_huge_pages, memlock_limit_bytes ("unlimited"
/// or a number), rdma_devices, and of this build rdmabench_version, compiler, build_type; last
/// collected_utc. What the machine does not tell is left out: this never fails. A caller appends
/// what it knows itself, such as the versions of libraries. It opens a few files per CPU: call it
/// outside of every measurement. Thread-safe. Source: proc(5), the kernel's
/// Documentation/ABI/testing/sysfs-devices-system-cpu.
Facts collect_environment(const std::string& root = "/");

/// By how much one hardware counter grew during a run. It counts what its device did for every
/// program. Its texts may come from a peer: every writer escapes them.
struct Counter {
  std::string device;  ///< "mlx5_0:1", "eth0", or "machine" for what the kernel keeps of all of it
  std::string name;    ///< the same for every vendor: "ack_timeouts"; see docs/counters.md
  std::string kind;    ///< "retransmission", "receiver_not_ready", "congestion", "discard", ...
  std::string source;  ///< the kernel's file: "hw_counters/local_ack_timeout_err"
  std::optional<std::uint64_t> change;  ///< none: it went backwards, so the change is unknown
  bool at_least = false;                ///< it stands at its upper end, and may have missed more
};

/// Of both sides of a run.
struct Counters {
  std::vector<Counter> client;
  std::vector<Counter> server;
};

/// Why a run's numbers may not be what they seem to be. A run with one is suspect.
struct Suspicion {
  std::string code;       ///< one word for programs: "retransmissions", "migration", ...
  std::string text;       ///< what was found, with its number, and what to do about it
  std::string side{};     ///< "client", "server" or "client, server"
  std::string summary{};  ///< the same for every suspicion of this code: what was found
  std::string remedy{};   ///< likewise: what to do about it
};

/// What came of one requirement of a run.
struct RequirementFinding {
  std::string required{};           ///< "device=mlx5_0"
  std::string subject{};            ///< a node, a device of it, or "rank 3 (n1)"; "": the whole run
  Status status = Status::open;     ///< open: it is not known, for example without NCCL's log
  std::string text{};               ///< what was found: "it sent 3 MB, where ..."
  std::optional<double> counted{};  ///< bytes
  double least = 0;                 ///< bytes, with which it passes
};

/// Latency of one operation at one size.
struct LatencyResult {
  std::uint64_t size_bytes = 0;  ///< payload of one message
  std::uint64_t iterations = 0;  ///< timed ones
  std::uint64_t warmup_iterations = 0;
  std::string operation;  ///< as on the command line: "write-imm"
  /// What one sample spans: "half_round_trip" or "completion"; of a pattern its name.
  std::string kind;
  /// "memory-poll", "remote-cq-data", "receive" or "completion"; "pattern" of a pattern.
  std::string signal;
  std::string completion;           ///< of transport::Description, or "receiver_confirmed"
  measure::LatencySummary latency;  ///< over all samples; halved already where `kind` says so
  bool validated = false;  ///< every message's bytes were checked, or a pattern was told to
  std::optional<std::uint64_t> succeeded;  ///< compare-swaps that found what they looked for
  bool stable = true;                      ///< false: the epochs still differed when the run ended
  bool complete = true;                    ///< false: the run's error cut this row off
  double spread = 0;               ///< of the epochs' medians about their median; a ratio, >= 0
  std::vector<std::string> notes;  ///< what a reader must know of this row; whole sentences
};

enum class Metric : std::uint8_t { bandwidth, latency };

/// "bandwidth", "latency".
std::string_view name(Metric metric) noexcept;

/// One ordered pair of a fabric on one rail, once: a line {"record":"measurement"} of a
/// rdmabench-fabric/1 stream.
struct PairMeasurement {
  std::uint32_t round = 0;  ///< from 0, counted over the whole run, confirming rounds included
  /// "round-robin" (of full and of random), "one-to-many", "many-to-one", "bisection", "confirm"
  std::string pattern{};
  std::uint32_t sender = 0;  ///< ranks
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  double value = 0;  ///< bits per second, or nanoseconds (p50); 0 where `error` says why
  double low = 0;    ///< of its 95 % confidence interval; 0 where there is none
  double high = 0;
  double p99_ns = 0;  ///< of latency; 0 = too few samples for one
  double p99_low_ns = 0;
  double p99_high_ns = 0;  ///< 0 where the samples do not bound it
  std::string error{};
  std::string over{};  ///< what was taken, for people: "ofi, provider tcp, device lo"; "" = unknown
  double line_bits_per_s = 0;  ///< payload that the link can carry, by both ends; 0 = unknown
  std::string line_origin{};   ///< how that was computed, or why it could not be
  bool confirming = false;
  std::vector<std::string> notes{};

  bool latency() const noexcept { return metric == Metric::latency; }
  bool operator==(const PairMeasurement&) const = default;
};

/// What a part of a run's time gave.
struct Interval {
  double begin_ns = 0;  ///< of timed traffic before it; what lies between two epochs is not counted
  double elapsed_ns = 0;
  double bits_per_s = 0;
  double messages_per_s = 0;
};

/// Throughput of one operation at one size.
struct BandwidthResult {
  std::uint64_t size_bytes = 0;
  std::uint64_t iterations = 0;  ///< timed messages
  std::uint64_t warmup_iterations = 0;
  std::uint64_t depth = 0;  ///< messages that could be outstanding
  std::string operation;
  std::string direction = "one_way";  ///< which bytes count: "one_way" or "both_ways"
  std::string completion;             ///< where the clock stopped: "receiver_confirmed", ...
  double bits_per_s = 0;              ///< payload only
  double bits_per_s_low = 0;          ///< interval of bits_per_s over the epochs; both 0 with one
  double bits_per_s_high = 0;
  double messages_per_s = 0;
  double elapsed_ns = 0;
  double duty = 1;  ///< share of the time to the last epoch's end in which messages were under way
  double peak_bits_per_s = 0;         ///< docs/perftest.md, "BW peak"
  double offered_messages_per_s = 0;  ///< the rate that was asked for; 0 = as fast as it goes
  std::optional<std::uint64_t>
      lost;  ///< messages that did not arrive, where the transport may lose
  std::optional<std::uint64_t> succeeded;  ///< compare-swaps that found what they looked for
  std::vector<Interval> intervals;         ///< where they were asked for
  bool validated = false;
  bool stable = true;
  bool complete = true;  ///< false: the run's error cut this row off
  double spread = 0;     ///< of the epochs' rates about their median; a ratio, >= 0
  std::vector<std::string> notes;
};

/// Latency of one operation at one size under one load: an open loop, every message timed from when
/// it should have been posted.
struct LoadResult {
  LatencyResult latency;              ///< `kind` is "round_trip" or "completion"
  double load = 0;                    ///< offered rate over capacity; a ratio
  double capacity_ratio = 1;          ///< the capacity after the curve over that before
  double offered_messages_per_s = 0;  ///< over all threads
  double achieved_messages_per_s = 0;
  double max_lag_ns = 0;   ///< by which the latest post missed its time
  bool saturated = false;  ///< latency is far above that of the lightest load, or the rate not kept
  bool knee = false;  ///< the highest load before latency rises steeply; one row of a size at most
  /// Of the knee, or of the lowest load where latency already rises steeply there: false where
  /// latency was normal again at a higher load, as after a disturbance.
  bool knee_reliable = true;
};

/// What the client's choice came to.
struct Resolved {
  std::string backend;    ///< "verbs"
  std::string provider;   ///< "rxe", "tcp;ofi_rxm"
  std::string device;     ///< "rxe0:1"
  std::string transport;  ///< "rc", "rdm"
  std::string reason;     ///< one line: why this one
  Facts details;          ///< mtu, gid, inline, ...
  bool staged = false;    ///< the GPU memory of either side was copied through host memory
};

/// How far the times can be trusted.
struct Clock {
  std::string source;         ///< "tsc", "CLOCK_MONOTONIC_RAW"
  std::string reason;         ///< one line: why this one
  double ns_per_tick = 0;     ///< over the run itself
  double relative_error = 0;  ///< bound of the error of ns_per_tick, a ratio
  double stamp_overhead_ns = 0;
  double resolution_ns = 0;  ///< the smallest step of two stamps; 0 if unknown
};

/// Everything one run has to say. A run that failed half way still has its finished results.
struct Report {
  Facts config;  ///< what was asked: op, backend, size, iterations, depth, ...
  Resolved resolved;
  Environment environment;
  std::optional<Clock> clock;
  Environment conditions;  ///< of the run itself: noise floor, threads, their CPUs and migrations
  Counters counters;       ///< what changed, and what was watched and did not
  std::vector<Suspicion> suspicions;  ///< if there are any, the run is suspect
  std::variant<std::vector<LatencyResult>, std::vector<BandwidthResult>, std::vector<LoadResult>>
      results;
  std::vector<std::string> notes;    ///< about the whole run
  std::optional<std::string> error;  ///< why the run ended early
  std::optional<Failure> failure;    ///< the same as types; set where `error` is

  /// The rows of a run of that shape: look at `complete` of the last one, which a run that ended
  /// early has cut off. Throw Error(usage) that names the one that it has.
  const std::vector<LatencyResult>& latency() const;
  const std::vector<BandwidthResult>& bandwidth() const;
  const std::vector<LoadResult>& load() const;

  /// A fact of one of the lists, by a name with one of these six beginnings: "config.depth",
  /// "details.mtu" (of `resolved`), "environment.client.kernel" and "environment.server.kernel",
  /// which `compare` calls the same, and "conditions.server.watched_ns", also of "client", which it
  /// does not compare. nullptr where there is none. What it calls "resolved.device" is a member.
  const Fact* find(std::string_view name) const noexcept;
};

/// One document of docs/schema/rdmabench-1.schema.json, in UTF-8, ended by a newline.
///
/// Bytes that are not UTF-8 become U+FFFD and numbers that are not finite become null. A percentile
/// that the samples cannot support is written all the same and named in "unsupported_percentiles".
std::string to_json(const Report& report);

/// {"schema": "rdmabench/1", "documents": [...]}: the documents of several runs.
std::string to_json(std::span<const Report> reports);

/// A line of names, the same as the JSON result's keys and last "suspect", then a line for each
/// result; each ends in CR LF. A list becomes one field, its items separated by "; "; what has no
/// value is an empty field. The environment, the configuration, the counters and an error are in
/// the JSON alone. Source: RFC 4180.
std::string to_csv(const Report& report);

}  // namespace rdmabench::inline v1::report
