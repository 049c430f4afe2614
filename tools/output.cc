#include "output.h"

#include <fmt/format.h>

#include <algorithm>

#include "flags/fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/documents.h"
#include "report/perftest.h"

namespace rdmabench::inline v1::tools {
namespace {

std::vector<report::Document> documents_of(std::span<const report::Report> reports) {
  std::vector<report::Document> documents;
  for (const report::Report& one : reports) documents.push_back(to_document(one));
  return documents;
}

std::string to_text(std::span<const report::Report> reports, const Options& options) {
  if (options.format == "table") {
    return for_reading(report::to_table(reports, options.verbose, table_width(options.wide)),
                       options.output);
  }
  std::string text;
  for (const report::Report& one : reports) {
    if (!text.empty()) text += '\n';
    text += options.format == "csv" ? report::to_csv(one) : report::to_perftest(one);
  }
  return text;
}

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

int write(std::span<const report::Report> reports, const Options& options) {
  erase_progress();
  const bool is_json = options.format == "json";
  const bool needs_json = is_json || !options.json.empty() || !options.expect.empty();
  const Judged judged = needs_json ? judge(documents_of(reports), options.expect) : Judged();
  write_judged(is_json ? judged.json : to_text(reports, options), judged, options);
  int code = judged.failed ? static_cast<int>(Fault::failed) : 0;
  for (const report::Report& one : reports) {
    if (!one.error) continue;
    tell(with_flags(*one.error));
    code = static_cast<int>(Fault::failed);
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
