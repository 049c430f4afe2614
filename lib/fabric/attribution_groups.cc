// Two groups of nodes without a clear majority: neither can be called typical, and that is
// reported.
#include <algorithm>
#include <cmath>

#include "attribution_judge.h"
#include "measure/ranks.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::size_t kFewestPorts = 4;
constexpr double kApart = 6;        // least distance of the groups over the spread within them
constexpr double kApartOfFew = 10;  // with few values, two groups appear by chance
constexpr std::size_t kFew = 8;

struct Split {
  std::size_t low = 0;  ///< size of the lower group, of the sorted values
  double distance = 0;
  double within = 0;
};

/// The split of sorted values into two with the least squares. Source: Otsu, 1979.
Split split(const std::vector<double>& sorted) {
  const auto count = static_cast<double>(sorted.size());
  double all = 0;
  double squares = 0;
  for (const double value : sorted) {
    all += value;
    squares += value * value;
  }
  Split best;
  double between = -1;
  double sum = 0;
  for (std::size_t low = 1; low < sorted.size(); ++low) {
    sum += sorted[low - 1];
    const auto n = static_cast<double>(low);
    const double distance = (all - sum) / (count - n) - sum / n;
    const double now = n * (count - n) * distance * distance;
    if (now <= between) continue;
    between = now;
    const double inner = squares - sum * sum / n - (all - sum) * (all - sum) / (count - n);
    best = {low, distance, std::sqrt(std::max(0.0, inner) / count)};
  }
  return best;
}

struct PortReach {
  double value;
  std::uint32_t node;
};

void look(const Slice& slice, Direction direction, std::uint32_t rail,
          std::vector<PortReach>& ports, std::vector<TwoGroups>& found) {
  if (ports.size() < kFewestPorts) return;
  std::sort(ports.begin(), ports.end(),
            [](const PortReach& a, const PortReach& b) { return a.value < b.value; });
  std::vector<double> sorted;
  // Relative to the median, to keep the precision of the squares.
  const double origin = ports[ports.size() / 2].value;
  for (const PortReach& port : ports) sorted.push_back(port.value - origin);
  const Split parts = split(sorted);
  const double smaller = static_cast<double>(std::min(parts.low, ports.size() - parts.low)) /
                         static_cast<double>(ports.size());
  const double apart = ports.size() < kFew ? kApartOfFew : kApart;
  if (smaller < kHalf || parts.distance < -2 * least(kMinEffect) ||
      parts.distance < apart * std::max(parts.within, kFloor)) {
    return;
  }
  TwoGroups groups{direction, rail, std::exp(-parts.distance), {}, 0};
  if (slice.metric == Metric::latency) groups.ratio = 1 / groups.ratio;
  for (std::size_t i = 0; i < parts.low; ++i) groups.slower.push_back(ports[i].node);
  std::sort(groups.slower.begin(), groups.slower.end());
  groups.others = static_cast<std::uint32_t>(ports.size() - parts.low);
  found.push_back(std::move(groups));
}

}  // namespace

std::vector<TwoGroups> two_groups(const Slice& slice) {
  std::vector<TwoGroups> found;
  std::vector<std::vector<double>> cells(std::size_t{slice.rails} * slice.nodes);
  for (const Direction direction : kDirections) {
    for (auto& list : cells) list.clear();
    for (const Cell& cell : slice.screening) {
      const std::uint32_t end = direction == Direction::sending ? cell.sender : cell.receiver;
      cells[slice.port(cell.rail, end)].push_back(cell.y);
    }
    for (std::uint32_t rail = 0; rail < slice.rails; ++rail) {
      std::vector<PortReach> ports;
      for (std::uint32_t node = 0; node < slice.nodes; ++node) {
        auto& list = cells[slice.port(rail, node)];
        // The upper quartile: its speed with a good partner, even if half of its partners are slow.
        if (list.size() >= kMinPartners)
          ports.push_back({measure::at_rank(list, list.size() * 3 / 4), node});
      }
      look(slice, direction, rail, ports, found);
    }
  }
  return found;
}

}  // namespace rdmabench::inline v1::fabric
