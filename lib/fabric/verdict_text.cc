#include "fabric/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "attribution_fit.h"
#include "attribution_words.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/text_table.h"

namespace rdmabench::fabric {
namespace {

constexpr std::size_t kMostNamed = 8;      // nodes, errors and paths
constexpr std::size_t kMostExplained = 4;  // findings alike with their evidence
constexpr double kNotable = 0.8;  // of typical: below, a reader asks why it is not a finding

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "a, b and 5 more"
std::string listed(std::vector<std::string> words) {
  const std::size_t count = words.size();
  if (count > kMostNamed) words.resize(kMostNamed);
  const std::string text = fmt::format("{}", fmt::join(words, ", "));
  return count > kMostNamed ? fmt::format("{} and {} more", text, count - kMostNamed) : text;
}

std::set<std::uint32_t> lost_ranks(const Matrix& matrix) {
  std::set<std::uint32_t> ranks;
  for (const LostNode& lost : matrix.lost) ranks.insert(lost.rank);
  return ranks;
}

std::string what_stands_out(const Attribution& verdict) {
  const std::size_t open = unjudged(verdict).size();
  if (!verdict.findings.empty()) {
    return plural(verdict.findings.size(), "finding", "findings");
  }
  if (open < verdict.typical.size()) return "nothing stands out";
  return "nothing could be judged";
}

/// Ranks on one host measure memory and processors, and no cable.
std::string shared_hosts(const Matrix& matrix) {
  std::map<std::string, std::size_t> ranks;
  std::size_t known = 0;
  for (const Node& node : matrix.nodes) {
    if (node.host.empty()) continue;
    ++ranks[node.host];
    ++known;
  }
  if (ranks.size() == known) return "";
  constexpr std::string_view kCause =
      "The launcher was probably not told to start one process on each node: mpirun --map-by node "
      "(or ppr:1:node), srun --ntasks-per-node=1.";
  if (ranks.size() == 1) {
    return fmt::format(
        "all {} ranks run on one host, {}: this is the host with itself, not a network. {}", known,
        report::terminal_safe(ranks.begin()->first), kCause);
  }
  std::vector<std::string> crowded;
  for (const auto& [host, count] : ranks) {
    if (count > 1) crowded.push_back(fmt::format("{} ({})", report::terminal_safe(host), count));
  }
  return fmt::format(
      "{} ranks share {} hosts, so some pairs are a host with itself; hosts with several ranks: {}. "
      "{}",
      known, ranks.size(), listed(std::move(crowded)), kCause);
}

std::string who(const Finding& finding) {
  if (!finding.element.empty()) {
    return fmt::format("{} {} ({})", name(finding.part), report::terminal_safe(finding.element),
                       subject(finding.metric, finding.size_bytes));
  }
  std::string text = finding.b
                         ? fmt::format("{} {} to {}", name(finding.part), finding.a, *finding.b)
                         : fmt::format("{} {}", name(finding.part), finding.a);
  return fmt::format("{} ({})", text, subject(finding.metric, finding.size_bytes));
}

/// What a kind of part has in several sizes or on several nodes: the first with their evidence, the
/// rest by name.
std::string findings_text(const Attribution& verdict) {
  std::map<std::pair<Part, bool>, std::vector<std::string>> rest;
  std::map<std::pair<Part, bool>, std::size_t> shown;
  std::string text;
  for (const Finding& finding : verdict.findings) {
    const std::pair kind{finding.part, finding.confirmed};
    if (++shown[kind] > kMostExplained) {
      rest[kind].push_back(who(finding));
      continue;
    }
    text += fmt::format("  {}: {}\n", finding.confirmed ? "confirmed" : "suspect",
                        report::terminal_safe(finding.text));
    for (const std::string& evidence : finding.evidence) {
      text += fmt::format("    {}\n", report::terminal_safe(evidence));
    }
    text += fmt::format("    action: {}\n", action_of(finding));
  }
  for (const auto& [kind, names] : rest) {
    text += fmt::format("  {} more {}: {}\n", names.size(),
                        kind.second ? "confirmed alike" : "suspected alike", listed(names));
  }
  return text;
}

std::string withdrawn_text(const Attribution& verdict) {
  if (verdict.withdrawn.empty()) return "";
  std::vector<std::string> names;
  for (const Finding& finding : verdict.withdrawn) names.push_back(who(finding));
  return fmt::format("  {} not confirmed when measured again: {}\n",
                     plural(verdict.withdrawn.size(), "suspicion was", "suspicions were"),
                     listed(std::move(names)));
}

/// The part of typical below which a single pair is a finding, whatever its ends do.
double limit_of(const Typical& slice) {
  return std::min(1 - kRouteEffect, std::exp(-kScore * slice.noise));
}

bool concerns(const Finding& finding, const Measurement& worst) {
  if (finding.metric != worst.metric || finding.size_bytes != worst.size_bytes) return false;
  if (!finding.element.empty()) {
    return std::find(finding.pairs.begin(), finding.pairs.end(),
                     std::pair(worst.sender, worst.receiver)) != finding.pairs.end();
  }
  if (finding.b) return finding.a == worst.sender && *finding.b == worst.receiver;
  return finding.part == Part::rail ? finding.a == worst.rail
                                    : finding.a == worst.sender || finding.a == worst.receiver;
}

/// Why the worst pair, which looks slow, is not a finding; "" where it is none to ask about.
std::string why_not(const Matrix& matrix, const Attribution& verdict, const Summary& summary) {
  if (summary.worst_cells.empty() || !(summary.typical > 0)) return "";
  const Measurement& worst = matrix.measurements[summary.worst_cells.front()];
  const double ratio = worst.value / summary.typical;
  const bool latency = summary.metric == Metric::latency;
  const double slow = latency ? 1 / ratio : ratio;  // the lower the slower
  if (slow > kNotable) return "";
  const auto about = [&](const std::vector<Finding>& findings) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& one) { return concerns(one, worst); });
  };
  const auto same = [&](const Typical& one) {
    return one.metric == summary.metric && one.size_bytes == summary.size_bytes;
  };
  const std::vector<Typical> open = unjudged(verdict);
  const auto slice = std::find_if(verdict.typical.begin(), verdict.typical.end(), same);
  const bool judged = std::none_of(open.begin(), open.end(), same);
  if (slice == verdict.typical.end() || !judged || about(verdict.findings)) return "";
  const std::string pair =
      fmt::format("the worst pair by {}, {} to {} at {:.2f} of typical, is not a finding",
                  subject(summary.metric, summary.size_bytes), worst.sender, worst.receiver, ratio);
  if (about(verdict.withdrawn)) {
    return fmt::format("{}: measured again, it was not slow", pair);
  }
  const double limit = limit_of(*slice);
  if (slow > limit) {
    constexpr double kNothing = 0.01;  // of typical
    const std::string bound =
        limit < kNothing ? "no single pair can stand out"
                         : fmt::format("a pair has to be {} {:.2f} of typical to stand out",
                                       latency ? "above" : "below", latency ? 1 / limit : limit);
    return fmt::format("{}: the values scatter by {:.0f} %, so that {}", pair, slice->noise * 100,
                       bound);
  }
  return fmt::format(
      "{}: its ends are as slow with others or have too few partners, or slow pairs are too many "
      "to blame routes",
      pair);
}

