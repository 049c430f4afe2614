// A whole run: what rank 0 decides and what every rank does, what is measured, and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/collective/call.h"
#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::collective {

inline constexpr std::uint32_t kMaxBatch = 1024;

/// As in CollectivePlan.
struct Amount {
  std::uint32_t batch = 1;  ///< kMaxBatch at most, or of a graph 1000 times that
  std::uint64_t iterations = 0;
  std::uint64_t warmup = 0;
  /// Places of memory that operations take in turn and again, kMaxBatch at most; behind them a
  /// sample begins at the first one. 0: every operation of an epoch has its own. Where there are
  /// fewer than operations, the last result in each place is checked; in place, where the result of
  /// one is the input of the next, that of one more in each place after the timed ones.
  std::uint32_t slots = 0;
};

/// Which ranks do each collective together, apart from the others but at the same time.
struct Division {
  std::string name{};                     ///< "halves"
  std::vector<std::uint32_t> group_of{};  ///< by rank: 0, 1, ...; empty: all ranks together
};

/// A group for each label, in the order in which they come first. `labels`: by rank.
Division divide(std::string name, const std::vector<std::string>& labels);

/// Rounds in which the ranks of every two labels are one group once: leaf against leaf. Throws
/// Error(usage): fewer than two labels.
std::vector<Division> divide_pairs(const std::string& name, const std::vector<std::string>& labels);

/// "halves" and "quarters" of the nodes (of the ranks, where all run on one), "nodes": each by
/// itself, "across": ranks of the same number on their nodes. Throws Error(usage): another word, or
/// too few nodes. `hosts`: by rank.
Division divide_by(std::string_view how, const std::vector<std::string>& hosts);

struct Row;
struct Run;
/// Measures the plan's calls among the groups; returns the new rows, a row for each call and group.
using Pass = std::function<std::span<const Row>(const Division& division)>;

/// Halves the nodes until one node, or the boundary between two parts, explains why all together
/// are slow, or wrong: Run::bisected. A group is slow where its bus bandwidth in the largest call
/// is below `share` of the best that any group had. The smallest group has two nodes, so one that
/// is suspected is paired with one that is known to be good. `hosts`: by rank. Throws Error(usage):
/// fewer than 4 nodes (or ranks, where all run on one).
void bisect(const Pass& pass, const std::vector<std::string>& hosts, double share, Run& run);

