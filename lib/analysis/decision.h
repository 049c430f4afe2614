// Whether one measured network is worth it over another one for a training job, and how sure that
// is.
//
// It adds no analysis of its own: step times, intervals and their noise are those of project(). The
// page for a decision maker is one content that every format prints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/projection.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::analysis {

/// Whether A is worth it over B.
enum class Answer : std::uint8_t { yes, no, not_proven };

/// "YES", "NO", "NOT PROVEN".
std::string_view name(Answer answer) noexcept;

/// Why the answer is as it is.
enum class AnswerReason : std::uint8_t {
  proven,       ///< the likely range lies on one side of the limit
  few,          ///< fewer than kMinLaunches of a kind on a side
  more,         ///< some more launches should settle it
  noise,        ///< the launches vary so much that more of them would not
  close,        ///< the estimate is about the limit itself
  disturbed,    ///< what disturbed the launches comes before any more of them
  one_session,  ///< it would be YES, and rests on one pair of nodes and one session
};

/// "proven", "few_launches", "more_launches", "noise", "close", "disturbed", "one_session".
std::string_view name(AnswerReason reason) noexcept;

/// An estimate, and its 1 - 2 alpha interval over launches.
struct Likely {
  double value = 0;
  std::optional<double> low;  ///< none from a single launch
  std::optional<double> high;
};

struct DecisionOptions {
  ProjectionOptions projection;        ///< of nodes; the answer is that of the last value
  std::string job;                     ///< what the model is called; "": by its parameters
  std::string currency;                ///< of the prices: "USD", "$", "원"; may be empty
  std::optional<double> steps;         ///< of the run
  std::optional<double> tokens_total;  ///< of the run, in place of its steps
  std::string operation;               ///< of the curves; "" = the only one there is
  bool one_pair = false;               ///< YES may rest on one pair of nodes and one session
  std::string command;                 ///< that made this decision, for people to repeat
  std::string plan_command;            ///< that writes the script which measures some more
  std::string run_command;             ///< that runs it
  std::string new_plan_command;        ///< the same where these launches are not built upon
  std::string new_run_command;

  /// Throws Error(usage) that names the value which is out of range.
  void check() const;
};

/// Some amount of work, on all nodes.
struct Work {
  std::string kind;  ///< "thousand_steps", "run", "month_of_b"
  double steps = 0;
  double a_s = 0;
  double b_s = 0;
  Likely saved_s;  ///< by A; negative where A takes longer
  std::optional<double> a_cost;
  std::optional<double> b_cost;
  std::optional<Likely> saved_cost;
};

/// From how many nodes to how many A pays, by the estimate.
struct PayingSpan {
  double from = 0;
  double to = 0;
};

/// At one overlap of communication and computation.
struct PayingNodes {
  std::string kind;  ///< "none", "assumed", "full"
  double overlap = 0;
  std::vector<PayingSpan> spans;
};

/// How far one assumption may be off before the estimate of whether A pays changes, the others left
/// as they are.
struct Flip {
  std::string name;    ///< as in Assumption
  std::string origin;  ///< "default", "given", ...
  double now = 0;
  std::optional<double> at;  ///< the nearest value at which it changes; none within the range
  bool upwards = false;      ///< it changes at `at` and above; else at `at` and below
  double from = 0;           ///< the range that was searched
  double to = 0;
  bool cut_short = false;  ///< the measurements are not enough for the rest of the range
  double distance = 0;     ///< of `at`, as a share of the range; 1 without one
};

struct Decision {
  DecisionOptions options;
  Projection projection;
  Answer answer = Answer::not_proven;
  AnswerReason reason = AnswerReason::few;
  bool pays = false;  ///< by the estimate
  double limit = 1;   ///< A pays where B's step time over A's is larger
  double nodes = 0;   ///< that the answer is for
  Likely ratio;       ///< A's step time over B's
  Likely premium;     ///< share by which a node of A may cost more than one of B
  std::optional<Likely> cost_ratio;
  std::vector<Work> works;
  std::vector<PayingNodes> paying;
  std::vector<Flip> flips;                     ///< nearest first
  double variation = 0;                        ///< of a step time from one launch to the next
  std::optional<std::uint32_t> more_launches;  ///< of each kind on each side; of several units none
  std::uint32_t launches = 0;                  ///< the fewest of a kind on a side
  std::size_t units = 1;  ///< pairs of nodes and sessions, of the side that has fewer
  LaunchSequence order;
};

/// With prices A is worth it where the whole interval of a step's cost on A is below that on B;
/// without, where the whole interval of B's step is longer by more than the margin; both only where
/// it is over more than one pair of nodes or session, unless `one_pair` is set. The judged
/// number of nodes is the largest. Throws Error(usage): for options that exclude each other, and
/// for data that are not enough for every number of nodes, with all reasons and the commands that
/// measure what is missing.
Decision decide(const std::vector<Launch>& a, const std::vector<Launch>& b,
                const DecisionOptions& options);

enum class Language : std::uint8_t { english, korean };

/// How a decision is written. All have the same sentences and numbers.
enum class DecisionFormat : std::uint8_t { text, markdown, json, html };

/// Text of `width` columns; JSON of docs/schema/rdmabench-decide-1.schema.json; HTML as the page of
/// report::to_html(), which shows `generated` and prints on one sheet.
std::string to_document(const Decision& decision, DecisionFormat format, Language language,
                        std::string_view generated = "", std::size_t width = report::kUsualWidth);

}  // namespace rdmabench::inline v1::analysis