/// The same sentence about other addresses, sizes and numbers.
std::string without_numbers(const std::string& text) {
  std::string kind;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return std::isdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    const bool unit = i > 0 && is_digit(i - 1) && std::strchr("KMG", text[i]) != nullptr;
    if (!is_digit(i) && !unit) kind += text[i];
  }
  return kind;
}

/// The same sentence about other nodes, sizes and metrics.
std::string kind_of(const std::string& sentence) {
  std::string kind = without_numbers(sentence);
  for (const Metric metric : {Metric::bandwidth, Metric::latency}) {
    const std::string about = fmt::format("{} of :", name(metric));  // a subject()
    if (const std::size_t at = kind.find(about); at != std::string::npos) {
      kind.erase(at, about.size());
    }
  }
  return kind;
}

/// Each sentence once, with how many are like it, in the order of the first ones.
std::string folded(const std::vector<std::string>& sentences) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& sentence : sentences) ++counts[kind_of(sentence)];
  std::string text;
  for (const std::string& sentence : sentences) {
    std::size_t& count = counts[kind_of(sentence)];
    if (count == 0) continue;
    text += fmt::format("  {}{}\n", sentence,
                        count > 1 ? fmt::format(" (and {} more like it)", count - 1) : "");
    count = 0;
  }
  return text;
}

std::string crossed_text(const Crossed& crossed) {
  std::string links = "no pair could cross a link between switches";
  if (crossed.directions > 0) {
    links = fmt::format("{} of {} directions of links between switches were crossed",
                        crossed.crossed, crossed.directions);
  }
  if (crossed.crossed > 0) {
    links += fmt::format(", each by {} or more", plural(crossed.fewest_pairs, "pair", "pairs"));
  }
  return fmt::format("  {}; {} of {} had pairs within them\n", links, crossed.within,
                     plural(crossed.leaves, "leaf", "leaves"));
}

