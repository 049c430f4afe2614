// What the launches of a baseline are: their configuration, compared and shown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/baseline.h"
#include "rdmabench/base/units.h"
#include "results/text_table.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

std::set<std::string> operations(const Launch& launch) {
  std::set<std::string> names;
  for (const Row& row : launch.rows) names.insert(row.operation);
  return names;
}

/// What another kernel or library may change is not part of a configuration.
bool is_configuration(const std::string& fact) {
  return !fact.starts_with("environment.");
}

}  // namespace

std::vector<Confound> find_other_configuration(const Launch& known, const Launch& launch,
                                               const Factors& allowed) {
  std::vector<Confound> all;
  const auto add = [&](const Confound& one) {
    const bool is_new = std::none_of(all.begin(), all.end(),
                                     [&](const Confound& other) { return other.name == one.name; });
    if (is_new && !one.declared && is_configuration(one.name)) all.push_back(one);
  };
  for (const char* name :
       {"resolved.backend", "resolved.provider", "resolved.device", "resolved.transport"}) {
    const std::string before = fact_of(known, name);
    const std::string now = fact_of(launch, name);
    if (before != now) add({name, "", {before}, {now}, allowed.declare(name)});
  }
  if (known.test != launch.test) return all;
  const std::set<std::string> of_known = operations(known);
  for (const std::string& operation : operations(launch)) {
    if (!of_known.contains(operation)) continue;
    const Launch* const a = &known;
    const Launch* const b = &launch;
    for (const Confound& one : find_confounds({&a, 1}, {&b, 1}, operation, allowed)) add(one);
  }
  return all;
}

std::string to_table(const std::vector<Launch>& baseline, std::size_t width) {
  using report::TextTable;
  constexpr std::size_t kMostOfPath = 32;
  TextTable table({{"launch", TextTable::Align::left},
                   {.heading = "ran", .align = TextTable::Align::left, .dispensable = 1},
                   {"test", TextTable::Align::left},
                   {"sizes", TextTable::Align::left},
                   {.heading = "over", .align = TextTable::Align::left, .dispensable = 2}});
  for (const Launch& launch : baseline) {
    std::set<std::uint64_t> sizes;
    for (const Row& row : launch.rows) sizes.insert(row.size_bytes);
    const std::string range = sizes.empty() ? "-"
                              : sizes.size() == 1
                                  ? format_size(*sizes.begin())
                                  : fmt::format("{} to {} ({})", format_size(*sizes.begin()),
                                                format_size(*sizes.rbegin()), sizes.size());
    std::string over;
    for (const char* name : {"resolved.backend", "resolved.provider", "resolved.device"}) {
      const std::string word = fact_of(launch, name);
      if (!word.empty()) over += (over.empty() ? "" : " ") + word;
    }
    table.add_row(
        {width == report::kAnyWidth ? launch.source : short_name(launch.source, kMostOfPath),
         fact_of(launch, "environment.client.collected_utc"),
         fmt::format("{} {}", fmt::join(operations(launch), ", "), launch.test), range, over});
  }
  return fmt::format("{} launches\n", baseline.size()) + table.text(width);
}

}  // namespace rdmabench::inline v1::analysis
