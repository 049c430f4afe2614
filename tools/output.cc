#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "flags/fields.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/perftest.h"
#include "rdmabench/report/writers.h"

namespace rdmabench::tools {
namespace {

constexpr const char* kEraseLine = "\r\033[K";

std::string to_text(std::span<const report::Report> reports, const Options& options) {
  if (options.format == "json") {
    return reports.size() == 1 ? report::to_json(reports[0]) : report::to_json(reports);
  }
  if (options.format == "table") return report::to_table(reports, options.verbose);
  std::string text;
  for (const report::Report& one : reports) {
    if (!text.empty()) text += '\n';
    text += options.format == "csv" ? report::to_csv(one) : report::to_perftest(one);
  }
  return text;
}

}  // namespace

void erase_progress() {
  if (isatty(STDERR_FILENO) != 0) std::fputs(kEraseLine, stderr);
}

int write(std::span<const report::Report> reports, const Options& options) {
  erase_progress();
  write_text(to_text(reports, options), options.output);
  int code = 0;
  for (const report::Report& one : reports) {
    if (!one.error) continue;
    tell(with_flags(*one.error));
    code = static_cast<int>(Fault::failed);
  }
  return code;
}

run::OnProgress progress_line() {
  if (isatty(STDERR_FILENO) == 0) return nullptr;
  return [](const run::Progress& progress) {
    std::fputs(
        fmt::format("{}size {} of {}: {} bytes, {} messages, {:.6g} messages/s", kEraseLine,
                    progress.size_index + 1, progress.sizes, format_size(progress.size_bytes),
                    progress.iterations, progress.messages_per_s)
            .c_str(),
        stderr);
  };
}

}  // namespace rdmabench::tools
