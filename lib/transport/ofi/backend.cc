#include "transport/ofi/backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <tuple>

#include "base/file.h"
#include "fits.h"
#include "memory/gpu_memory.h"
#include "messages.h"
#include "provider_info.h"
#include "rdmabench/base/log.h"
#include "row.h"
#include "transport/own_options.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// Taken without being named, best first. The kernel's TCP comes last: `tcp` of
/// libfabric 2 and `net` of 1.17 are the same code, a fifth faster here than
/// the layered tcp;ofi_rxm. What is not listed is used only when named, because
/// it is not a network (shm), slow (udp;ofi_rxd), or may itself run over sockets
/// (psm3, ucx).
constexpr std::array<std::string_view, 9> kPreferred{
    "efa", "verbs;ofi_rxm", "verbs", "cxi", "opx", "psm2", "tcp", "net", "tcp;ofi_rxm"};
constexpr std::string_view kSharedMemory = "shm";

std::string host_identity() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return fmt::format("{} {}", name, first_line("/proc/sys/kernel/random/boot_id"));
}

/// Lower is better; nothing for a provider that must be named to be used.
std::optional<std::size_t> rank(const Fit& fit, std::string_view wanted) {
  if (!wanted.empty()) {
    if (!is_provider(fit.provider, wanted)) return std::nullopt;
    return fit.provider == wanted ? 0 : 1;
  }
  const auto found = std::find(kPreferred.begin(), kPreferred.end(), fit.provider);
  if (found == kPreferred.end()) return std::nullopt;
  return static_cast<std::size_t>(found - kPreferred.begin());
}

/// RDMA, and not the kernel's TCP.
bool is_offloading(const Fit& fit) {
  const auto tcp = std::find(kPreferred.begin(), kPreferred.end(), "tcp");
  return std::find(kPreferred.begin(), tcp, fit.provider) != tcp;
}

/// Nobody who has an RDMA network is to measure TCP unawares, because of an operation that its
/// provider does not have.
void refuse_to_fall_back(const EndpointRequest& request, const std::vector<Fit>& fits,
                         const std::vector<Refused>& refused) {
  if (!request.options.ofi.provider.empty() || std::any_of(fits.begin(), fits.end(), is_offloading))
    return;
  const auto lost = std::find_if(refused.begin(), refused.end(),
                                 [](const Refused& one) { return is_offloading(one.fit); });
  if (lost == refused.end()) return;
  throw Error(Fault::unavailable,
              fmt::format("libfabric {}: {} removed by {}", version_text(fi_version()),
                          lost->fit.provider, lost->objection),
              fmt::format("To measure without it, name `provider` {}.", fits.front().provider));
}

bool reaches(const Fit& a, const Fit& b) {
  // Releases of libfabric may differ as long as what they send is the same.
  if (a.provider != b.provider || a.protocol != b.protocol ||
      a.protocol_version != b.protocol_version || a.addr_format != b.addr_format) {
    return false;
  }
  // IP packets are routed between fabrics; for the rest the name is what tells
  // efa from efa-direct, and one InfiniBand subnet from another.
  return a.fabric == b.fabric || !a.source.empty();
}

