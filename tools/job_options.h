// The options of a projection's job, which 'project' and 'decide' share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "analysis/projection.h"

namespace rdmabench::inline v1::tools {

struct JobOptions {
  std::string operation;
  std::string model;  ///< as it was named; "" where --params was given alone
  analysis::ProjectionOptions projection;
  // Each is one value, and one of the three may be several.
  std::vector<double> nodes{2, 4, 8, 16, 32, 64, 128};
  std::vector<double> parameters;
  std::vector<double> tokens{4096};
};

/// The job and the cluster. `options` has to outlive `sub`.
void add_job(CLI::App& sub, JobOptions& options);

/// How the job is projected and judged, and the prices.
void add_projection(CLI::App& sub, JobOptions& options);

/// Which of nodes, parameters and tokens is varied; the others go into the job. Throws
/// Error(usage).
void settle_axis(JobOptions& options);

}  // namespace rdmabench::inline v1::tools
