#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "rdmabench/base/error.h"
#include "table.h"

namespace rdmabench::inline v1::import {
namespace {

#define TOOL(name) &(name),
constexpr auto kTools = std::to_array<const Tool*>({
#include "tools.inc"
});
#undef TOOL

bool is_of(const Tool& tool, std::string_view text) noexcept {
  return tool.is != nullptr ? tool.is(text) : any_line(text, tool.begins);
}

/// May stand in the output of any of them: a script's trace of a command, or why a client failed.
bool may_stand_anywhere(const Line& line) {
  return has_any(line.raw, {"_perf ", "Couldn't connect to ", "RDMA CM event error",
                            "Unable to find the Infiniband/RoCE device"});
}

struct Part {
  const Tool* tool;
  std::ptrdiff_t begin;  ///< the first line in which a run of it begins
  Lines lines{};
};

/// The lines of each tool, in the order of the text; what stands before them is of the first.
std::vector<Part> parts_of(const Lines& lines) {
  const std::string text = joined(lines);
  std::vector<Part> parts;
  for (const Tool* tool : kTools) {
    if (!is_of(*tool, text)) continue;
    const auto begin = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return tool->begins(line) && !may_stand_anywhere(line);
    });
    parts.push_back({tool, begin - lines.begin()});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.begin < b.begin; });
  while (parts.size() > 1 && parts.back().begin == std::ssize(lines)) parts.pop_back();
  std::size_t current = 0;
  for (std::size_t i = 0; !parts.empty() && i < lines.size(); ++i) {
    const bool anywhere = may_stand_anywhere(lines[i]);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (!anywhere && parts[k].tool->begins(lines[i])) current = k;
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (anywhere || k == current) parts[k].lines.push_back(lines[i]);
    }
  }
  std::erase_if(parts, [](const Part& one) { return one.lines.empty(); });
  return parts;
}

}  // namespace

std::string known_tools() {
  std::vector<std::string_view> names;
  for (const Tool* tool : kTools) names.push_back(tool->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string checked_program(const std::string& path) {
  std::string program(base_name(path));
  std::vector<std::string_view> known;
  for (const Tool* tool : kTools) {
    for (const std::string_view begin : tool->programs) {
      if (program.empty() || program.starts_with(begin)) return program;
      known.push_back(begin);
    }
  }
  throw Error(Fault::usage, fmt::format("no program that is read is called '{}'", program),
              fmt::format("Their names begin with {}.", fmt::join(known, ", ")));
}

bool is_known(std::string_view text) noexcept {
  return std::any_of(kTools.begin(), kTools.end(),
                     [&](const Tool* tool) { return is_of(*tool, text); });
}

std::vector<Run> read(std::string_view text, const std::string& source, const std::string& path) {
  const std::string program = checked_program(path);
  const Scan scan(text);
  std::vector<Run> runs;
  for (const Part& part : parts_of(scan.lines())) {
    for (Run& one : part.tool->read(part.lines, {source, program, *part.tool})) {
      runs.push_back(std::move(one));
    }
  }
  if (runs.empty()) {
    throw Error(Fault::usage, fmt::format("'{}': no row with a size is in it", source),
                fmt::format("Give what one of these wrote: {}.", known_tools()));
  }
  return runs;
}

}  // namespace rdmabench::inline v1::import
