// NCCL's log: the only place where it names its network and its connections.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "rdmabench/report/conditions.h"

namespace rdmabench::collective::nccl {

struct LogFacts {
  std::string network;  ///< "Socket", "IB", a plugin's name; "" if not logged
  std::string plugin;   ///< "rdmabench (v11)"; "" where none was loaded
  std::string routes;   ///< of its connections, each once: "NET/IB/0/GDRDMA, P2P/CUMEM"
  bool any_route = false;
  bool any_network_route = false;  ///< through a NIC
  bool gpudirect = false;          ///< all network routes use GPUDirect RDMA
};

/// From the lines of NCCL_DEBUG=INFO, of NCCL 2.18 to 2.30.
LogFacts parse_log(std::string_view text);

/// Makes NCCL log its set-up into an unnamed file, unless the user has set a log. Nothing is logged
/// during operations. Must be created before NCCL's first call.
class Log {
 public:
  /// `descriptors` is the folder in which a process's files can be opened again.
  explicit Log(const std::string& descriptors = "/proc/self/fd");

  /// network, net_plugin, routes, gpudirect; for an unknown one NAME_unknown says why.
  report::Facts facts() const;

 private:
  std::string text() const;

  Descriptor file_;     ///< NCCL keeps one of its own until the process ends
  std::string reason_;  ///< why there is no log
};

}  // namespace rdmabench::collective::nccl
