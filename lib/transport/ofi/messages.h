// What two sides tell each other about libfabric, as JSON text. Whatever is
// read comes from another machine: every length and number is bounded here, and
// anything else throws Error(failed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/ofi/objects.h"

namespace rdmabench::inline v1::transport::ofi {

/// One way in which a machine can reach others: what tells two entries of
/// fi_getinfo(3) apart.
struct Fit {
  std::string provider;        ///< resolved: "tcp;ofi_rxm"
  std::string domain;          ///< "eth0", "rdmap0s29-rdm"
  std::string fabric;          ///< "10.0.0.0/24", "efa"
  std::string source;          ///< the IP address it is bound to; "" for other kinds of address
  std::uint32_t protocol = 0;  ///< FI_PROTO_*
  /// The provider's number for what it sends: fi_endpoint(3), protocol_version.
  std::uint32_t protocol_version = 0;
  std::uint32_t addr_format = 0;  ///< FI_SOCKADDR_IN, ...

  bool operator==(const Fit&) const = default;
};

/// All of them on one machine, in libfabric's order of preference.
struct Offer {
  std::string host;  ///< the same text for two processes that can share memory
  std::vector<Fit> fits;
};

/// Bytes of the longest endpoint name that is taken: efa's have 32, shm's
/// about 20.
inline constexpr std::size_t kMaxEndpointName = 512;

/// Names that are taken: as many queue pairs as a session may have.
inline constexpr std::size_t kMaxNames = 1024;

/// What connect() needs to know of the peer's endpoint.
struct Address {
  std::string provider;
  std::uint32_t protocol = 0;
  std::uint32_t protocol_version = 0;
  std::uint32_t addr_format = 0;
  /// Raw bytes of fi_getname(3), each 1 to kMaxEndpointName: one for each queue pair of an rdm
  /// endpoint, one of the listener for msg, none of a side that will connect to it.
  std::vector<std::string> names;
  std::uint64_t ticket = 0;       ///< msg: a connection must bring the listener's to be taken
  std::uint64_t window_base = 0;  ///< virtual address of the window, or 0 where offsets are used
  std::uint64_t window_bytes = 0;
  std::uint64_t window_key = 0;
  std::vector<PeerRegion> more_regions{};  ///< behind region 0, which is the window
};

/// The first 256 fits; the last ones are those that libfabric likes least.
std::string write_offer(const Offer& offer);
Offer read_offer(std::string_view text);

std::string write_fit(const Fit& fit);
Fit read_fit(std::string_view text);

std::string write_address(const Address& address);
/// Checks also that the window and the regions do not wrap around the end of the
/// address space.
Address read_address(std::string_view text);

}  // namespace rdmabench::inline v1::transport::ofi
