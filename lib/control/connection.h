// What a Channel owns: the socket, the names of its ends and the frame that is arriving.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmabench::control {

/// The socket does not block: reads and writes wait in wait_for() alone.
struct Connection {
  /// Takes over a connected socket.
  explicit Connection(int connected) noexcept : socket(connected) {}
  ~Connection() { close(socket); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::string_view arrived() const noexcept { return {frame.data(), have}; }

  const int socket;
  std::string peer;
  std::string peer_ip;
  std::string local_ip;
  std::string frame;     ///< room for the frame that is arriving
  std::size_t have = 0;  ///< bytes of it that have arrived
};

}  // namespace rdmabench::control
