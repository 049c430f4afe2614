#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "base/text.h"
#include "rdmabench/base/error.h"
#include "tool.h"
#include "tool_text.h"

namespace rdmabench::import {
namespace {

struct Tool {
  bool (*is)(std::string_view) noexcept;
  bool (*begins)(std::string_view) noexcept;  ///< in this line
  std::vector<Run> (*read)(std::string_view, const std::string&, const std::string&);
};
constexpr std::array kTools{Tool{is_nccl_tests, is_nccl_tests, nccl_tests_runs},
                            Tool{is_mean_table, begins_mean_table, mean_table_runs},
                            Tool{is_perftest, begins_perftest, perftest_runs}};

/// The first tool of which `test` is true; kTools.size() for none.
std::size_t tool_of(std::string_view text, bool (*Tool::*test)(std::string_view) noexcept) {
  const auto* const found = std::find_if(kTools.begin(), kTools.end(),
                                         [&](const Tool& tool) { return (tool.*test)(text); });
  return static_cast<std::size_t>(found - kTools.begin());
}

/// The text of each tool. Lines of another one are empty, so that the others keep their numbers. A
/// command of nccl-tests stands before its table, and a client of perftest may say no more than
/// why.
std::map<std::size_t, std::string> parts_of_tools(const std::string& text) {
  std::map<std::size_t, std::string> parts;
  const std::vector<std::string_view> lines = lines_of(text);
  std::size_t current = kTools.size();
  for (const std::string_view line : lines) {
    const std::size_t tool = tool_of(line, &Tool::begins);
    if (tool >= kTools.size() || !kTools.at(tool).is(text)) continue;
    parts[tool];
    if (current == kTools.size()) current = tool;  // what stands before it is of the first
  }
  if (parts.size() < 2) return {{std::min(tool_of(text, &Tool::is), kTools.size() - 1), text}};
  for (const std::string_view line : lines) {
    const std::size_t tool = tool_of(line, &Tool::begins);
    if (parts.contains(tool)) current = tool;
    const bool anywhere = has(line, "_perf ") || has(line, "Couldn't connect to ");
    for (auto& [of, part] : parts) {
      if (of == current || anywhere) part += line;
      part += '\n';
    }
  }
  for (auto& [of, part] : parts) {
    if (!text.ends_with('\n')) part.pop_back();
  }
  return parts;
}

}  // namespace

std::string checked_program(const std::string& path) {
  std::string program = path.substr(path.rfind('/') + 1);
  if (program.empty() || is_nccl_tests_program(program)) return program;
  for (const std::string_view known : {"fi_", "osu_", "ib_", "raw_ethernet_"}) {
    if (program.starts_with(known)) return program;
  }
  throw Error(Fault::usage, fmt::format("no program that is read is called '{}'", program),
              "Name one of nccl-tests or of fabtests: --as all_gather_perf, --as fi_rma_bw.");
}

bool is_known(std::string_view text) noexcept {
  return is_nccl_tests(text) || is_mean_table(text) || is_perftest(text);
}

std::vector<Run> read(std::string_view given, const std::string& source, const std::string& path) {
  const std::string program = checked_program(path);
  const std::string plain = without_inner_tags(without_colours(given));
  const std::string text = grouped_by_tag(plain);
  std::vector<Run> runs;
  try {
    for (const auto& [tool, part] : parts_of_tools(text)) {
      for (Run& one : kTools.at(tool).read(part, source, program)) {
        runs.push_back(std::move(one));
      }
    }
  } catch (const Error& error) {
    if (text == plain) throw;
    throw error.at("with the lines of each tag together");  // so they are counted
  }
  return runs;
}

}  // namespace rdmabench::import
