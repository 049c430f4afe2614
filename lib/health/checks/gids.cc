#include "gids.h"

#include <algorithm>

namespace rdmabench::health {
namespace {

constexpr std::size_t kMostGids = 1024;

}  // namespace

std::string Gid::address() const {
  if (!ipv4()) return "";
  std::string digits = text.substr(30);
  std::erase(digits, ':');
  const auto value = hex_number(digits);
  if (!value || digits.size() != 8) return "";
  return fmt::format("{}.{}.{}.{}", *value >> 24, (*value >> 16) & 0xff, (*value >> 8) & 0xff,
                     *value & 0xff);
}

std::vector<Gid> gids_of(Probe& probe, const RdmaPort& port) {
  std::vector<Gid> gids;
  for (const std::string& name : probe.list(port.folder + "/gids")) {
    const auto index = to_number(name);
    if (!index || gids.size() == kMostGids) continue;
    Gid gid;
    gid.index = *index;
    gid.text = probe.try_line(port.folder + "/gids/" + name);
    if (gid.text.find_first_not_of("0:") == std::string::npos) continue;
    gid.type = probe.try_line(port.folder + "/gid_attrs/types/" + name);
    gid.interface = probe.try_line(port.folder + "/gid_attrs/ndevs/" + name);
    gids.push_back(std::move(gid));
  }
  std::sort(gids.begin(), gids.end(),
            [](const Gid& first, const Gid& second) { return first.index < second.index; });
  return gids;
}

}  // namespace rdmabench::health