std::string names_of(const Offer& offer) {
  std::vector<std::string> names;
  for (const Fit& fit : offer.fits) {
    std::string name = fmt::format("{} (protocol {}, version {})", fit.provider, fit.protocol,
                                   fit.protocol_version);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Match {
  const Fit* client = nullptr;
  const Fit* server = nullptr;
};

/// The best pair: by rank, then in one fabric rather than across, then by the
/// order of the offers.
Match best_match(const Offer& client, const Offer& server, std::string_view wanted) {
  Match best;
  auto best_key = std::tuple(kPreferred.size(), true);
  for (const Fit& a : client.fits) {
    const auto place = rank(a, wanted);
    if (!place.has_value()) continue;
    for (const Fit& b : server.fits) {
      const auto key = std::tuple(*place, a.fabric != b.fabric);
      if (!reaches(a, b) || key >= best_key) continue;
      best = {&a, &b};
      best_key = key;
    }
  }
  return best;
}

std::string reason(const Match& match, std::string_view wanted) {
  const Fit& fit = *match.client;
  return fmt::format(
      "{} on {}{}{}: {}", fit.provider, fit.domain, fit.source.empty() ? "" : " ", fit.source,
      wanted.empty() ? "first of efa, verbs, other RDMA and TCP that both sides have" : "as named");
}

/// Messages over connected endpoints, as datagrams.
constexpr std::string_view kLayered = ";ofi_rxm";

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  const std::uint64_t value = std::strtoull(text, nullptr, 10);
  return value != 0 ? value : otherwise;
}

/// What ofi_rxm has for each endpoint: receive buffers that are posted from the start, and some to
/// send from, by the thousand. Source: fi_rxm(7).
std::uint64_t layered_buffers() {
  constexpr std::uint64_t kBuffer = 16384;
  constexpr std::uint64_t kHeader = 512;
  constexpr std::uint64_t kAtOnce = 1024;
  const std::uint64_t bytes = setting("FI_OFI_RXM_BUFFER_SIZE", kBuffer) + kHeader;
  return ((rxm_receives() + kAtOnce - 1) / kAtOnce + 1) * kAtOnce * bytes;
}

/// What efa has for each endpoint: a packet with its record for each entry of its queues, which are
/// as large as the provider makes them, and packets for what comes too early. efa-direct has the
/// records alone. Source: efa_rdm_ep_create_buffer_pools() of libfabric 1.18 to 2.6.
std::uint64_t efa_buffers(const fi_info& info) {
  constexpr std::uint64_t kRecords = 1024;  // of a packet and of an operation
  constexpr std::uint64_t kEarly = 1024 + 64 + 256;
  constexpr std::uint64_t kRest = std::uint64_t{16} << 20;  // of peers, shared memory, huge pages
  constexpr std::uint64_t kUsualPacket = 9000;
  const bool told = info.nic != nullptr && info.nic->link_attr != nullptr;
  const std::uint64_t packet =
      told && info.nic->link_attr->mtu != 0 ? info.nic->link_attr->mtu : kUsualPacket;
  const std::uint64_t entries = info.tx_attr->size + info.rx_attr->size;
  if (std::string_view(info.fabric_attr->name) != "efa") return entries * kRecords;
  return (entries + kEarly) * (packet + kRecords) + kRest;
}

/// What cxi has for each endpoint: buffers for what comes before its receive, more of them as they
/// fill, and as many events as the largest of its queues. Source: fi_cxi(7), cxip_evtq_init(),
/// cxip_oflow_bufpool_init() and cxip_req_bufpool_init() of libfabric 2.6, which has the largest.
std::uint64_t cxi_buffers(const fi_info& info, const EndpointRequest& request) {
  constexpr std::uint64_t kBuffer = std::uint64_t{12} << 20;
  constexpr std::uint64_t kPosted = 3;
  constexpr std::uint64_t kRequests = 6;
  constexpr std::uint64_t kEvent = 64 + 384;  // and the provider's record of its operation
  constexpr std::uint64_t kRest = std::uint64_t{8} << 20;  // huge pages of two queues of events
  const std::uint64_t posted = setting("FI_CXI_OFLOW_BUF_MIN_POSTED", kPosted);
  const std::uint64_t cached = setting("FI_CXI_OFLOW_BUF_MAX_CACHED", 3 * posted);
  std::uint64_t bytes = std::max(posted, cached) * setting("FI_CXI_OFLOW_BUF_SIZE", kBuffer);
  const char* const matching = std::getenv("FI_CXI_RX_MATCH_MODE");
  if (matching != nullptr && std::string_view(matching) != "hardware") {
    bytes +=
        setting("FI_CXI_REQ_BUF_MIN_POSTED", kRequests) * setting("FI_CXI_REQ_BUF_SIZE", kBuffer);
  }
  const std::uint64_t completions = completions_of(request);
  const std::uint64_t events = 2 * std::max<std::uint64_t>(info.tx_attr->size, completions) +
                               2 * std::max<std::uint64_t>(info.rx_attr->size, completions);
  return bytes + events * kEvent + kRest;
}

/// What other back ends have and this one does not: named, and not ignored.
void refuse_what_is_not_here(const EndpointRequest& request) {
  static constexpr std::array<std::string_view, 2> kTaken{"events", "memory"};
  refuse_lack(kRow.name, lack_of_service(request, kRow.services));
  Lack lack{.what = {}, .who = "verbs"};
  if (request.options.post_list > 1) {
    lack.what = "post lists";
  } else if (request.options.verbs.rdma_cm) {
    lack.what = "`rdma_cm`; `service` msg connects by the provider's own";
  }
  refuse_lack(kRow.name, lack);
  refuse_lack(kRow.name, lack_of(request, kRow.name, kTaken));
  const bool on_gpu = request.memory.starts_with("cuda");
  if (request.memory != "host" && !on_gpu) {
    lack.what = "memory but the host's and a GPU's";
  } else if (on_gpu && request.options.gpu_mapping != memory::GpuMapping::automatic) {
    lack.what = "choice of `gpu_mapping`: providers have one of their own";
  }
  refuse_lack(kRow.name, lack);
}

}  // namespace

