// Where results and progress go.
#pragma once

#include <span>
#include <string>

#include "options.h"
#include "rdmabench/report/result.h"

namespace rdmabench::tools {

/// Writes the reports in the format and to the place that the options name, and what ended a run
/// early to standard error. Returns the exit code: 0, or 1 when a run did not finish.
int write(std::span<const report::Report> reports, const Options& options);

/// Throws Error(failed) that names the path.
void write_file(const std::string& text, const std::string& path);

/// Writes to the file, or to standard output where `path` is empty. A text that cannot be written
/// to the file goes to standard output, so that no result is lost, and Error(failed) is thrown.
void write_text(const std::string& text, const std::string& path);

/// Erases the line of progress on a terminal.
void erase_progress();

/// A line about the run on standard error that overwrites itself; nothing where that is not a
/// terminal. Called between epochs only.
run::OnProgress progress_line();

}  // namespace rdmabench::tools
