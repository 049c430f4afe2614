// What a Channel owns: the socket, the names of its ends and the frame that is arriving.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/descriptor.h"
#include "frame.h"
#include "seal.h"

namespace rdmabench::inline v1::control {

/// Bytes of a frame's payload from a peer that has not proved who it is. It may send two frames, so
/// that all of it is less than 4 KiB.
inline constexpr std::uint32_t kMaxUnproved = 2000;

/// The socket does not block: reads and writes wait in wait_for() alone.
struct ChannelSocket {
  /// Takes over a connected socket.
  explicit ChannelSocket(Descriptor connected) noexcept
      : owned(std::move(connected)), socket(owned.get()) {}
  ChannelSocket& operator=(ChannelSocket&&) = delete;

  std::string_view arrived() const noexcept { return {part.data(), have}; }

  const Descriptor owned;
  const int socket;
  std::stop_token stop;  ///< ends its waits, until both ends are known
  std::string peer;
  std::string peer_ip;
  std::string local_ip;
  std::uint16_t peer_port = 0;
  std::uint16_t local_port = 0;
  std::uint32_t max_payload = kMaxUnproved;  ///< of a frame that arrives
  std::optional<Seals> seals;                ///< once both ends are known
  bool distrusted = false;                   ///< a frame came that the peer did not send
  std::optional<Header> header;              ///< of the frame that is arriving, once believed
  std::string part;                          ///< of that frame: its header, or then its payload
  std::size_t have = 0;                      ///< bytes of the part that have arrived
};

}  // namespace rdmabench::inline v1::control
