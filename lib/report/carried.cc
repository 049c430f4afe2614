#include "carried.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace rdmabench::inline v1::report {

std::string_view name(Flow flow) noexcept {
  return flow == Flow::sent ? "sent" : "received";
}

void add_counted(CountedBytes& counted, const std::string& device, double bytes, bool at_least) {
  Counted& most = counted.try_emplace(device, Counted{.at_least = at_least}).first->second;
  most.bytes = std::max(most.bytes, bytes);
  most.at_least = most.at_least && at_least;
}

void add_counted(CountedBytes& counted, std::span<const Counter> counters, Flow flow) {
  const std::string ending = fmt::format("{}_bytes", name(flow));
  for (const Counter& counter : counters) {
    if (!counter.name.ends_with(ending) || !counter.change) continue;
    add_counted(counted, counter.device.substr(0, counter.device.find(':')),
                static_cast<double>(*counter.change), counter.at_least);
  }
}

void judge_carried(RequirementFinding& finding, const CountedBytes& counted,
                   const std::string& device, double needed, Flow flow, std::string_view where) {
  finding.least = needed * kCarriedShare;
  finding.status = Status::fail;
  std::string did = fmt::format("counted no bytes that it {}", name(flow));
  if (const auto found = counted.find(device); found != counted.end()) {
    const auto& [bytes, at_least] = found->second;
    finding.counted = bytes;
    finding.status = bytes >= finding.least ? Status::pass : at_least ? Status::open : Status::fail;
    did = fmt::format("{} {}{}", name(flow), megabytes(bytes),
                      at_least ? " or more (its counter is at its end)" : "");
  }
  finding.text = fmt::format("it {}, where {}", did, where);
  if (finding.status == Status::pass) return;
  std::vector<std::string> others;
  for (const auto& [other, one] : counted) {
    if (other != device && one.bytes >= finding.least) {
      others.push_back(fmt::format("{} {}", other, megabytes(one.bytes)));
    }
  }
  finding.text += others.empty() ? fmt::format(
                                       "; no other device {} as much: memory shared between hosts, "
                                       "or a device without counters",
                                       name(flow))
                                 : fmt::format("; {} by {}", name(flow), fmt::join(others, ", "));
}

std::string megabytes(double bytes) {
  return fmt::format("{:.4g} MB", bytes / 1e6);
}

}  // namespace rdmabench::inline v1::report