/// "the nodes could not be judged by bandwidth of 64K, latency of 8"
std::string unjudged_text(const Attribution& verdict) {
  std::vector<std::string> subjects;
  for (const Typical& slice : unjudged(verdict)) {
    subjects.push_back(subject(slice.metric, slice.size_bytes));
  }
  return subjects.empty()
             ? ""
             : fmt::format("  the nodes could not be judged by {}\n", listed(subjects));
}

}  // namespace

std::string headline(const Matrix& matrix, const Attribution& verdict) {
  const std::set<std::uint32_t> lost = lost_ranks(matrix);
  if (lost.empty()) return what_stands_out(verdict);
  std::vector<std::string> names;
  names.reserve(lost.size());
  for (const std::uint32_t rank : lost) names.push_back(node_name(matrix, rank));
  const std::size_t findings = verdict.findings.size();
  return fmt::format("{} of {} nodes lost: {}; among the other {} {}{}", lost.size(),
                     matrix.nodes.size(), listed(std::move(names)),
                     matrix.nodes.size() - lost.size(),
                     findings == 0   ? ""
                     : findings == 1 ? "there is "
                                     : "there are ",
                     what_stands_out(verdict));
}

std::string verdict_text(const Matrix& matrix, const Attribution& verdict,
                         const std::vector<Summary>& summaries) {
  std::string text = fmt::format("Verdict: {}\n", headline(matrix, verdict));
  for (const LostNode& lost : matrix.lost) {
    text += fmt::format("  lost: {} in round {}: {}\n", node_name(matrix, lost.rank), lost.round,
                        report::terminal_safe(lost.reason));
  }
  if (const std::string shared = shared_hosts(matrix); !shared.empty()) {
    text += fmt::format("  {}\n", shared);
  }
  text += findings_text(verdict) + withdrawn_text(verdict);
  if (verdict.crossed) text += crossed_text(*verdict.crossed);
  text += unjudged_text(verdict);
  std::vector<std::string> sentences;
  for (const Summary& summary : summaries) {
    if (std::string why = why_not(matrix, verdict, summary); !why.empty()) {
      sentences.push_back(std::move(why));
    }
  }
  for (const std::string& why : verdict.not_judged) {
    sentences.push_back(fmt::format("not judged: {}", report::terminal_safe(why)));
  }
  text += folded(sentences);
  return text;
}

std::string failures_text(const Matrix& matrix) {
  struct Kind {
    std::string first;
    std::size_t count = 0;
  };
  const std::set<std::uint32_t> lost = lost_ranks(matrix);
  std::map<std::string, Kind> kinds;
  std::vector<std::string> order;
  for (const Measurement& one : matrix.measurements) {
    if (one.error.empty()) continue;
    const bool sender = lost.contains(one.sender);
    const std::string key = sender || lost.contains(one.receiver)
                                ? fmt::format("lost {}", sender ? one.sender : one.receiver)
                                : without_numbers(one.error);
    Kind& kind = kinds[key];
    if (kind.count++ > 0) continue;
    order.push_back(key);
    kind.first = fmt::format("{}, {} -> {}: {}", subject(one.metric, one.size_bytes),
                             node_name(matrix, one.sender), node_name(matrix, one.receiver),
                             report::terminal_safe(one.error));
  }
  if (order.empty()) return "";
  std::string text = "\nMeasurements that failed\n";
  for (std::size_t i = 0; i < std::min(order.size(), kMostNamed); ++i) {
    const Kind& kind = kinds[order[i]];
    text +=
        fmt::format("  {}{}\n", kind.first,
                    kind.count > 1 ? fmt::format(" (and {} more like it)", kind.count - 1) : "");
  }
  if (order.size() > kMostNamed) {
    text += fmt::format("  and {} with other errors\n",
                        plural(order.size() - kMostNamed, "kind", "kinds"));
  }
  return text;
}

std::string taken_paths(const Matrix& matrix) {
  std::map<std::string, std::size_t> counts;
  for (const Measurement& one : matrix.measurements) {
    if (!one.over.empty()) ++counts[one.over];
  }
  std::vector<std::pair<std::size_t, std::string>> order;
  order.reserve(counts.size());
  for (const auto& [path, count] : counts) order.emplace_back(count, path);
  std::sort(order.begin(), order.end(), std::greater<>());
  if (order.size() == 1) return report::terminal_safe(order.front().second);
  std::vector<std::string> names;
  names.reserve(order.size());
  for (const auto& [count, path] : order) {
    names.push_back(fmt::format("{} ({})", report::terminal_safe(path), count));
  }
  return listed(std::move(names));
}

}  // namespace rdmabench::fabric