/// The same on every rank; rank 0's counts.
struct CollectivePlan {
  std::vector<Call> calls{};  ///< a row each, in this order
  /// Makes the passes over `calls`; without it there is one, of all ranks together.
  std::function<void(const Pass& pass, Run& run)> passes{};
  std::uint32_t batch = 1;       ///< operations of one sample: started together, awaited together
  std::uint64_t iterations = 0;  ///< samples of a row; 0: until the median is known
  std::uint64_t warmup = 5;      ///< samples before them, checked but not counted
  /// Every sample in the memory of the one before: Amount::slots is the batch.
  bool memory_reuse = false;
  /// The four values above, where they depend on the call; within the same bounds.
  std::function<Amount(const Call& call, std::uint32_t ranks)> amount{};
  /// Without `iterations` a row ends when the interval around its median is this narrow, to either
  /// side and relative to the median. Looked at after `min_iterations` samples and whenever they
  /// have doubled ...
  double precision = 0.02;
  std::uint64_t min_iterations = 20;
  /// ... or after this time.
  std::chrono::nanoseconds budget = std::chrono::seconds(2);
  bool check = true;                                     ///< every result
  std::uint64_t buffer_bytes = std::uint64_t{64} << 20;  ///< of all slots of one side, about
  /// Limit of every wait: of one sample, of an answer, of opening and closing the library.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

/// Throws Error(usage) for an invalid plan: nothing to measure, a root that is not a rank, numbers
/// out of bounds.
void check(const CollectivePlan& plan, std::uint32_t ranks);

/// The first stretch of wrong elements of a result.
struct Wrong {
  std::uint64_t iteration = 0;     ///< of the row, warm-up first; see name_of_operation()
  std::uint64_t offset_bytes = 0;  ///< from the beginning of the rank's result
  /// To the last wrong element before 8 or more right ones: among small numbers some are right by
  /// luck.
  std::uint64_t run_bytes = 0;
  /// "zero", "stale" (the result that this buffer held before, of an earlier row too), "input of
  /// rank 3" (data that was not combined, or went to the wrong place), "bit flip" (one bit of one
  /// element), "past the end" (the result may be right; offset_bytes is its size or more), "late:
  /// right when it was read again" (somewhere in the whole result, and counted as one element; the
  /// back end had compared it where the memory is), "other"
  std::string pattern{};
  /// Of the first wrong element, hexadecimal as it reads in the type; past the end of one byte.
  std::string expected{};
  std::string actual{};
};

/// What one rank found.
struct Checked {
  std::uint64_t operations = 0;
  std::uint64_t wrong_operations = 0;
  std::uint64_t wrong_elements = 0;
  std::optional<Wrong> first{};
};

/// A rank that keeps the others waiting.
struct Late {
  std::uint32_t rank = 0;
  double share = 0;           ///< of the samples, in which it came last by more than the bound
  double by_ns = 0;           ///< median of those: how long after the median rank
  double error_bound_ns = 0;  ///< of a difference between two ranks' clocks
};

struct Arrivals {
  double skew_p50_ns = 0;  ///< from the first rank's arrival to the last one's
  double skew_max_ns = 0;
  double error_bound_ns = 0;
  /// From the last arrival to the last exit, median: the duration once all ranks had arrived.
  double p50_after_last_ns = 0;
  std::optional<Late> late{};  ///< one rank that came last in half of the samples or more
  std::string reason{};        ///< why there is no `late`
};

/// One rank's own times.
struct RankTimes {
  double min_ns = 0;
  double p50_ns = 0;
  double max_ns = 0;
  std::uint64_t came_last = 0;  ///< samples, by more than the bound
};

struct Numbers {
  /// Of one operation: each sample is the longest that any rank took, divided by the batch. A rank
  /// that returns early, as the root of a broadcast, does not make it shorter.
  measure::LatencySummary time{};
  /// Confidence of the interval in `time` around the median: 0.95 of
  /// measure::percentile_interval(), or MedianWatch::kLevel, of the look that ended the row.
  double median_level = 0.95;
  std::vector<RankTimes> ranks{};  ///< of one operation
  Arrivals arrivals{};
};

/// The first wrong stretch that any rank found.
struct WrongAt {
  std::uint32_t rank = 0;
  Wrong wrong{};
};

struct Row {
  Call call{};
  std::string group{};                 ///< "halves 0-3"; "" = all ranks
  std::vector<std::uint32_t> ranks{};  ///< of the group; numbers.ranks are in this order
  std::uint64_t size_bytes = 0;
  std::string skipped{};         ///< why this was not measured; "" where it was
  std::uint64_t iterations = 0;  ///< samples
  std::uint64_t warmup = 0;
  std::uint32_t batch = 1;
  Numbers numbers{};
  bool converged = true;  ///< false: the budget ended before the precision was reached
  double algorithm_bytes_per_s = 0;
  std::optional<double> bus_bytes_per_s{};
  std::string bus_reason{};  ///< why there is no bus bandwidth
  bool checked = false;
  Checked results{};  ///< of all ranks
  std::optional<WrongAt> first_wrong{};
  report::Facts facts{};  ///< of the library, for this row
};

struct RankReport {
  RankIdentity identity{};
  report::Facts facts{};
  ClockOffset clock{};                      ///< as last compared
  std::vector<report::Counter> counters{};  ///< of all rows together
  std::vector<std::string> notes{};
};

/// What bisect() found.
struct Bisected {
  /// One part of the nodes each: it is slow by itself. Two: each is good, but not with the other.
  std::vector<std::vector<std::vector<std::string>>> suspects{};
  std::string text{};  ///< as a sentence
};

using report::RequirementFinding;

struct Run {
  std::string backend{};
  report::Facts config{};
  report::Facts environment{};  ///< of rank 0's machine
  report::Facts library{};
  std::vector<RankReport> ranks{};
  std::vector<Row> rows{};
  std::vector<std::string> notes{};
  std::string error{};               ///< why it ended early; finished rows stay
  std::optional<Failure> failure{};  ///< the same as types; set where `error` is
  Blame blame{};                     ///< which ranks caused it
  std::optional<Bisected> bisected{};
  std::vector<RequirementFinding> findings{};  ///< prove(); a failed one fails the run
};

/// What has to have carried the bytes, a comma-separated list. Throws Error(usage) that names the
/// unknown word.
///   device=NAME   on every node this device sent half or more of the bytes that the rows' results
///                 need to leave it, by its own counters; of several such, an equal share each.
///                 Its traffic of other programs counts too, so the nodes should have no other.
///   network=NAME  NCCL's own word for its network
///   gpudirect     each rank's connections through a NIC use GPUDirect RDMA, by NCCL's own log
std::vector<run::Requirement> parse_required(std::string_view text);

/// Of each requirement on each node, or on each rank for gpudirect, by the finished run. Pure.
std::vector<RequirementFinding> prove(const Run& run,
                                      const std::vector<run::Requirement>& required);

/// What to do first: "run doctor" on the nodes, or "investigate" what lies between two parts.
std::string_view action_of(const Bisected& bisected) noexcept;
inline constexpr std::string_view kActionOfRank = "run doctor";  ///< late, wrong, or hung

/// "operation 12" of the row, warm-up first, or that it was one of those that followed the timed
/// ones to be checked. For a row with `first_wrong`.
std::string name_of_operation(const Row& row);

/// Whether the run ended early or any result was wrong.
bool failed(const Run& run);

/// The reason where every row was skipped, else "".
std::string nothing_measured(const Run& run);

/// Times in microseconds, bandwidths in GB/s of 1e9 bytes. Wrong results and late ranks are below
/// the table. busbw is in GB/s as in nccl-tests, where links are in Gb/s, and the table says so.
/// A line that names the command's --wide tells of what a greater `width` shows.
std::string to_table(const Run& run, std::size_t width = report::kUsualWidth);

/// docs/schema/rdmabench-coll-1.schema.json, ended by a newline. Nothing in it is scaled.
std::string to_json(const Run& run);

/// RFC 4180: a line of names and one for each row, with the keys of the document's results.
std::string to_csv(const Run& run);

/// Options of this rank alone.
struct MemberOptions {
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);  ///< as CollectivePlan::timeout
  /// RDMA or network devices whose counters are read, before and after all rows together; "all"
  /// alone: every RDMA device there is
  std::vector<std::string> devices{"all"};
  bool interfaces = false;  ///< ... and of every network interface
  report::Facts facts{};    ///< for RankReport::facts
  /// Every result is read and compared by the CPU. Else the back end compares where the memory is,
  /// and the CPU looks at what it finds wrong.
  bool check_by_cpu = false;
  std::string root = "/";  ///< holds sys and proc; a test gives a directory of its own
};

