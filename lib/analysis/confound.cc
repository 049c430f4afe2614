#include "rdmabench/analysis/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/number.h"
#include "base/text.h"
#include "report/usual_signal.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

using Values = std::map<std::string, std::set<std::string>>;

constexpr const char* kNone = "(none)";

/// Requests whose outcome is in `resolved`.
constexpr std::array<std::string_view, 5> kAsked{
    "config.backend", "config.device", "config.provider", "config.fabric", "config.ucx_tls"};

struct Meaning {
  std::string_view word;
  std::array<std::string_view, 6> facts;
};
/// Facts that follow from the named choice.
constexpr std::array<Meaning, 4> kMeanings{{
    {"backend",
     {"config.service", "resolved.backend", "resolved.provider", "resolved.device",
      "resolved.transport", "details."}},
    {"provider", {"resolved.provider", "resolved.device", "resolved.transport", "details."}},
    {"device", {"resolved.device", "details."}},
    // The sizes of queues: another number of receives that was asked for is a fact of `config`.
    {"depth", {"details.send_queue", "details.receive_queue", "details.receives"}},
}};

std::string_view last_part(std::string_view fact) {
  return fact.substr(fact.rfind('.') + 1);
}

bool covers(const Meaning& meaning, std::string_view fact) {
  return std::any_of(meaning.facts.begin(), meaning.facts.end(), [&](std::string_view covered) {
    if (covered.empty()) return false;
    return covered.back() == '.' ? fact.starts_with(covered) : fact == covered;
  });
}

/// Facts of rows, by size: the completion level may differ between small and large messages, but
/// not between the sides.
void add_row_facts(std::map<std::string, std::string>& facts, const Row& row) {
  const std::string at = row.load ? fmt::format("{} bytes, load {:g}", row.size_bytes, *row.load)
                                  : fmt::format("{} bytes", row.size_bytes);
  for (const auto& [key, value] : row.facts) facts[fmt::format("{} at {}", key, at)] = value;
}

/// A size on one side only is not a confound, because it is not compared.
bool is_of_row(const std::string& fact) {
  return fact.find(" at ") != std::string::npos;
}

/// Facts that earlier releases did not tell, by back end or at all: that one side lacks them is no
/// difference between the two.
bool was_added(std::string_view fact) {
  static const auto kAdded =
      words_of("details.flow_label details.memory details.memory_placement details.memory_nodes");
  return std::find(kAdded.begin(), kAdded.end(), fact) != kAdded.end();
}

/// Whether no launch of a side has the fact.
bool lack(const std::set<std::string>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](const std::string& value) { return value == kNone; });
}

/// libfabric names a fabric "efa-direct", which matters, or by the subnet: "10.66.0.0/16",
/// "IB-0xfe80000000000000". Another subnet is no other fabric.
std::string without_subnet(const std::string& name, const std::string& value) {
  if (name != "details.fabric") return value;
  const std::size_t slash = value.find('/');
  const bool addresses = slash != std::string::npos && value.find_first_of(".:") < slash &&
                         value.find_first_not_of("0123456789abcdefABCDEF.:/") == std::string::npos;
  return addresses || value.starts_with("IB-0x") ? "(a subnet)" : value;
}

Values collect(std::span<const Launch* const> side, const std::string& operation) {
  std::vector<std::map<std::string, std::string>> all;
  std::set<std::string> names;
  for (const Launch* launch : side) {
    std::map<std::string, std::string> facts = launch->facts;
    for (const Row& row : launch->rows) {
      if (row.operation == operation) add_row_facts(facts, row);
    }
    for (const auto& [name, value] : facts) names.insert(name);
    all.push_back(std::move(facts));
  }
  Values values;
  for (const std::string& name : names) {
    if (is_incidental(name)) continue;
    for (const auto& facts : all) {
      const auto found = facts.find(name);
      if (found != facts.end()) {
        values[name].insert(without_subnet(name, found->second));
      } else if (!is_of_row(name)) {
        values[name].insert(kNone);
      }
    }
  }
  return values;
}

/// Whether each launch asked for completions as often as its depth alone makes a run ask. Then how
/// often is a part of what another depth does, and no cause beside it; any other number was chosen.
bool signals_by_depth(std::span<const Launch* const> side) {
  return std::all_of(side.begin(), side.end(), [](const Launch* launch) {
    const auto depth = parse_number<std::uint32_t>(fact_of(*launch, "config.depth"));
    const auto every = parse_number<std::uint32_t>(fact_of(*launch, "config.signal_every"));
    return depth && every &&
           *every == report::usual_signal_every(launch->test == "latency", *depth);
  });
}

std::string without_size(const std::string& fact) {
  return fact.substr(0, fact.find(" at "));
}

}  // namespace

bool Factors::declare(const std::string& fact) const {
  return std::any_of(words_.begin(), words_.end(), [&](const std::string& word) {
    if (word == "all" || word == fact || word == last_part(fact)) return true;
    return std::any_of(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) {
      return meaning.word == word && covers(meaning, fact);
    });
  });
}

bool is_incidental(const std::string& fact) {
  // By the last part of the name.
  static const auto kIncidental = words_of(
      "hostname collected_utc sizes operation timeout_s source_ip port gid lid path qpn psn dctn "
      "rkey vaddr remote_gid remote_lid remote_qpn remote_psn remote_rkey remote_vaddr remote_dctn "
      "address retries registration_note write_order offload_told_by");
  const std::string_view last = last_part(fact);
  if (std::find(kAsked.begin(), kAsked.end(), fact) != kAsked.end()) return true;
  return std::find(kIncidental.begin(), kIncidental.end(), last) != kIncidental.end();
}

std::vector<Confound> find_confounds(std::span<const Launch* const> a,
                                     std::span<const Launch* const> b, const std::string& operation,
                                     const Factors& factors) {
  Values of_a = collect(a, operation);
  Values of_b = collect(b, operation);
  std::set<std::string> names;
  for (const Values* side : {&of_a, &of_b}) {
    for (const auto& [name, values] : *side) names.insert(name);
  }
  const bool by_depth =
      factors.declare("config.depth") && signals_by_depth(a) && signals_by_depth(b);
  // Another back end tells other details: that it is another one is told by itself.
  const bool other_details = of_a["resolved.backend"] != of_b["resolved.backend"];
  std::map<std::string, Confound> found;
  for (const std::string& name : names) {
    std::set<std::string>& in_a = of_a[name];
    std::set<std::string>& in_b = of_b[name];
    if (in_a == in_b) continue;
    const bool of_one_side_only =
        is_of_row(name) || was_added(name) || (other_details && name.starts_with("details."));
    if (of_one_side_only && (lack(in_a) || lack(in_b))) continue;
    if (in_a.empty()) in_a.insert(kNone);
    if (in_b.empty()) in_b.insert(kNone);
    const std::string shown = without_size(name);
    Confound& confound = found[shown];
    confound.name = shown;
    confound.a.insert(in_a.begin(), in_a.end());
    confound.b.insert(in_b.begin(), in_b.end());
    confound.declared = factors.declare(shown) || (by_depth && last_part(shown) == "signal_every");
  }
  std::vector<Confound> confounds;
  for (auto& [name, confound] : found) confounds.push_back(std::move(confound));
  return confounds;
}

}  // namespace rdmabench::inline v1::analysis
