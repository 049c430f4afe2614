// What this machine's libfabric has that fits a request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/ofi/handles.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::transport::ofi {

/// The interface version asked of libfabric: kNewestAsked or, where that is
/// older, the library's, which refuses a newer one (-FI_ENOSYS). efa behaves
/// differently by it, so it is reported.
std::uint32_t api_version();

/// "1.17" for FI_VERSION(1, 17).
std::string version_text(std::uint32_t version);

/// One property that an endpoint for a request must have, as a hint to
/// fi_getinfo(3).
struct Requirement {
  std::string_view text;                    ///< for "removed by ..."
  bool (*applies)(const EndpointRequest&);  ///< whether this request has it
  void (*add)(fi_info&);
};
std::span<const Requirement> requirements();

/// Hints that exclude nothing; requirements narrow them.
Info open_hints();
Info hints_for(const EndpointRequest& request);

/// fi_getinfo(3) with these hints; nothing when no provider fits. Throws
/// Error(failed) otherwise.
Info get_info(const fi_info& hints, const char* node = nullptr, std::uint64_t flags = 0);

/// Whether `wanted`, as typed after --provider, means this provider. "" means
/// any, and "tcp" also means "tcp;ofi_rxm", which is the core provider with its
/// endpoints made reliable datagrams.
bool is_provider(std::string_view provider, std::string_view wanted);

/// Whether `wanted`, as typed after --device, means this domain. efa's
/// "rdmap0s29-rdm" has a suffix for the type of endpoint.
bool is_domain(std::string_view domain, std::string_view wanted);

/// A provider that is never used: `sockets` takes milliseconds for what others
/// do in microseconds, and libfabric has deprecated it.
inline constexpr std::string_view kRefusedProvider = "sockets";

/// Why a server offers this provider only where its operator names it; "" where it may. ofi_rxm
/// listens on a port and believes what whoever connects there writes: with 1.17 one packet of a
/// stranger ends this process. So does, up to 2.3, a peer that dies within a write with immediate.
/// A peer that is killed within a call of shm or sm2 leaves this side spinning. udp sends to whom
/// the peer names.
std::string_view danger_to_server(std::string_view provider, const EndpointRequest& request);

/// Whether a provider that has FI_ATOMIC has this one on 8 bytes too: `net` of 1.17 promises it and
/// has none. Opens its domain to ask.
bool has_atomics(fi_info& info, OperationSet operations);

struct Found {
  Fit fit;
  Info info;
};

/// All distinct fits, in libfabric's order; IP providers are bound to
/// request.local_ip when it is known.
std::vector<Found> find_fits(const EndpointRequest& request);

/// For a request that find_fits() has nothing for: Error(unavailable) that says
/// which requirement removed which provider, or that libfabric has no such
/// provider or device here, and what it has.
Error explain_no_fit(const EndpointRequest& request);

}  // namespace rdmabench::transport::ofi
