// A whole run over many nodes: what the process of every rank calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/control/rendezvous.h"
#include "rdmabench/fabric/matrix.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"

namespace rdmabench::inline v1::fabric {

struct CoordinatorOptions {
  /// An agent that does not answer for this long is lost.
  std::chrono::nanoseconds answer_limit = std::chrono::milliseconds(2500);
  std::chrono::nanoseconds step_limit{0};  ///< of one step of a round; 0 = derived from the plan
};

/// What a run is told. Rank 0's plan counts; the other ranks get it from there.
struct FabricOptions {
  FabricPlan plan{};
  std::string
      output{};  ///< rank 0: file of the stream of records, the others write none; "" = none
  std::string resume{};  ///< continue the run in this file; "" = begin
  std::chrono::nanoseconds wait = std::chrono::seconds(60);  ///< for all ranks to come
  std::vector<std::string> topology{};  ///< rank 0's files for read_topology(); none = unknown
  bool confirm = true;                  ///< measure again what stands out, and judge by that
  /// The plan names no provider, and measuring the kernel's TCP where there is no RDMA is meant:
  /// the verdict says that it was not RDMA, and does not fail for it.
  bool allow_tcp = false;
  CoordinatorOptions coordinator{};
  std::uint16_t port = 0;  ///< TCP port of the coordinator; 0 = a free one
  run::Config base{};      ///< options of this node alone: queues, path, memory, CPUs
  /// From 1: which of several launches of these ranks; the later ones append to `output`. 0: the
  /// only one.
  std::uint32_t launch = 0;
  /// Rank 0: requested, it ends the run after the round under way, without a verdict, so that
  /// `resume` can go on.
  std::stop_token stop{};
};

/// About once a second while nodes are missing, when a client was refused meanwhile, when all have
/// come (round 0), and after each round; `of` counts the rounds that are known by then, 0 while
/// nodes are missing.
struct FabricProgress {
  std::uint32_t round = 0;
  std::uint32_t of = 0;
  std::uint32_t alive = 0;  ///< nodes
  bool confirming = false;
  std::vector<std::string> missing{};  ///< who has not come: by the launcher's name, or "rank 7"
  std::chrono::nanoseconds waits{0};   ///< so long more for them
  std::string refused{};               ///< whom rank 0 refused, a line: "10.0.0.7:4242: ..."
};
using OnFabricProgress = std::function<void(const FabricProgress&)>;

struct RoundCost {
  std::uint32_t round = 0;
  double own_ms = 0;  ///< processor time of the coordinator's thread
};

struct FabricResult {
  Matrix matrix{};
  std::vector<RoundCost> costs{};
  Attribution verdict{};
  bool complete = true;  ///< false: `stop` ended it
};

/// Whether the command `fabric` ends with 1 by it: a finding, a lost node, a measurement that
/// failed, a node that has less than those of its model, or no RDMA where nothing asked for TCP;
/// with `strict` also what cannot be judged. Of limits and requirements report::judge() and prove()
/// tell. Pure.
bool failed(const FabricResult& result, bool strict = false);

/// What this rank knows at the end.
struct RankOutcome {
  std::uint32_t rank = 0;
  std::optional<FabricResult> result{};  ///< on rank 0
  std::string left_early{};              ///< why this node left before the end; "" = it did not
  /// Of several launches: a node was lost, or `stop` ended this one, so that no other follows.
  bool last = false;
};

/// Every rank: finds rank 0 by `rendezvous`, which it gives up as soon as it can, and takes part.
/// Rank 0 coordinates and has an agent of its own beside that. Lost nodes and failed measurements
/// are results, not errors. Rank 0 reports errors of the plan before it waits for other ranks.
/// The stream holds every finished round, whatever happens in a later one.
///
/// Throws Error(usage) for a plan that check() refuses, fewer than 2 or more than kMaxNodes ranks,
/// or a file that is not of this run; Error(failed) when the stream cannot be written, and on other
/// ranks when the coordinator is not there or is gone. Thread rule: one thread.
RankOutcome run(const FabricOptions& options, std::unique_ptr<control::Rendezvous> rendezvous,
                const OnFabricProgress& on_progress = {});

/// Whether a device of a host carried the measurements whose endpoints named it: "mlx5_0 of node 3
/// (host)"; several ranks of a host are one, and a node may have named none. FAIL: it counted less
/// than half of their bytes; OPEN: it has no counter of bytes, or too few were sent.
///
/// From Matrix::bytes, which runs with requirements have: by host, then by device. A device counts
/// the traffic of all programs, so a pass says that it may have carried these bytes, and a fail
/// that it did not. Pure.
std::vector<report::RequirementFinding> prove(const Matrix& matrix);

// A run as text: JSON Lines, a table, CSV.

/// The whole run as lines of docs/schema/rdmabench-fabric-1.schema.json, without a verdict.
std::string to_json_lines(const Matrix& matrix);
/// A document of kFabricSchema as such lines.
std::string to_json_lines(const report::Document& document);
/// Its last line: the verdict with its headline, which says first who was lost.
std::string verdict_record(const Matrix& matrix, const Attribution& verdict);

/// Reads what was written, as report::parse_documents() does. `source` names it in errors. Throws
/// Error(usage) that names the line if this is no run, or more than one.
Matrix matrix_from_json_lines(std::string_view text, const std::string& source = "the run");

/// The same from a file.
Matrix read_stream(const std::string& path);

/// The verdict first: who was lost, each finding with its evidence, and what cannot be judged. Then
/// the sections that report::to_markdown() has of it, with the first rows of long tables. A line
/// that names the command's --wide tells of what a greater `width` shows.
std::string to_table(const Matrix& matrix, const Attribution& verdict,
                     std::size_t width = report::kUsualWidth);

/// RFC 4180, one line for each measurement, with the names of the JSON.
std::string to_csv(const Matrix& matrix);

}  // namespace rdmabench::inline v1::fabric
