// Reports and progress of the commands that measure.
#pragma once

#include <span>
#include <string>

#include "options.h"
#include "rdmabench/report/result.h"
#include "writing.h"

namespace rdmabench::tools {

/// Writes the reports in the format and to the place that the options name, and what ended a run
/// early to standard error. Returns the exit code: 0, or 1 when a run did not finish.
int write(std::span<const report::Report> reports, const Options& options);

/// Erases the line of progress on a terminal.
void erase_progress();

/// A line about the run on standard error that overwrites itself; nothing where that is not a
/// terminal. Called between epochs only.
run::OnProgress progress_line();

}  // namespace rdmabench::tools
