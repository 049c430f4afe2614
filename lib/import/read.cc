#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "nccl_cells.h"
#include "rdmabench/base/error.h"

namespace rdmabench::import {
namespace {

struct Tool {
  bool (*is)(std::string_view) noexcept;
  bool (*begins)(const Line&) noexcept;
  std::vector<Run> (*read)(const Lines&, const Source&);
  std::string_view remedy;
};
constexpr std::array kTools{
    Tool{is_nccl_tests, begins_nccl_tests, nccl_tests_runs, kNcclTestsRemedy},
    Tool{is_mean_table, begins_mean_table, mean_table_runs,
         "Give what a program of OSU's micro-benchmarks or of fabtests printed."},
    Tool{is_perftest, begins_perftest, perftest_runs,
         "Give what a program of perftest printed, or its JSON."}};

/// The lines of each tool. A command of nccl-tests stands before its table, and a client of
/// perftest may say no more than why.
std::map<const Tool*, Lines> parts_of(const Scan& scan) {
  std::vector<const Tool*> known;
  const std::string text = joined(scan.lines());
  for (const Tool& tool : kTools) {
    if (tool.is(text)) known.push_back(&tool);
  }
  std::map<const Tool*, Lines> parts;
  std::vector<const Tool*> begins;  // of each line the tool that begins there, or null
  const Tool* current = nullptr;    // what stands before it is of the first
  for (const Line& line : scan.lines()) {
    const auto* const tool = std::find_if(kTools.begin(), kTools.end(),
                                          [&](const Tool& one) { return one.begins(line); });
    const bool is_it = std::find(known.begin(), known.end(), tool) != known.end();
    begins.push_back(is_it ? tool : nullptr);
    if (is_it) parts[tool];
    if (is_it && current == nullptr) current = tool;
  }
  if (parts.size() < 2) return {{known.empty() ? &kTools.back() : known.front(), scan.lines()}};
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const Line& line = scan.lines()[i];
    if (begins[i] != nullptr) current = begins[i];
    const bool anywhere = has_any(line.raw, {"_perf ", "Couldn't connect to "});
    for (auto& [of, lines] : parts) {
      if (of == current || anywhere) lines.push_back(line);
    }
  }
  return parts;
}

}  // namespace

std::string checked_program(const std::string& path) {
  std::string program(base_name(path));
  if (program.empty() || is_nccl_tests_program(program)) return program;
  for (const std::string_view known : {"fi_", "osu_", "ib_", "raw_ethernet_"}) {
    if (program.starts_with(known)) return program;
  }
  throw Error(Fault::usage, fmt::format("no program that is read is called '{}'", program),
              "Name one of nccl-tests or of fabtests: --as all_gather_perf, --as fi_rma_bw.");
}

bool is_known(std::string_view text) noexcept {
  return std::any_of(kTools.begin(), kTools.end(), [&](const Tool& tool) { return tool.is(text); });
}

std::vector<Run> read(std::string_view text, const std::string& source, const std::string& path) {
  const std::string program = checked_program(path);
  const Scan scan(text);
  std::vector<Run> runs;
  for (const auto& [tool, lines] : parts_of(scan)) {
    for (Run& one : tool->read(lines, {source, program, tool->remedy})) {
      runs.push_back(std::move(one));
    }
  }
  return runs;
}

}  // namespace rdmabench::import
