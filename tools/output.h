// Reports and progress of the commands that measure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "options.h"
#include "rdmabench/results/result.h"
#include "report/perftest.h"
#include "report/run_text.h"
#include "results/csv.h"
#include "terminal.h"
#include "writing.h"

namespace rdmabench::inline v1::tools {

/// Writes runs in the format and to the place that the options name, which must outlive it.
class Writer {
 public:
  explicit Writer(const Options& options);

  /// Whether rows are written as they are finished: not into a file, which is written whole, nor as
  /// JSON, which is one document.
  bool streams() const { return options_.output.empty() && options_.format != "json"; }

  /// Whether rows of a curve of loads are, which of them is the knee is not known yet: a table says
  /// that below, a record in each row.
  bool each_load() const { return options_.format == "table"; }

  /// What the report has more than at the last call; `last`: with what ends its rows. The next call
  /// is then for another run.
  std::string rows(const report::Report& report, bool last);

  /// Writes `text`, what is said of all reports, and to standard error what ended one early.
  /// Returns the exit code: 0, or 1 where one did not finish.
  int write(std::string text, std::span<const report::Report> reports);

 private:
  const Options& options_;
  report::RunTable table_;
  std::optional<report::PerftestText> perftest_{};
  std::optional<report::RunRecords> records_{};
  bool begun_ = false;    ///< a run
  bool several_ = false;  ///< runs
};

/// A line about the run on standard error that overwrites itself, with the time left; nothing
/// where progress is not shown. As quick as its terminal. `part` of `parts` runs is made by this
/// one.
run::OnProgress progress_line(std::size_t part = 0, std::size_t parts = 1);

}  // namespace rdmabench::inline v1::tools
