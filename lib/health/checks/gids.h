// The GID table of a port. Private to this room. Source: sysfs-class-infiniband.
#pragma once

#include <string>
#include <vector>

#include "check.h"

namespace rdmabench::health {

struct Gid {
  std::uint64_t index = 0;
  std::string text;       ///< "0000:0000:0000:0000:0000:ffff:0a00:0001"
  std::string type;       ///< "RoCE v2", "IB/RoCE v1"; "" if it is not told
  std::string interface;  ///< the network device; "" if it is not told

  bool link_local() const { return text.starts_with("fe80:"); }
  bool ipv4() const { return text.starts_with("0000:0000:0000:0000:0000:ffff:"); }
  /// One that a router forwards and a peer can be told.
  bool routable() const { return type == "RoCE v2" && !link_local(); }
  /// "10.0.0.1" of an ipv4() one; "" of any other.
  std::string address() const;
};

/// Those that are not zero, by index.
std::vector<Gid> gids_of(Probe& probe, const RdmaPort& port);

}  // namespace rdmabench::health
