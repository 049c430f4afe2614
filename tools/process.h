// Child processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "rdmabench/control/channel.h"

namespace rdmabench::tools {

/// `rdmabench serve` on a free port, in a child process that the destructor ends.
class ServerProcess {
 public:
  /// It serves this provider of libfabric too, whatever endangers a server. Throws Error(failed)
  /// when it does not listen within 10 seconds.
  ServerProcess(int cpu, const std::string& provider);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::uint16_t port() const { return port_; }

  /// By which this process and nobody else is served.
  const control::Authentication& authentication() const { return authentication_; }

 private:
  control::Authentication authentication_;
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace rdmabench::tools
