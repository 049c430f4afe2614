// What this machine's libfabric has that fits a request.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pci_path.h"
#include "base/socket_provider.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/ofi/objects.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::ofi {

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
/// Error(failed) otherwise. Its entries name no fabric or domain that is open: another session may
/// close it before they are hints or an endpoint's.
Info get_info(const fi_info& hints, const char* node = nullptr, std::uint64_t flags = 0);

/// Whether `wanted`, as typed after --provider, means this provider. "" means
/// any, and "tcp" also means "tcp;ofi_rxm", which is the core provider with its
/// endpoints made reliable datagrams.
bool is_provider(std::string_view provider, std::string_view wanted);

/// Whether `wanted`, as typed after --device, means this domain. efa's
/// "rdmap0s29-rdm" has a suffix for the type of endpoint.
bool is_domain(std::string_view domain, std::string_view wanted);

/// Whether completions at delivery are asked for.
bool needs_delivery(const EndpointRequest& request);

/// Shared memory of one machine, by itself.
inline bool is_shm(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name) == "shm";
}

/// Why a provider is never used; "" where it may be.
std::string_view refusal_of(std::string_view provider);

/// Why an entry of fi_getinfo(3) that has every requirement is not offered all the same; "" where
/// it is: what its provider does to a server, or cannot do though its attributes promise it. Asks
/// libfabric again, and for atomics opens the domain. Sources: tests/fakes/fabric names them.
std::string objection(fi_info& entry, const EndpointRequest& request);

/// Whether both are of one provider, fabric and domain.
bool is_same(const fi_info& a, const fi_info& b);

/// The same entry with one attribute changed, or nothing when the provider does not go along. Up to
/// 2.3 efa does not look at the fabric of the hints, and may answer with its other one.
template <class Change>
Info refined(const fi_info& info, Change&& change) {
  const Info hints(fi_dupinfo(&info));
  if (hints == nullptr) throw Error(Fault::failed, "fi_dupinfo", "Free memory.", ENOMEM);
  change(*hints);
  Info list = get_info(*hints);
  for (const fi_info* entry = list.get(); entry != nullptr; entry = entry->next) {
    if (is_same(*entry, info)) return Info(fi_dupinfo(entry));
  }
  return nullptr;
}

struct Found {
  Fit fit;
  Info info;
};

/// An entry that has every requirement, and what there is against it all the same.
struct Refused {
  Fit fit;
  std::string objection;
};

/// All distinct fits, in libfabric's order; IP providers are bound to
/// request.local_ip when it is known. Appends to `refused` what objection() leaves out.
std::vector<Found> find_fits(const EndpointRequest& request,
                             std::vector<Refused>* refused = nullptr);

/// The nearest NIC first, and what is as near in the order before. A machine with many NICs has one
/// for each GPU, and libfabric does not know which of them.
void sort_by_distance(std::vector<Found>& found,
                      const std::function<PciDistance(const fi_info&)>& distance);

/// For a request that find_fits() has nothing for: Error(unavailable) that says
/// which requirement removed which provider, or that libfabric has no such
/// provider or device here, and what it has.
Error explain_no_fit(const EndpointRequest& request);

/// Threads that are in fi_close(3) of an endpoint of efa for longer than a step may take. Each has
/// a core and the endpoint's memory, which no session is charged for.
int threads_left_closing() noexcept;

/// As many of them and efa is not offered any more: a client that ends itself in a loop would have
/// all cores.
inline constexpr int kMostLeftClosing = 2;

/// How many ofi_rxm posts for each endpoint of this process. The first call begins libfabric, which
/// reads FI_OFI_RXM_MSG_RX_SIZE then and never again: that is the user's number, else 128, which is
/// in the environment only meanwhile. By itself ofi_rxm takes 4096, which are 70 MiB; where another
/// part of the program has begun libfabric before, that stays, and nothing tells it. Throws
/// Error(unavailable) without libfabric. Thread rule: any thread, but the first call uses
/// setenv(3), which is not for a program whose other threads read the environment meanwhile: a
/// Server makes it before it has threads. Source: fi_rxm(7).
std::uint64_t rxm_receives();

}  // namespace rdmabench::inline v1::transport::ofi
