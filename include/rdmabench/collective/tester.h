// A whole run: what rank 0 decides, and what every rank does. Then the same ranks point to point.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/rank_group.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

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
/// `on_row` after each row. A failure on any rank ends the run: run.error names it and the rank
/// that caused it, and the library is aborted. The other ranks wait for rank 0's reason: write the
/// results, then dismiss().
///
/// Throws Error(usage) for a plan that cannot be, before anything is opened, and, as long as no row
/// is done, Error(usage) or Error(unavailable) of any rank's library.
void lead(RankGroup& group, Engine& engine, const CollectivePlan& plan,
          const MemberOptions& options, Run& run, const OnRow& on_row = {});

/// Rank 0: ends a run that failed, on all ranks.
void dismiss(RankGroup& group, const Run& run) noexcept;

/// The other ranks: carry out rank 0's commands until the run ends. Throws Error(failed) with rank
/// 0's reason if the run fails, here or elsewhere.
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
