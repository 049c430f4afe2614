// Reports and progress of the commands that measure.
#pragma once

#include <span>

#include "options.h"
#include "rdmabench/results/result.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {

/// Writes the reports in the format and to the place that the options name, and what ended a run
/// early to standard error. Returns the exit code: 0, or 1 when a run did not finish.
int write(std::span<const report::Report> reports, const Options& options);

/// A line about the run on standard error that overwrites itself, with the time left; nothing
/// where progress is not shown. As quick as its terminal. `part` of `parts` runs is made by this
/// one.
run::OnProgress progress_line(std::size_t part = 0, std::size_t parts = 1);

}  // namespace rdmabench::inline v1::tools
