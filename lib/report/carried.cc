#include "carried.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace rdmabench::report {

std::string_view name(Flow flow) noexcept {
  return flow == Flow::sent ? "sent" : "received";
}

void add_counted(CountedBytes& counted, std::span<const Counter> counters, Flow flow) {
  const std::string ending = fmt::format("{}_bytes", name(flow));
  for (const Counter& counter : counters) {
    if (!counter.name.ends_with(ending) || !counter.change) continue;
    double& most = counted[counter.device.substr(0, counter.device.find(':'))];
    most = counter.at_least ? std::numeric_limits<double>::infinity()
                            : std::max(most, static_cast<double>(*counter.change));
  }
}

Carried carried(const CountedBytes& counted, const std::string& device, double needed, Flow flow) {
  const double least = needed * kCarriedShare;
  const auto found = counted.find(device);
  Carried result{.counts = found != counted.end(),
                 .met = found != counted.end() && found->second >= least,
                 .did = {},
                 .instead = {}};
  result.did = result.counts ? fmt::format("{} {}", name(flow), megabytes(found->second))
                             : fmt::format("counted no bytes that it {}", name(flow));
  std::vector<std::string> others;
  for (const auto& [other, bytes] : counted) {
    if (other != device && bytes >= least) {
      others.push_back(fmt::format("{} {}", other, megabytes(bytes)));
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