using OnRow = std::function<void(const Run&)>;

/// Rank 0: opens the library with the others, measures the plan's calls and fills `run`, calling
/// `on_row` after each row; what each rank's library is stands in `run` before the first one. A
/// failure on any rank ends the run: run.error names it and the rank that caused it, and the
/// library is aborted. The other ranks wait for rank 0's reason: write the results, then dismiss().
///
/// Throws Error(usage) for a plan that cannot be, before anything is opened, and, as long as no row
/// is done, Error(usage) or Error(unavailable) of any rank's library.
void lead(RankGroup& group, Engine& engine, const CollectivePlan& plan,
          const MemberOptions& options, Run& run, const OnRow& on_row = {});

/// Rank 0: ends a run that failed, on all ranks.
void dismiss(RankGroup& group, const Run& run) noexcept;

/// Rank 0's reason, which that rank tells too.
class Verdict : public Error {
 public:
  using Error::Error;
};

/// The other ranks: carry out rank 0's commands until the run ends. Throws Verdict if the run
/// fails, here or elsewhere, or Error where rank 0 gave no reason.
void follow(RankGroup& group, Engine& engine, const MemberOptions& options);

inline constexpr std::uint32_t kMaxWireQueuePairs = 128;

/// How the bytes between two ranks are cut into messages.
struct WireShape {
  std::uint64_t size_bytes = std::uint64_t{1} << 20;  ///< of a message
  std::uint32_t in_flight = 0;    ///< messages of each queue pair; 0 = as `rdmabench bw`
  std::uint32_t queue_pairs = 1;  ///< 1..kMaxWireQueuePairs
  bool clear_to_send = false;     ///< the receiver asks for each message, as NCCL's does
};

