// NCCL's log: the only place where it names its network and its connections.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "rdmabench/results/result.h"
#include "settings.h"

namespace rdmabench::inline v1::collective::nccl {

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

/// What NCCL logs of its set-up, in an unnamed file, unless the user has set a log. Nothing is
/// logged during operations.
///
/// NCCL reads its settings of the log once, with its first line, and keeps the file open until the
/// process ends (src/debug.cc of 2.18 to 2.30; from 2.24 on ncclResetDebugInit() makes it read
/// them again). So the settings are lent while a communicator is made, and the file is one for the
/// process that is never closed: /proc/PID/fd/N, with this process's number, means it and no other
/// file while the process lives. /proc/self/fd/N would mean a file of its own to a program that is
/// started meanwhile, which has the settings too, and NCCL truncates what it opens.
class Log {
 public:
  /// `processes` is the folder in which a process's files can be opened again.
  explicit Log(const std::optional<std::string>& home, const std::string& processes = "/proc");

  /// Makes NCCL write it, if it has not logged before. For NCCL's first calls.
  LentSettings lend() const;

  /// network, net_plugin, routes, gpudirect; for an unknown one NAME_unknown says why.
  report::Facts facts() const;

 private:
  std::string path_;    ///< "" without a log
  std::string reason_;  ///< why there is none
  off_t start_ = 0;     ///< what is before it was logged for others in this process
};

}  // namespace rdmabench::inline v1::collective::nccl
