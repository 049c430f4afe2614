// The GID table of a port, and which of its entries a library takes. Private to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

/// An entry of a port's GID table that is not zero. Source: sysfs-class-infiniband.
struct Gid {
  std::uint64_t index = 0;
  std::string text;       ///< "0000:0000:0000:0000:0000:ffff:0a00:0001"
  std::string type;       ///< "RoCE v2", "IB/RoCE v1"; "" if unknown
  std::string interface;  ///< the network device; "" if unknown
  /// The network device is not in this network namespace, or one of its name in another: the port
  /// has IPv4 GIDs of this node's addresses, and this one is not.
  bool foreign = false;

  bool link_local() const { return text.starts_with("fe80:"); }
  bool ipv4() const { return text.starts_with("0000:0000:0000:0000:0000:ffff:"); }
  /// A router forwards its packets, so that every peer can use it.
  bool routable() const { return type == "RoCE v2" && !link_local() && !foreign; }
  /// "10.0.0.1", "fe80::1"; the text of the kernel if that is no address.
  std::string address() const;
};

/// The node's own IPv4 addresses: the lines after which fib_trie says "/32 host LOCAL".
std::set<std::string> local_addresses(const FileTree& tree);

/// All GIDs of a port but zeros, by index; `foreign` by the names of network devices alone.
std::vector<Gid> read_gids(const FileTree& tree, const std::string& port_folder);

const Gid* find_gid(const std::vector<Gid>& gids, std::uint64_t index);

/// The GID to give to a peer: RoCE v2 of an IPv4 address before one of IPv6; null for none.
const Gid* best_gid(const std::vector<Gid>& gids);

/// Why peers behind a router cannot be reached over that entry: "empty", "fe80::1, link-local",
/// "10.0.0.1, RoCE v1"; "" if they can, or if the kernel does not tell the types.
std::string fault_of_gid(const std::vector<Gid>& gids, std::uint64_t index);

/// The entry that NCCL takes from 2.21 on where no index is given. Source: NCCL
/// src/transport/net_ib/connect.cc, ncclIbGetGidIndex() and ncclUpdateGidIndex().
std::uint64_t gid_of_nccl(const std::vector<Gid>& gids, bool ipv6, std::uint64_t version);

}  // namespace rdmabench::inline v1::health