/// What the ranks of a collective reach point to point over the same NICs. All but `device`,
/// `memory` and `host_instead` are the same on every rank.
struct PointToPointOptions {
  std::string backend = "auto";  ///< of run::Config: "auto", "verbs", "ofi"
  std::string provider{};        ///< of libfabric; "" = choose
  std::string device{};          ///< of this rank; "" = choose
  std::string memory = "host";   ///< of this rank's side: "host", "huge", "cuda:0", ...
  /// If a pair cannot be measured with the memory of its ranks, or GPU memory would be staged,
  /// measure it with host memory on both sides; its route says why.
  bool host_instead = false;
  WireShape shape{};
  /// Then change the shape step by step to what NCCL does for the largest row, in host memory.
  bool as_nccl = false;
  std::chrono::nanoseconds duration = std::chrono::milliseconds(500);  ///< of each pair
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);         ///< of every wait
};

/// One direction between two ranks.
struct PointToPointResult {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bits_per_s = 0;  ///< payload, confirmed by the receiver; 0 where there is an error
  /// "verbs mlx5_0:1 rc, memory cuda:0 (the client's cuda:0 by dma-buf; ...)"
  std::string route{};
  std::string error{};
  /// The wire moved pinned host memory in place of a GPU's, at one side at least.
  bool staged = false;
};

/// One step from a plain stream to what NCCL does.
struct WireStep {
  std::string name{};  ///< "4 in flight"
  WireShape shape{};
  std::vector<PointToPointResult> pairs{};
};

/// What measure_point_to_point() found.
struct PointToPoint {
  std::vector<PointToPointResult> pairs{};
  WireShape shape{};              ///< of those
  std::vector<WireStep> steps{};  ///< with `as_nccl`
  bool no_steps = false;          ///< `as_nccl`, and no row that they could explain
};

/// Where a back end has its buffers, in PointToPointOptions's words: its fact "memory"; "host"
/// without one.
std::string memory_of(const report::Facts& facts);

/// Collective, once the collective's library is closed. Every rank writes into its neighbour's
/// memory, by the loop of `rdmabench bw`. Rank 0, whose `run` counts, gets all pairs, the others
/// nothing; what a pair fails at is in it. Throws Error(failed) where a rank is gone.
PointToPoint measure_point_to_point(RankGroup& group, const PointToPointOptions& options,
                                    const Run& run);

/// Enters what the wire gave into the run: into the rows' facts wire_bits_per_s, of the slowest
/// pair, and wire_share, the bus bandwidth over that, and where a pair was staged wire_memory,
/// which says so; into the notes a line for each pair and each step. The row that the steps explain
/// gets wire_nccl_bits_per_s, of the last step, wire_nccl_share, and what that step was:
/// wire_nccl_message_bytes, wire_nccl_in_flight, wire_nccl_queue_pairs.
void join(Run& run, const PointToPoint& wire);

/// From the plain stream to the collective, a line for each step; empty without steps.
std::string wire_steps_text(const Run& run, const PointToPoint& wire);

/// Whether a pair, or a pair of a step, was not measured.
bool any_failed(const PointToPoint& wire);

}  // namespace rdmabench::inline v1::collective
