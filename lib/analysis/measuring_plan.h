// What has to be measured on each network so that the step time of a job can be projected.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"

namespace rdmabench::inline v1::analysis {

/// Of each network the same.
struct MeasuringPlan {
  std::string operation = "write";
  std::vector<std::uint64_t> latency_sizes;    ///< bytes, rising
  std::vector<std::uint64_t> bandwidth_sizes;  ///< empty with TimeSource::latency
  std::uint64_t samples = 1000;                ///< of each size's latency
  std::uint32_t launches = kMinLaunches;       ///< of latency, and as many of bandwidth
};

/// The sizes of the messages at every number of nodes, and as many samples as the slowest link's
/// percentile needs. Where the number of rails is a default, for 1 to 8 of them, if that takes no
/// larger messages than 64 MiB and no more than 10000 samples. Throws
/// Error(usage) for a job that check() refuses, and for more links than a percentile tells of.
MeasuringPlan plan_measuring(const ProjectionOptions& options, const std::string& operation = {});

/// As many launches as a verdict takes if they vary as those of a pilot, which may be of either
/// network; at most kMostPlanned. Returns how much the step time of one launch varies, a ratio.
/// Throws Error(usage) for a pilot with fewer than two launches of a kind, or without what the job
/// needs.
double plan_launches(MeasuringPlan& plan, const std::vector<Launch>& pilot,
                     const ProjectionOptions& options);

/// More launches than these are not planned: the noise has to go first.
inline constexpr std::uint32_t kMostPlanned = 30;

struct ScriptNames {
  std::string a = "A";
  std::string b = "B";
  std::string folder_a = "a";
  std::string folder_b = "b";
  std::string plan_command;    ///< that wrote the script
  std::string decide_command;  ///< that is to be run at its end
};

/// How long the script measures: "about 15 min over links of 25 Gb/s; REST=TIME adds a pause
/// between its 5 rounds".
std::string duration_text(const MeasuringPlan& plan);

/// A POSIX sh script that measures both networks in turn, A B B A, and then decides.
std::string to_script(const MeasuringPlan& plan, const ScriptNames& names);

/// `name` as a folder: small letters, digits and '-'.
std::string folder_of(const std::string& name);

/// What `samples` lack for every value of `options`, one sentence each; empty if nothing.
std::vector<std::string> missing_for(const ProjectionOptions& options, TimeSource source,
                                     const std::string& side, const LinkSamples& samples);

/// As --size takes them: "8,64K".
std::string size_list(const std::vector<std::uint64_t>& sizes);

/// The commands that measure one launch, a line each.
std::vector<std::string> commands_of(const MeasuringPlan& plan);

}  // namespace rdmabench::inline v1::analysis