std::string offer(const EndpointRequest& request) {
  refuse_what_is_not_here(request);
  Offer offer{.host = host_identity(), .fits = {}};
  std::vector<Refused> refused;
  std::vector<Found> found = find_fits(request, &refused);
  const memory::Request memory = memory::parse_request(request.memory);
  sort_by_distance(found, [&](const fi_info& info) {
    return memory::distance_to_gpu(memory, nic_of(info)).value_or(PciDistance::unknown);
  });
  for (Found& one : found) offer.fits.push_back(std::move(one.fit));
  if (offer.fits.empty()) throw explain_no_fit(request);
  refuse_to_fall_back(request, offer.fits, refused);
  return write_offer(offer);
}

Choice choose(const EndpointRequest& request, std::string_view client_offer,
              std::string_view server_offer) {
  const Offer client = read_offer(client_offer);
  const Offer server = read_offer(server_offer);
  const Match match = best_match(client, server, request.options.ofi.provider);
  if (match.client == nullptr) {
    throw Error(Fault::unavailable,
                fmt::format("no libfabric provider in common{}: the client has {}; the server "
                            "has {}",
                            request.options.ofi.provider.empty()
                                ? ""
                                : " named '" + request.options.ofi.provider + "'",
                            names_of(client), names_of(server)),
                "Name one that both have by `provider`, or use `backend` verbs.");
  }
  if (match.client->provider == kSharedMemory && client.host != server.host) {
    throw Error(Fault::unavailable,
                fmt::format("provider 'shm' reaches only processes of one "
                            "host: the client is on '{}', "
                            "the server on '{}'",
                            client.host, server.host),
                "Leave out `provider`, or name a network's.");
  }
  log_line([&] {
    return fmt::format("libfabric: the client has {}; the server has {}; chosen: {}",
                       names_of(client), names_of(server),
                       reason(match, request.options.ofi.provider));
  });
  return {.client = write_fit(*match.client),
          .server = write_fit(*match.server),
          .reason = reason(match, request.options.ofi.provider)};
}

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> all;
  for (const Found& found : find_fits({})) {
    const Fit& fit = found.fit;
    auto known = std::find_if(all.begin(), all.end(), [&](const DeviceInfo& device) {
      // An IP provider has an entry for each address; efa's fabrics are two ways to use a device.
      return device.provider == fit.provider && device.name == fit.domain &&
             (!fit.source.empty() || device.details.front().second == fit.fabric);
    });
    if (known == all.end()) {
      const bool down = found.info->nic != nullptr && found.info->nic->link_attr != nullptr &&
                        found.info->nic->link_attr->state == FI_LINK_DOWN;
      all.push_back({.backend = std::string(kRow.name),
                     .name = fit.domain,
                     .provider = fit.provider,
                     .state = down ? "down" : "active",
                     .details = {{"fabric", fit.fabric}, {"address", fit.source}}});
    } else if (!fit.source.empty()) {
      known->details.back().second += ", " + fit.source;
    }
  }
  return all;
}

Footprint footprint(const EndpointRequest& request, std::string_view choice) {
  // As measured of libfabric 1.17 and 2.1: tests/integration/limits.py compares.
  constexpr std::uint64_t kContext = 384;  // of ours, of the provider, and a completion
  constexpr std::uint64_t kEndpoint = 2 << 20;
  constexpr std::uint64_t kDescriptors =
      7;  // of fabric, domain and completion queue, and Accepted's
  const std::string provider = read_fit(choice).provider;
  const bool layered = provider.ends_with(kLayered);
  // libfabric 2 gives each operation of tcp a buffer, of a pool that grows by 1,024
  // (xnet_alloc_xfer()).
  const bool buffered = provider.starts_with("tcp") && FI_MAJOR(fi_version()) >= 2;
  const std::uint64_t of_operation = buffered ? 18 << 10 : kContext;
  std::uint64_t of_queue_pair = std::uint64_t{buffered ? 20U : 1U} << 20;
  if (provider == kSharedMemory) of_queue_pair = std::uint64_t{10} << 20;
  if (layered) of_queue_pair += layered_buffers();
  if (core_of(provider) == "efa") of_queue_pair += efa_buffers(*chosen_info(request, choice));
  if (core_of(provider) == "cxi")
    of_queue_pair += cxi_buffers(*chosen_info(request, choice), request);
  return {
      .memory = kEndpoint + request.options.queue_pairs *
                                (of_queue_pair + std::uint64_t{2} * request.depth * of_operation +
                                 request.receives * kContext),
      .descriptors =
          kDescriptors + std::uint64_t{layered ? 10U : 2U} * request.options.queue_pairs};
}

void begin() noexcept {
  try {
    rxm_receives();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // Without libfabric: offer() says so to who wants it.
  }
}

}  // namespace rdmabench::inline v1::transport::ofi
