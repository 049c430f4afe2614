#include "tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace rdmabench::tools::perftest {
namespace {

using transport::OperationCode;

constexpr std::array<Tool, 8> kTools{{{"ib_send_bw", OperationCode::send, false},
                                      {"ib_send_lat", OperationCode::send, true},
                                      {"ib_write_bw", OperationCode::write, false},
                                      {"ib_write_lat", OperationCode::write, true},
                                      {"ib_read_bw", OperationCode::read, false},
                                      {"ib_read_lat", OperationCode::read, true},
                                      {"ib_atomic_bw", OperationCode::fetch_add, false},
                                      {"ib_atomic_lat", OperationCode::fetch_add, true}}};

constexpr std::array<std::pair<ToolSet, std::string_view>, 7> kNamedSets{{{kAll, "all"},
                                                                          {kBw, "bw"},
                                                                          {kLat, "lat"},
                                                                          {kSend, "send"},
                                                                          {kWrite, "write"},
                                                                          {kRead, "read"},
                                                                          {kAtomic, "atomic"}}};

}  // namespace

std::span<const Tool> tools() {
  return kTools;
}

const Tool* find_tool(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const auto* const found = std::find_if(kTools.begin(), kTools.end(),
                                         [&](const Tool& tool) { return tool.name == name; });
  return found == kTools.end() ? nullptr : found;
}

bool contains(ToolSet set, const Tool& tool) {
  return (static_cast<unsigned>(set) >> static_cast<unsigned>(&tool - kTools.data()) & 1U) != 0;
}

std::string to_text(ToolSet set) {
  std::vector<std::string_view> words;
  unsigned left = set;
  for (const auto& [named, word] : kNamedSets) {
    if ((left & named) != named) continue;
    words.push_back(word);
    left &= ~unsigned{named};
  }
  for (const Tool& tool : kTools) {
    if (contains(static_cast<ToolSet>(left), tool)) words.push_back(tool.name.substr(3));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace rdmabench::tools::perftest
