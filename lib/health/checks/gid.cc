#include "gid.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "text.h"

namespace rdmabench::inline v1::health {

std::string Gid::address() const {
  in6_addr bytes{};
  if (inet_pton(AF_INET6, text.c_str(), &bytes) != 1) return text;
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (ipv4()) {
    inet_ntop(AF_INET, bytes.s6_addr + 12, out.data(), out.size());
  } else {
    inet_ntop(AF_INET6, &bytes, out.data(), out.size());
  }
  return out.data();
}

std::set<std::string> local_addresses(const FileTree& tree) {
  std::set<std::string> found;
  std::string last;
  for (const std::string& line : lines_of(tree.read("proc/net/fib_trie").bytes)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() == 2 && words[0] == "|--") last = words[1];
    if (words.size() == 3 && words[0] == "/32" && words[2] == "LOCAL") found.insert(last);
  }
  return found;
}

std::vector<Gid> read_gids(const FileTree& tree, const std::string& port_folder) {
  constexpr std::size_t kMostGids = 1024;
  std::vector<Gid> gids;
  for (const std::string& name : tree.list(port_folder + "/gids")) {
    const auto index = to_number(name);
    if (!index || gids.size() == kMostGids) continue;
    const auto line = [&](std::string_view folder) {
      return one_line(tree.read(fmt::format("{}/{}/{}", port_folder, folder, name)).bytes);
    };
    Gid gid;
    gid.index = *index;
    gid.text = line("gids");
    if (gid.text.find_first_not_of("0:") == std::string::npos) continue;
    gid.type = line("gid_attrs/types");
    gid.interface = line("gid_attrs/ndevs");
    gid.foreign = !gid.interface.empty() && (gid.interface.find('/') != std::string::npos ||
                                             !tree.exists("sys/class/net/" + gid.interface));
    gids.push_back(std::move(gid));
  }
  std::sort(gids.begin(), gids.end(),
            [](const Gid& first, const Gid& second) { return first.index < second.index; });
  return gids;
}

const Gid* find_gid(const std::vector<Gid>& gids, std::uint64_t index) {
  const auto found =
      std::find_if(gids.begin(), gids.end(), [&](const Gid& gid) { return gid.index == index; });
  return found == gids.end() ? nullptr : &*found;
}

const Gid* best_gid(const std::vector<Gid>& gids) {
  const Gid* found = nullptr;
  for (const Gid& gid : gids) {
    if (!gid.routable()) continue;
    if (found == nullptr || (gid.ipv4() && !found->ipv4())) found = &gid;
  }
  return found;
}

std::string fault_of_gid(const std::vector<Gid>& gids, std::uint64_t index) {
  const Gid* const gid = find_gid(gids, index);
  if (gid == nullptr) return "empty";
  if (gid->foreign)
    return fmt::format("{}, of {} in another namespace", gid->address(), gid->interface);
  if (gid->link_local()) return gid->address() + ", link-local";
  if (!gid->type.empty() && gid->type != "RoCE v2") return gid->address() + ", RoCE v1";
  return "";
}

std::uint64_t gid_of_nccl(const std::vector<Gid>& gids, bool ipv6, std::uint64_t version) {
  const auto version_of = [](const Gid* gid) -> std::uint64_t {
    return gid == nullptr || gid->type.empty() ? 0 : gid->type == "RoCE v2" ? 2 : 1;
  };
  const Gid* chosen = find_gid(gids, 0);
  for (const Gid& next : gids) {
    if (next.index == 0) continue;
    const bool wanted = next.ipv4() != ipv6;
    const bool alike = chosen != nullptr ? chosen->ipv4() == next.ipv4() : !next.ipv4();
    const bool valid = chosen != nullptr && !chosen->link_local();
    const bool better = (version_of(chosen) != version_of(&next) || !valid) &&
                        version_of(&next) == version && !next.link_local();
    if (wanted && (!alike || better)) chosen = &next;
  }
  return chosen == nullptr ? 0 : chosen->index;
}

}  // namespace rdmabench::inline v1::health
