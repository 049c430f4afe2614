#include "tool.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace rdmabench::inline v1::tools::perftest {
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

ToolSet set_of(const Tool& tool) {
  return ToolSet{1} << static_cast<unsigned>(&tool - kTools.data());
}

std::string to_text(ToolSet set) {
  std::vector<std::string_view> words;
  for (const auto& [named, word] : kNamedSets) {
    if ((set & named) != named) continue;
    words.push_back(word);
    set &= ~named;
  }
  for (const Tool& tool : kTools) {
    if ((set & set_of(tool)) != 0) words.push_back(tool.name.substr(3));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace rdmabench::inline v1::tools::perftest
