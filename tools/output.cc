#include "output.h"

#include <fmt/format.h>

#include <algorithm>

#include "ending.h"
#include "flags/fields.h"
#include "launches.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "results/not_rdma.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::tools {
namespace {

/// Of one size, from 0 to 1. 0 where it ends when it is stable.
double done_of(const run::Progress& progress) {
  const auto share = [](auto done, auto all) {
    return std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  };
  if (progress.loads > 0) return share(progress.load_index, progress.loads);
  if (progress.target_iterations > 0) return share(progress.iterations, progress.target_iterations);
  if (progress.target_time.count() > 0) {
    return share(progress.elapsed.count(), progress.target_time.count());
  }
  return 0;
}

/// "at most 20 s left": what a run may still take whose sizes end when they are stable.
std::string longest_left(const run::Progress& progress) {
  const auto sizes = static_cast<double>(progress.sizes - progress.size_index);
  const double left = sizes * std::chrono::duration<double>(progress.max_time).count() -
                      std::chrono::duration<double>(progress.elapsed).count();
  return fmt::format("at most {}", time_text(left));
}

}  // namespace

Writer::Writer(const Options& options)
    : options_(options), table_(options.verbose, table_width(options.wide), options.config.sizes) {}

std::string Writer::rows(const report::Report& report, bool last) {
  if (options_.format == "json") return "";
  if (options_.format == "table") return for_reading(table_.rows(report, last), options_.output);
  using As = report::RunRecords::As;
  const bool lines = options_.format == "jsonl";
  if (!begun_) {
    const std::string without = not_rdma(report);
    if (!without.empty() && launch_part().index == 0) tell(without);  // which the table has
    perftest_.emplace();
    records_.emplace(lines ? As::json_lines : As::csv);
  }
  std::string text = !begun_ && several_ && !lines ? "\n" : "";
  text +=
      options_.format == "perftest" ? perftest_->more(report, last) : records_->more(report, last);
  begun_ = !last;
  several_ = true;
  return text;
}

int Writer::write(std::string text, std::span<const report::Report> reports) {
  const bool is_json = options_.format == "json";
  Judged judged;
  if (is_json || !options_.json.empty() || !options_.expect.empty()) {
    std::vector<report::Document> documents;
    for (const report::Report& one : reports) documents.push_back(to_document(one));
    judged = judge(std::move(documents), options_.expect);
  }
  if (options_.format == "table") text += for_reading(table_.end(reports), options_.output);
  int code = judged.failed ? static_cast<int>(Fault::failed) : 0;
  std::string errors;
  for (const report::Report& one : reports) {
    if (!one.error) continue;
    code = static_cast<int>(Fault::failed);
    errors += fmt::format("error: {}\n", report::terminal_safe(*one.error));
  }
  // What stands on standard output is followed by standard error's line, but a file is read alone.
  if (options_.format == "table" && !options_.output.empty()) text += errors;
  write_judged(is_json ? judged.json : std::move(text), judged, options_);
  for (const report::Report& one : reports) {
    if (one.error && !ended_unwritten(one)) tell(with_flags(*one.error));
  }
  return code;
}

run::OnProgress progress_line(std::size_t part, std::size_t parts) {
  if (!shows_progress()) return nullptr;
  return [part, parts, line = Progress()](const run::Progress& progress) {
    const double of_size = done_of(progress);
    const double sizes = (static_cast<double>(progress.size_index) + of_size) /
                         static_cast<double>(std::max<std::size_t>(progress.sizes, 1));
    const double done = (static_cast<double>(part) + sizes) / static_cast<double>(parts);
    std::string what = parts > 1 ? fmt::format("{} of {}: ", part + 1, parts) : "";
    what += fmt::format("size {} of {}: {} bytes, ", progress.size_index + 1, progress.sizes,
                        format_size(progress.size_bytes));
    if (progress.loads > 0) {
      what += fmt::format("load {} of {}", progress.load_index, progress.loads);
    } else {
      what += rate_text(progress.messages_per_s);
    }
    if (progress.max_time.count() > 0 && parts == 1) {
      show_progress(what, longest_left(progress));
    } else {
      line.show(what, done);
    }
  };
}

}  // namespace rdmabench::inline v1::tools
