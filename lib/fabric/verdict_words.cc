#include "fabric/verdict_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attribution_fit.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::fabric {
namespace {

bool concerns(const Finding& finding, const Measurement& pair) {
  if (finding.metric != pair.metric || finding.size_bytes != pair.size_bytes) return false;
  if (!finding.element.empty()) {
    return std::find(finding.pairs.begin(), finding.pairs.end(),
                     std::pair(pair.sender, pair.receiver)) != finding.pairs.end();
  }
  if (finding.b) return finding.a == pair.sender && *finding.b == pair.receiver;
  return finding.part == Part::rail ? finding.a == pair.rail
                                    : finding.a == pair.sender || finding.a == pair.receiver;
}

/// `share` of typical, the lower the slower.
std::string why_no_finding(const Typical& slice, double share) {
  // The share below which a single pair is a finding, whatever its ends do.
  const double limit = std::min(1 - kRouteEffect, std::exp(-kScore * slice.noise));
  if (share <= limit) {
    return "its ends are as slow with others or have too few partners, or slow pairs are too many "
           "to blame routes";
  }
  constexpr double kNothing = 0.01;  // of typical
  return fmt::format(
      "the values scatter by {:.0f} %, so that {}", slice.noise * 100,
      limit < kNothing
          ? "no single pair can stand out"
          : fmt::format("a pair has to be below {:.0f} % of typical to stand out", 100 * limit));
}

}  // namespace

std::string node_name(const Matrix& matrix, std::uint32_t rank) {
  const std::string host = rank < matrix.nodes.size() ? matrix.nodes[rank].host : "";
  return host.empty() ? fmt::format("node {}", rank)
                      : fmt::format("node {} ({})", rank, report::terminal_safe(host));
}

std::vector<SlowPair> slow_pairs(const Matrix& matrix, const Attribution& verdict) {
  constexpr double kNotable = 0.8;  // of typical: below, a reader asks why it is not a finding
  const std::vector<Typical> open = unjudged(verdict);
  std::vector<SlowPair> list;
  for (const Typical& slice : verdict.typical) {
    const auto same = [&slice](const auto& one) {
      return one.metric == slice.metric && one.size_bytes == slice.size_bytes;
    };
    if (std::any_of(open.begin(), open.end(), same)) continue;
    const Measurement* worst = nullptr;
    double least = kNotable;
    for (const Measurement& one : matrix.measurements) {
      if (one.confirming || !one.error.empty() || !same(one)) continue;
      const double share = one.latency() ? slice.value / one.value : one.value / slice.value;
      if (share >= least) continue;
      worst = &one;
      least = share;
    }
    const auto about = [&](const std::vector<Finding>& findings) {
      return std::any_of(findings.begin(), findings.end(),
                         [&](const Finding& one) { return concerns(one, *worst); });
    };
    if (worst == nullptr || about(verdict.findings)) continue;
    list.push_back({worst, about(verdict.withdrawn) ? "measured again, it was not slow"
                                                    : why_no_finding(slice, least)});
  }
  return list;
}

}  // namespace rdmabench::inline v1::fabric
