// What two sides tell each other about UCX, as JSON text. Whatever is read comes from another
// machine: every length and number is bounded here, and anything else throws Error(failed). What
// UCX packed itself is opaque to us.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/ucx/objects.h"

namespace rdmabench::inline v1::transport::ucx {

/// What UCX may choose from on one machine.
struct Offer {
  std::string version{};                  ///< "1.13.1"
  std::vector<std::string> transports{};  ///< "tcp", "rc_verbs", each once
};

/// Bytes of the longest address of a worker and of the longest key that are taken. An address has a
/// few hundred for each device, a key some dozens for each.
inline constexpr std::size_t kMaxWorkerAddress = 64 << 10;
inline constexpr std::size_t kMaxKey = 4096;

/// What connect() needs to know of the peer's endpoint.
struct Address {
  std::string version{};
  std::string worker{};  ///< raw bytes of ucp_worker_get_address()
  std::uint32_t queue_pairs = 0;
  Service service = Service::automatic;  ///< that of its messages
  std::vector<PeerRegion> regions{};     ///< the first is the window
};

std::string write_offer(const Offer& offer);
Offer read_offer(std::string_view text);

std::string write_address(const Address& address);
/// Checks also that no region wraps around the end of the address space.
Address read_address(std::string_view text);

}  // namespace rdmabench::inline v1::transport::ucx
