#include "requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using transport::Description;

constexpr std::string_view kUnknown = "unknown";

/// A requirement that is a fact of the endpoint with one good value.
struct Rule {
  std::string_view name;
  std::string_view fact;
  std::string_view wanted;
  std::string_view otherwise;  ///< what else the fact may say means; "" where it says it itself
};

constexpr std::array kRules{
    Rule{"rdma-write", "rdma_write", "offloaded", "writes are done in software"},
    Rule{"rdma-read", "rdma_read", "offloaded", "reads are done in software"},
    Rule{"no-shm", "shm_short_cut", "no", "a peer of this host is reached through shared memory"},
    Rule{"in-order-128", "in_order_128", "yes", "the device promises no order within 128 bytes"},
    Rule{"gpudirect", "gpudirect", "yes", ""},
};

/// A requirement with a value, and what the endpoint says of it.
struct Named {
  std::string_view name;
  std::string (*told)(const Description& endpoint);
};

std::optional<std::string> fact_of(const Description& endpoint, std::string_view name) {
  const auto found = std::find_if(endpoint.details.begin(), endpoint.details.end(),
                                  [&](const auto& detail) { return detail.first == name; });
  if (found == endpoint.details.end()) return std::nullopt;
  return found->second;
}

std::string told(const Description& endpoint, std::string_view fact) {
  return fact_of(endpoint, fact).value_or(std::string(kUnknown));
}

constexpr std::array kNamed{
    Named{"fabric", [](const Description& endpoint) { return told(endpoint, "fabric"); }},
    Named{"backend", [](const Description& endpoint) { return endpoint.backend; }},
    Named{"provider", [](const Description& endpoint) { return endpoint.provider; }},
    Named{"device", [](const Description& endpoint) { return endpoint.device; }},
};

/// "mlx5_0" is each port of it, "tcp" also what libfabric layers over it, as in --provider. UCX
/// joins what it uses side by side: each part is one of the parts that are wanted.
bool is_met(const Description& endpoint, std::string_view value, std::string_view wanted) {
  const auto is_of = [](std::string_view one, std::string_view other, char behind) {
    return one.starts_with(other) && (one.size() == other.size() || one[other.size()] == behind);
  };
  if (endpoint.backend != "ucx") return is_of(value, wanted, ':') || is_of(value, wanted, ';');
  const std::vector<std::string_view> all = split(wanted, ';');
  return std::ranges::all_of(split(value, ';'), [&](std::string_view part) {
    return std::ranges::any_of(all, [&](std::string_view one) { return is_of(part, one, ':'); });
  });
}

/// Why a requirement is not met, or nothing.
std::string reason_against(const Requirement& requirement, const Description& endpoint) {
  const std::string where = fmt::format("{} on {}", endpoint.provider, endpoint.device);
  for (const Named& named : kNamed) {
    if (requirement.name != named.name) continue;
    const std::string value = named.told(endpoint);
    if (is_met(endpoint, value, requirement.value)) return "";
    return fmt::format("The {} of {} is {}.", named.name, where,
                       value == kUnknown ? "not known" : fmt::format("'{}'", value));
  }
  const auto* const rule = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& candidate) {
    return candidate.name == requirement.name;
  });
  if (rule == kRules.end()) return "There is no such requirement.";
  const std::string value = told(endpoint, rule->fact);
  if (value == rule->wanted) return "";
  if (value == kUnknown) {
    return fmt::format("{} does not tell; efa does, with libfabric 1.21 or newer.", where);
  }
  return rule->otherwise.empty() ? value : fmt::format("With {} {}.", where, rule->otherwise);
}

}  // namespace

std::string to_text(const Requirement& requirement) {
  return requirement.value.empty() ? requirement.name
                                   : fmt::format("{}={}", requirement.name, requirement.value);
}

std::vector<Requirement> parse_requirements(std::string_view text,
                                            std::span<const RequirementWord> words) {
  std::vector<Requirement> requirements;
  for (const std::string_view given : split(text, ',')) {
    const std::size_t equals = std::min(given.find('='), given.size());
    Requirement& one = requirements.emplace_back(
        Requirement{std::string(given.substr(0, equals)),
                    std::string(given.substr(std::min(equals + 1, given.size())))});
    const bool known = std::any_of(words.begin(), words.end(), [&](const RequirementWord& word) {
      return word.name == one.name && (word.is_named ? !one.value.empty() : given == word.name);
    });
    if (known) continue;
    std::vector<std::string> all;
    for (const auto& [name, is_named] : words) {
      all.push_back(fmt::format("{}{}", name, is_named ? "=NAME" : ""));
    }
    throw Error(Fault::usage, fmt::format("invalid `requirements` {}", given),
                fmt::format("There are {}.", fmt::join(all, ", ")));
  }
  return requirements;
}

std::vector<RequirementWord> requirement_words() {
  std::vector<RequirementWord> words;
  for (const Rule& rule : kRules) words.push_back({rule.name});
  for (const Named& named : kNamed) words.push_back({named.name, true});
  return words;
}

std::vector<Requirement> parse_requirements(std::string_view text) {
  return parse_requirements(text, requirement_words());
}

std::vector<Unmet> unmet(std::span<const Requirement> requirements, const Description& endpoint) {
  std::vector<Unmet> found;
  for (const Requirement& requirement : requirements) {
    std::string reason = reason_against(requirement, endpoint);
    if (!reason.empty()) found.push_back({requirement, std::move(reason)});
  }
  return found;
}

}  // namespace rdmabench::inline v1::run
