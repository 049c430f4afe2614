#include "verbs/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>

#include "base/descriptor.h"
#include "base/network.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::verbs {
namespace {

constexpr std::size_t kListed = 8;  // candidates of each side listed in an error

/// Whether two addresses are in one subnet, by the prefix lengths that are known. Link-local ones
/// are alike on every network.
bool same_subnet(const GidEntry& a, const GidEntry& b) {
  int bits = a.prefix_length >= 0 ? a.prefix_length : b.prefix_length;
  if (bits < 0 || is_link_local(a.gid)) return false;
  if (is_ipv4(a.gid)) bits += 96;
  return IpNetwork{{a.gid.raw}, static_cast<std::uint32_t>(bits)}.has({b.gid.raw});
}

bool can_talk(const Candidate& a, const Candidate& b) {
  if (a.link_layer != b.link_layer || a.gid.type != b.gid.type) return false;
  if (a.link_layer == LinkLayer::infiniband) {
    return a.lid != 0 && b.lid != 0 && subnet_prefix(a.gid.gid) == subnet_prefix(b.gid.gid);
  }
  // EFA routes between the subnets of a cloud; a forbidden path fails when it is used.
  if (a.link_layer == LinkLayer::efa) return true;
  return a.link_layer == LinkLayer::ethernet && is_ipv4(a.gid.gid) == is_ipv4(b.gid.gid) &&
         is_link_local(a.gid.gid) == is_link_local(b.gid.gid);
}

/// Criteria of a pair, the most important first: that is their order too.
struct PathCriteria {
  bool infiniband = false;
  bool beyond_link = false;  ///< InfiniBand: another subnet prefix than the default
  bool roce_v2 = false;
  bool on_route = false;
  bool same_subnet = false;
  int control_ends = 0;
  bool same_rail = false;  ///< where the addresses do not tell networks apart: by the names
  double gbps = 0;
  bool same_name = false;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the default for a 0
  auto operator<=>(const PathCriteria&) const = default;
};

PathCriteria judge(const Candidate& client, const Candidate& server,
                   const std::optional<Gid>& source, const ControlAddresses& control) {
  PathCriteria criteria;
  criteria.gbps = std::min(client.gbps, server.gbps);
  criteria.same_name = client.device == server.device && client.port == server.port;
  criteria.beyond_link = !is_link_local(client.gid.gid);  // the default prefix is fe80::/64
  criteria.same_rail = criteria.same_name && !criteria.beyond_link;
  if (client.link_layer == LinkLayer::infiniband) {
    criteria.infiniband = true;
    return criteria;
  }
  criteria.roce_v2 = client.gid.type == GidType::roce_v2;
  criteria.on_route = source == client.gid.gid;
  criteria.same_subnet = same_subnet(client.gid, server.gid);
  criteria.control_ends = (control.client == client.gid.gid) + (control.server == server.gid.gid);
  return criteria;
}

std::string describe(const Candidate& client, const Candidate& server, const PathCriteria& criteria,
                     bool global) {
  if (criteria.infiniband) {
    return fmt::format("InfiniBand {}:{} LID {} to LID {}, subnet {:016x}{}{}", client.device,
                       client.port, client.lid, server.lid, subnet_prefix(client.gid.gid),
                       criteria.beyond_link ? "" : ", the default of every fabric",
                       global ? ", with the global header" : "");
  }
  if (client.link_layer == LinkLayer::efa) {
    return fmt::format("GID {} {} ({}:{}) to {}", client.gid.index, to_text(client.gid.gid),
                       client.device, client.port, to_text(server.gid.gid));
  }
  std::string_view how = "no known route or common subnet";
  if (criteria.on_route) {
    how = criteria.same_subnet ? "on the route, same subnet" : "on the route";
  } else if (criteria.same_subnet) {
    how = "same subnet";
  } else if (!criteria.beyond_link) {
    how = "link-local, as on every network";
  }
  return fmt::format("{} GID {} {} ({}:{}) to {}: {}", name(client.gid.type), client.gid.index,
                     to_text(client.gid.gid), client.device, client.port, to_text(server.gid.gid),
                     how);
}

struct Choice {
  const Candidate* client = nullptr;
  const Candidate* server = nullptr;
  PathCriteria criteria;

  void take_better(const Candidate& from, const Candidate& to, const PathCriteria& other) {
    if (client == nullptr || other > criteria) *this = {&from, &to, other};
  }
};

/// Hosts may number their devices differently: then a pair of one name may not be of one rail.
std::string passed_over(const Choice& best, const Choice& by_rate) {
  const double gbps = best.criteria.gbps;
  if (gbps == 0 || by_rate.criteria.gbps <= gbps) return "";
  return fmt::format(
      "; of {:g} Gb/s, as devices of one name are taken for one rail: {}:{} to {}:{} has {:g} Gb/s",
      gbps, by_rate.client->device, by_rate.client->port, by_rate.server->device,
      by_rate.server->port, by_rate.criteria.gbps);
}

std::string list(std::span<const Candidate> candidates) {
  std::string text;
  for (const Candidate& candidate : candidates.first(std::min(candidates.size(), kListed))) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_text(candidate));
  }
  if (candidates.size() > kListed) {
    text += fmt::format(" and {} more", candidates.size() - kListed);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string to_text(const Candidate& candidate) {
  const std::string place = fmt::format("{}:{}", candidate.device, candidate.port);
  if (candidate.link_layer == LinkLayer::infiniband) {
    return fmt::format("{} InfiniBand LID {} subnet {:016x}", place, candidate.lid,
                       subnet_prefix(candidate.gid.gid));
  }
  if (candidate.link_layer == LinkLayer::efa) {
    return fmt::format("{} GID {}", place, to_text(candidate.gid.gid));
  }
  return fmt::format("{} {}", place, to_text(candidate.gid));
}

std::optional<Gid> route_source(const Gid& destination) {
  if (is_link_local(destination) && !is_ipv4(destination)) return std::nullopt;  // needs a scope
  SocketAddress address(destination, 4791);  // of RoCE v2; nothing is sent
  socklen_t length = sizeof address.storage;
  const Descriptor socket(::socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::connect(socket.get(), &address.any(), length) != 0) return std::nullopt;
  if (getsockname(socket.get(), &address.any(), &length) != 0) return std::nullopt;
  return from_socket_address(address.any());
}

Path choose_path(std::span<const Candidate> client, std::span<const Candidate> server,
                 const ControlAddresses& control, const RouteSource& route) {
  Choice best;
  Choice by_rate;  // the best one if names did not count
  for (const Candidate& to : server) {
    const std::optional<Gid> source =
        to.link_layer == LinkLayer::ethernet ? route(to.gid.gid) : std::nullopt;
    for (const Candidate& from : client) {
      if (!can_talk(from, to)) continue;
      PathCriteria criteria = judge(from, to, source, control);
      best.take_better(from, to, criteria);
      criteria.same_rail = false;
      by_rate.take_better(from, to, criteria);
    }
  }
  if (best.client == nullptr) {
    throw Error(
        Fault::unavailable,
        fmt::format("no common path. The client has: {}. The server has: {}", list(client),
                    list(server)),
        "Both sides need InfiniBand ports of one subnet, or GIDs of the same RoCE version and "
        "address family: give both ports an address of one network, or choose other `devices` or "
        "another `gid_index`.");
  }
  const bool global = !best.criteria.infiniband || best.client->needs_grh || best.server->needs_grh;
  return {best.client, best.server, global,
          describe(*best.client, *best.server, best.criteria, global) + passed_over(best, by_rate)};
}

}  // namespace rdmabench::inline v1::verbs
