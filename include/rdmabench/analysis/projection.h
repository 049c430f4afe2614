// What a measured fabric, or the difference between two, is worth to a training job.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/analysis/step_time.h"
#include "rdmabench/analysis/verdict.h"

namespace rdmabench::analysis {

/// What is varied from row to row.
enum class Axis : std::uint8_t { nodes, parameters, tokens };

std::string_view name(Axis axis) noexcept;

struct ProjectionOptions {
  Job job;  ///< what is not varied
  Axis axis = Axis::nodes;
  std::vector<double> values;        ///< of the axis, rising
  std::optional<TimeSource> source;  ///< none: both where there are both, else what there is
  bool extrapolate = false;
  Settings settings;              ///< of the verdict; the margin is of the step time
  std::optional<double> price_a;  ///< of one node for an hour, in any currency
  std::optional<double> price_b;
  /// Where a value comes from, by the assumption's name: "given", "model llama-3-8b". What is not
  /// here is a default.
  std::map<std::string, std::string> origins;
};

/// A value that the result rests on.
struct Assumption {
  std::string name;
  std::string value;
  std::string unit;    ///< may be empty
  std::string origin;  ///< "given", "default", "measured", ...
};

/// One side at one value of the axis.
struct ProjectedStep {
  StepTime time;
  std::optional<double> low_s;  ///< 1 - 2 alpha interval of the step; none from a single launch
  std::optional<double> high_s;
  double nothing_hidden_s = 0;  ///< the step, were there no overlap
  double all_hidden_s = 0;      ///< were all communication hidden that can be
  std::optional<double> cost;   ///< of one step on all nodes
};

struct ProjectionRow {
  double value = 0;  ///< of the axis
  std::optional<ProjectedStep> a;
  std::optional<ProjectedStep> b;
  std::optional<Judgement> difference;  ///< of B's step against A's
  std::string refusal;                  ///< why there is no step
};

/// Between two values of the axis the difference passes the margin.
struct BreakEven {
  double from = 0;
  double to = 0;
  double about = 0;           ///< where the difference, as it was estimated, is the margin itself
  bool beyond_after = false;  ///< beyond the margin from there on; else within it
};

struct Projection {
  ProjectionOptions options;
  TimeSource source = TimeSource::both;
  LinkSamples a;
  std::optional<LinkSamples> b;
  std::vector<Assumption> assumptions;
  std::vector<ProjectionRow> rows;
  std::vector<BreakEven> break_evens;
  std::vector<std::string> notes;
};

/// Projects A, and B beside it where it is given. The interval is a jackknife's over launches, of
/// both kinds of curve apart, with Satterthwaite's degrees of freedom. Throws Error(usage) for a
/// job that check() refuses, and where no row could be projected, with the first row's reason.
Projection project(LinkSamples a, std::optional<LinkSamples> b, const ProjectionOptions& options);

/// For people; every assumption is in it.
std::string to_table(const Projection& projection);

/// A document of docs/schema/rdmabench-project-1.schema.json, ended by a newline.
std::string to_json(const Projection& projection);

}  // namespace rdmabench::analysis
