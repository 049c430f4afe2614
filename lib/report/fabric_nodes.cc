#include "fabric_nodes.h"

#include <map>
#include <tuple>

#include "rdmabench/measure/statistics.h"

namespace rdmabench::report {
namespace {

struct Values {
  std::vector<double> as_sender;
  std::vector<double> as_receiver;
};
using Series = std::tuple<bool, std::uint64_t, std::uint32_t>;  // latency, size, rail

}  // namespace

std::vector<NodeMedian> node_medians(const Document& fabric) {
  std::map<Series, std::map<std::uint32_t, Values>> nodes;
  std::map<Series, std::vector<double>> all;
  for (const PairMeasurement& pair : fabric.pairs) {
    if (!pair.error.empty() || pair.confirming) continue;
    const Series series{pair.latency, pair.size_bytes, pair.rail};
    nodes[series][pair.sender].as_sender.push_back(pair.value);
    nodes[series][pair.receiver].as_receiver.push_back(pair.value);
    all[series].push_back(pair.value);
  }
  std::vector<NodeMedian> medians;
  for (auto& [series, by_rank] : nodes) {
    const double typical = measure::median(all[series]);
    for (auto& [rank, values] : by_rank) {
      medians.push_back({rank, std::get<2>(series), std::get<0>(series), std::get<1>(series),
                         measure::median(values.as_sender), measure::median(values.as_receiver),
                         typical});
    }
  }
  return medians;
}

double relative(bool latency, double value, double typical) {
  if (value <= 0 || typical <= 0) return 0;
  return latency ? typical / value : value / typical;
}

}  // namespace rdmabench::report
