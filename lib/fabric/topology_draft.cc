#include "topology_draft.h"

#include <fmt/format.h>

#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {

void TopologyDraft::refuse(const std::string& what) const {
  constexpr std::size_t kShown = 300;
  throw Error(Fault::usage,
              fmt::format("topology {}, line {}: {}{}", file, at + 1, what.substr(0, kShown),
                          what.size() > kShown ? "..." : ""),
              "docs/fabric.md shows each format.");
}

const std::string& TopologyDraft::line() const {
  constexpr std::size_t kLongest = 4096;
  if (lines[at].size() > kLongest) refuse("more than 4096 characters");
  if (lines[at].find('\0') != std::string::npos) refuse("a byte of 0");
  return lines[at];
}

std::uint32_t TopologyDraft::point(const std::string& key, const std::string& name, bool host,
                                   std::vector<std::string> longer) {
  const auto [found, added] =
      by_key_.try_emplace(key, static_cast<std::uint32_t>(out_.points.size()));
  if (added) {
    if (out_.points.size() >= kMostParts) refuse("more than 1000000 switches and hosts");
    out_.points.push_back({name, host});
    if (!longer.empty()) longer_[found->second] = std::move(longer);
  }
  return found->second;
}

std::optional<std::uint32_t> TopologyDraft::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t TopologyDraft::link(std::uint32_t a, const std::string& a_port, std::uint32_t b,
                                  const std::string& b_port) {
  if (a == b) refuse(fmt::format("{} is linked with itself", out_.points[a].name));
  const bool swapped = b < a;
  const auto key = fmt::format("{}[{}]-{}[{}]", swapped ? b : a, swapped ? b_port : a_port,
                               swapped ? a : b, swapped ? a_port : b_port);
  const auto [found, added] =
      seen_links_.try_emplace(key, static_cast<std::uint32_t>(out_.links.size()));
  if (added) {
    if (out_.links.size() >= kMostParts) refuse("more than 1000000 links");
    out_.links.push_back({a, b, a_port, b_port});
  }
  return found->second;
}

void TopologyDraft::forward(std::uint32_t from, std::uint32_t to, std::uint32_t link) {
  out_.forwarding[{from, to}] = link;
}

Topology TopologyDraft::take() {
  for (bool changed = true; changed;) {
    std::map<std::string, std::size_t> counts;
    for (const TopologyPoint& point : out_.points) ++counts[point.name];
    changed = false;
    for (auto& [point, names] : longer_) {
      if (names.empty() || counts[out_.points[point].name] < 2) continue;
      out_.points[point].name = names.front();
      names.erase(names.begin());
      changed = true;
    }
  }
  return std::move(out_);
}

}  // namespace rdmabench::inline v1::fabric
