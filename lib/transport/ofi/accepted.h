// Connections that a provider accepted and does not close.
#pragma once

#include <dirent.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rdmabench::inline v1::transport::ofi {

/// libfabric's provider net (1.17) listens for the peer of an endpoint, accepts whoever connects,
/// and closes a connection with the endpoint only where it became the peer's. Each stranger who
/// holds one until then would take a descriptor of this process for good. The destructor closes
/// those that are still open; the provider has forgotten them by then. Thread rule: one thread.
class Accepted {
 public:
  /// Opens the folder that is read later: then there may be no descriptor left.
  Accepted();
  ~Accepted();
  Accepted& operator=(Accepted&&) = delete;

  /// Notes the connections to the ports of these addresses of the provider's own; other kinds of
  /// addresses than IP's are passed over. Those that are closed before the destructor runs do not
  /// matter.
  void note(std::span<const std::string> names);

 private:
  struct Socket {
    int fd;
    std::uint64_t cookie;  ///< no other socket ever has it: the number may be another one's by now
  };
  DIR* folder_;  ///< of this process' descriptors; null where there is none
  std::vector<Socket> noted_;
};

}  // namespace rdmabench::inline v1::transport::ofi
