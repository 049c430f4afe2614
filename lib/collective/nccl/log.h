// What NCCL writes of itself: the only place where it tells its network and its connections.
#pragma once

#include <string>
#include <string_view>

#include "rdmabench/report/fact.h"

namespace rdmabench::collective::nccl {

/// What was read out of a log.
struct LogFacts {
  std::string network;  ///< "Socket", "IB", a plugin's name; "" where it was not said
  std::string plugin;   ///< "rdmabench (v11)"; "" where none was loaded
  std::string routes;   ///< "NET/IB/0/GDRDMA, P2P/CUMEM": those of its connections, each once
  bool any_route = false;
  bool any_network_route = false;  ///< through a NIC
  bool gpudirect = false;          ///< all of those go by GPUDirect RDMA
};

/// From the lines of NCCL_DEBUG=INFO, of NCCL 2.18 to 2.30.
LogFacts parse_log(std::string_view text);

/// Asks NCCL for a log of its set-up, in a file without a name, unless the user wants one of his
/// own. Nothing is written while operations run. To be made before NCCL's first call.
class Log {
 public:
  Log();
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// network, net_plugin, routes, gpudirect; where NCCL does not tell, NAME_unknown says why.
  report::Facts facts() const;

 private:
  std::string text() const;

  int file_ = -1;
  std::string reason_;  ///< why there is no log
};

}  // namespace rdmabench::collective::nccl
