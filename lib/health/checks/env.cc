#include "env.h"

#include <algorithm>

namespace rdmabench::inline v1::health {
namespace {

/// Not where the state is unknown.
bool is_down(const RdmaPort& port) {
  return !port.state.empty() && !port.active();
}

}  // namespace

bool looked(Probe& probe) {
  const bool facts = probe.text("rdmabench/environment").has_value();
  if (!facts)
    probe.skip("the environment was not read: this is a saved tree without facts", Skipped::unread);
  return facts;
}

std::optional<std::string> value(Probe& probe, std::string_view name, std::string expected) {
  if (!looked(probe)) return std::nullopt;
  probe.expect(std::move(expected), Source::standard);
  auto found = environment(probe, name);
  probe.observe(found ? fmt::format("{}={}", name, *found) : "not set");
  if (!found) probe.pass();
  return found;
}

void add_to(std::string& list, std::string_view text) {
  list += fmt::format("{}{}", list.empty() ? "" : ", ", text);
}

bool same_letters(std::string_view first, std::string_view second) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [&](char a, char b) { return small(a) == small(b); });
}

std::string missing_halves(Probe& probe, const Takes& takes) {
  for (const RdmaDevice& device : probe.node().devices) {
    if (device.ports.empty() || !takes(device.ports.front())) continue;
    if (is_down(device.ports.front())) continue;
    std::string all;
    std::string missing;
    for (const RdmaDevice* const half : halves_of(probe.node(), device)) {
      all += (all.empty() ? "" : ",") + half->name;
      if (!half->ports.empty() && !takes(half->ports.front())) add_to(missing, half->name);
    }
    if (!missing.empty()) {
      return fmt::format("without {}, the other half of {}'s card: name {}", missing, device.name,
                         all);
    }
  }
  return "";
}

void blame(Probe& probe, std::string_view name, std::string_view text, std::string_view fault) {
  probe.observe(fmt::format("{}={}, {}", name, text, fault));
  probe.warn();
}

void judge_gids(Probe& probe, const std::string& said, const Takes& takes,
                const std::function<std::uint64_t(const std::vector<Gid>&)>& index) {
  std::size_t judged = 0;
  for (const RdmaDevice& device : probe.node().devices) {
    for (const RdmaPort& port : device.ports) {
      if (!port.roce() || !takes(port) || is_down(port)) continue;
      const std::vector<Gid>& gids = gids_of(probe, port);
      if (gids.empty()) continue;  // address.gid judges that
      ++judged;
      const std::uint64_t chosen = index(gids);
      const std::string fault = fault_of_gid(gids, chosen);
      const Gid* const better = best_gid(gids);
      // Without a better one address.roce_v2 tells of it.
      if (fault.empty() || better == nullptr) continue;
      probe.observe(
          fmt::format("{}{} is {}, on {}; index {} is {}", said,
                      said.empty() ? fmt::format("not set, and NCCL takes {}, which", chosen) : "",
                      fault, port.name, better->index, better->address()));
      return probe.warn();
    }
  }
  if (judged == 0 && !said.empty()) return probe.skip("no active RoCE port would use it");
  probe.pass();
}

}  // namespace rdmabench::inline v1::health
