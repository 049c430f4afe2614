#include "verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools::perftest {

std::string counter_lines(const report::Report& report, const Flags& flags) {
  std::string text;
  for (const std::string& name : flags.counters) {
    const auto& counters = report.counters.client;
    const auto found = std::find_if(counters.begin(), counters.end(),
                                    [&](const auto& counter) { return counter.source == name; });
    const bool known = found != counters.end() && found->change;
    text += fmt::format("\t{}={}\n", name, known ? std::to_string(*found->change) : "unknown");
  }
  return text;
}

std::vector<std::string> missed_limits(const report::Report& report, const Flags& flags,
                                       const report::PerftestStyle& style) {
  constexpr double kMillion = 1e6;
  std::vector<std::string> missed;
  const auto* const results = std::get_if<std::vector<report::BandwidthResult>>(&report.results);
  if (!flags.limit_bandwidth && !flags.limit_message_rate) return missed;
  if (results == nullptr || results->empty()) return {"no result to compare with the limit"};
  for (const report::BandwidthResult& result : *results) {
    const std::string size = format_size(result.size_bytes);
    const double bandwidth = report::perftest_bandwidth(result, style);
    if (flags.limit_bandwidth && !(bandwidth >= *flags.limit_bandwidth)) {
      missed.push_back(fmt::format("size {}: {:.2f} {} is below the limit of {}", size, bandwidth,
                                   style.gigabits ? "Gb/s" : "MiB/s", *flags.limit_bandwidth));
    }
    const double rate = result.messages_per_s / kMillion;
    if (flags.limit_message_rate && !(rate >= *flags.limit_message_rate)) {
      missed.push_back(
          fmt::format("size {}: {:.6f} million messages per second are below the limit "
                      "of {}",
                      size, rate, *flags.limit_message_rate));
    }
  }
  return missed;
}

std::string suspicion_line(const report::Report& report) {
  const std::vector<report::Suspicion>& all = report.suspicions;
  if (all.empty()) return "";
  if (all.size() == 1) return "suspect: " + all.front().text;
  std::vector<std::string> summaries;
  for (const report::Suspicion& one : all) {
    const std::string& words = one.summary.empty() ? one.code : one.summary;
    if (std::find(summaries.begin(), summaries.end(), words) == summaries.end()) {
      summaries.push_back(words);
    }
  }
  return fmt::format("suspect: {} ({} findings); --out_json has them with their remedies",
                     fmt::join(summaries, ", "), all.size());
}

}  // namespace rdmabench::inline v1::tools::perftest
