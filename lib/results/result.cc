#include "rdmabench/results/result.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "row.h"

namespace rdmabench::inline v1::report {
namespace {

template <class Row>
const std::vector<Row>& rows_of(const Report& report, const char* asked) {
  if (const auto* const rows = std::get_if<std::vector<Row>>(&report.results)) return *rows;
  const char* const has = kTests.at(report.results.index());
  throw Error(Fault::usage, fmt::format("{}() of a report of a {} run", asked, has),
              fmt::format("Ask it for {}().", has));
}

}  // namespace

const std::vector<LatencyResult>& Report::latency() const {
  return rows_of<LatencyResult>(*this, "latency");
}

const std::vector<BandwidthResult>& Report::bandwidth() const {
  return rows_of<BandwidthResult>(*this, "bandwidth");
}

const std::vector<LoadResult>& Report::load() const {
  return rows_of<LoadResult>(*this, "load");
}

const Fact* Report::find(std::string_view name) const noexcept {
  const std::array<std::pair<std::string_view, const Facts*>, 6> lists{
      {{"config.", &config},
       {"details.", &resolved.details},
       {"environment.client.", &environment.client},
       {"environment.server.", &environment.server},
       {"conditions.client.", &conditions.client},
       {"conditions.server.", &conditions.server}}};
  for (const auto& [prefix, facts] : lists) {
    if (!name.starts_with(prefix)) continue;
    const auto found = std::ranges::find(*facts, name.substr(prefix.size()), &Fact::name);
    return found == facts->end() ? nullptr : &*found;
  }
  return nullptr;
}

}  // namespace rdmabench::inline v1::report
