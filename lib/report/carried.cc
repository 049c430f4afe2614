#include "carried.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace rdmabench::report {

std::string_view name(Flow flow) noexcept {
  return flow == Flow::sent ? "sent" : "received";
}

void add_counted(CountedBytes& counted, std::span<const Counter> counters, Flow flow) {
  const std::string ending = fmt::format("{}_bytes", name(flow));
  for (const Counter& counter : counters) {
    if (!counter.name.ends_with(ending) || !counter.change) continue;
    Counted& most = counted
                        .try_emplace(counter.device.substr(0, counter.device.find(':')),
                                     Counted{.at_least = counter.at_least})
                        .first->second;
    most.bytes = std::max(most.bytes, static_cast<double>(*counter.change));
    most.at_least = most.at_least && counter.at_least;
  }
}

Carried carried(const CountedBytes& counted, const std::string& device, double needed, Flow flow) {
  const double least = needed * kCarriedShare;
  Carried result;
  if (const auto found = counted.find(device); found != counted.end()) {
    const auto& [bytes, at_least] = found->second;
    result = {
        .counts = true, .met = bytes >= least, .at_least = at_least, .did = {}, .instead = {}};
    result.did = fmt::format("{} {}{}", name(flow), megabytes(bytes),
                             at_least ? " or more (its counter is at its end)" : "");
  } else {
    result.did = fmt::format("counted no bytes that it {}", name(flow));
  }
  std::vector<std::string> others;
  for (const auto& [other, one] : counted) {
    if (other != device && one.bytes >= least) {
      others.push_back(fmt::format("{} {}", other, megabytes(one.bytes)));
    }
  }
  result.instead = others.empty() ? fmt::format(
                                        "no other device {} as much: memory shared between "
                                        "hosts, or a device without counters",
                                        name(flow))
                                  : fmt::format("{} by {}", name(flow), fmt::join(others, ", "));
  return result;
}

std::string megabytes(double bytes) {
  return fmt::format("{:.4g} MB", bytes / 1e6);
}

}  // namespace rdmabench::report
