// The GID table of a port. Private to this room. Source: sysfs-class-infiniband.
#pragma once

#include <string>
#include <vector>

#include "check.h"

namespace rdmabench::health {

struct Gid {
  std::uint64_t index = 0;
  std::string text;       ///< "0000:0000:0000:0000:0000:ffff:0a00:0001"
  std::string type;       ///< "RoCE v2", "IB/RoCE v1"; "" if unknown
  std::string interface;  ///< the network device; "" if unknown

  bool link_local() const { return text.starts_with("fe80:"); }
  bool ipv4() const { return text.starts_with("0000:0000:0000:0000:0000:ffff:"); }
  /// Routable, so that a peer can use it.
  bool routable() const { return type == "RoCE v2" && !link_local(); }
  /// "10.0.0.1" if ipv4(), else "".
  std::string address() const;
};

/// All GIDs but zeros, by index.
std::vector<Gid> gids_of(Probe& probe, const RdmaPort& port);

}  // namespace rdmabench::health
