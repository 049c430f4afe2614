#include "fits.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fabric_abi.h"
#include "fabric_error.h"
#include "rdmabench/transport/ofi/objects.h"
#include "transport/ofi/offload.h"
#include "transport/session_request.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

// efa's datagram endpoint would want FI_MSG_PREFIX besides, and is not reliable.
constexpr std::uint64_t kModes = FI_CONTEXT | FI_CONTEXT2;
constexpr int kRegistrationModes =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
constexpr int kOtherRegistrationModes = FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_HMEM;

bool always(const EndpointRequest&) {
  return true;
}

bool connected(const EndpointRequest& request) {
  return request.options.service == Service::msg;
}

bool datagram(const EndpointRequest& request) {
  return !connected(request);
}

bool needs_remote_data(const EndpointRequest& request) {
  return request.operations.any([](OperationCode code) { return traits(code).immediate; });
}

bool needs_atomics(const EndpointRequest& request) {
  return request.operations.any(is_atomic);
}

constexpr auto kRequirements = std::to_array<Requirement>({
    {"reliable-datagram endpoints (FI_EP_RDM)", datagram,
     [](fi_info& hints) { hints.ep_attr->type = FI_EP_RDM; }},
    {"connected endpoints (FI_EP_MSG)", connected,
     [](fi_info& hints) { hints.ep_attr->type = FI_EP_MSG; }},
    {"messages and one-sided operations (FI_MSG, FI_RMA)", always,
     [](fi_info& hints) { hints.caps |= FI_MSG | FI_RMA; }},
    {"atomic operations (FI_ATOMIC)", needs_atomics,
     [](fi_info& hints) { hints.caps |= FI_ATOMIC; }},
    {"no mode but FI_CONTEXT and FI_CONTEXT2", datagram,
     [](fi_info& hints) { hints.mode = kModes; }},
    // Plain verbs has a write with immediate take a receive.
    {"no mode but FI_CONTEXT, FI_CONTEXT2 and FI_RX_CQ_DATA", connected,
     [](fi_info& hints) { hints.mode = kModes | FI_RX_CQ_DATA; }},
    {"memory registration by local, virtual-address, allocated, provider-key or "
     "endpoint mode",
     datagram, [](fi_info& hints) { hints.domain_attr->mr_mode = kRegistrationModes; }},
    // The server tells its key before it has an endpoint.
    {"memory registration by local, virtual-address, allocated or provider-key mode", connected,
     [](fi_info& hints) { hints.domain_attr->mr_mode = kRegistrationModes & ~FI_MR_ENDPOINT; }},
    {"one thread for each domain (FI_THREAD_DOMAIN)", always,
     [](fi_info& hints) { hints.domain_attr->threading = FI_THREAD_DOMAIN; }},
    {"4 bytes of remote completion data (cq_data_size)", needs_remote_data,
     [](fi_info& hints) { hints.domain_attr->cq_data_size = sizeof(std::uint32_t); }},
    {"completion at delivery (FI_DELIVERY_COMPLETE)", needs_delivery,
     [](fi_info& hints) { hints.tx_attr->op_flags |= FI_DELIVERY_COMPLETE; }},
});

std::string_view text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

bool is_ip(std::uint32_t addr_format) {
  return addr_format == FI_SOCKADDR_IN || addr_format == FI_SOCKADDR_IN6 ||
         addr_format == FI_SOCKADDR;
}

/// The source address as text, "" where it is not an IP address.
std::string source_text(const fi_info& info) {
  if (!is_ip(info.addr_format) || info.src_addr == nullptr) return "";
  const auto* address = static_cast<const sockaddr*>(info.src_addr);
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET && info.src_addrlen >= sizeof(sockaddr_in)) {
    inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, text,
              sizeof text);
  } else if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, text,
              sizeof text);
  }
  return text;
}

Fit fit_of(const fi_info& info) {
  return {.provider = std::string(text_or_empty(info.fabric_attr->prov_name)),
          .domain = std::string(text_or_empty(info.domain_attr->name)),
          .fabric = std::string(text_or_empty(info.fabric_attr->name)),
          .source = source_text(info),
          .protocol = info.ep_attr->protocol,
          .protocol_version = info.ep_attr->protocol_version,
          .addr_format = info.addr_format};
}

/// Providers over the kernel's IP stack: on which of the machine's addresses
/// they work is ours to say.
bool is_kernel_ip(const Fit& fit) {
  const std::string_view core = core_of(fit.provider);
  return is_ip(fit.addr_format) && (core == "tcp" || core == "net" || core == "udp");
}

bool wanted(const Fit& fit, const EndpointRequest& request) {
  return refusal_of(fit.provider).empty() &&
         is_provider(fit.provider, request.options.ofi.provider) &&
         is_domain(fit.domain, request.device) &&
         (request.fabric.empty() || fit.fabric == request.fabric);
}

/// Unreliable datagrams made reliable. Its 1.17 gives no result for an atomic that is the first
/// message to a peer, and crashes at its answer.
bool fails_atomics(std::string_view provider) {
  return provider.ends_with(";ofi_rxd");
}

/// Why a server offers this provider only where its operator names it. ofi_rxm listens on a port
/// and believes what whoever connects there writes: with 1.17 one packet of a stranger ends this
/// process. So does, up to 2.3, a peer that dies within a write with immediate. A peer that is
/// killed within a call of shm or sm2 leaves this side spinning. udp sends to whom the peer names.
std::string_view danger_to_server(std::string_view provider) {
  const std::string_view core = core_of(provider);
  if (core == "udp") return "datagrams, which reach a host that did not agree to receive them";
  if (core == "shm" || core == "sm2")
    return "locks in shared memory, which a client that is killed keeps";
  if (provider == "tcp;ofi_rxm" || provider == "net;ofi_rxm") {
    return "ofi_rxm, through which anyone can end a server with the sessions of all others";
  }
  return "";
}

/// Both say by cq_data_size that they could. cxi refuses the flag of fi_writemsg(3); from 2.5 on it
/// takes it with FI_CXI_ENABLE_WRITEDATA, which is not used. opx up to 2.0 ignores it.
bool keeps_writes_from_target(std::string_view provider) {
  return provider == "cxi" || (provider == "opx" && fi_version() < FI_VERSION(2, 1));
}

/// It has a cq_data_size and no function that sends any: fi_senddata(3), fi_injectdata(3) and
/// fi_inject_writedata(3) say -FI_ENOSYS, and fi_writemsg(3) does not look at the data.
bool sends_no_data(std::string_view provider) {
  return provider == "lpp";
}

/// The attributes give the limit of all operations that are asked for; for efa-direct that of a
/// write, where a send takes one packet. Without FI_RMA it tells that. No other is asked: a machine
/// has many entries, and each question takes libfabric milliseconds.
std::uint64_t largest_message(const fi_info& entry, OperationSet operations) {
  const std::uint64_t any = entry.ep_attr->max_msg_size;
  if (!operations.any(is_two_sided) || text_or_empty(entry.fabric_attr->name) != kDeviceAlone) {
    return any;
  }
  const Info sends = refined(entry, [](fi_info& hints) {
    hints.caps = FI_MSG;
    hints.tx_attr->caps = hints.rx_attr->caps = 0;
    hints.ep_attr->max_msg_size = 0;
  });
  return sends != nullptr ? std::min<std::uint64_t>(any, sends->ep_attr->max_msg_size) : any;
}

/// Whether a provider that has FI_ATOMIC has this one on 8 bytes too: `net` of 1.17 promises it and
/// has none. Opens its domain to ask.
bool has_atomic(fi_info& info, OperationCode operation) {
  if (fails_atomics(text_or_empty(info.fabric_attr->prov_name))) return false;
  fid_fabric* fabric = nullptr;
  if (fi_fabric(info.fabric_attr, &fabric, nullptr) != 0) return false;
  const Fid<fid_fabric> fabric_owner(fabric);
  fid_domain* domain = nullptr;
  if (fi_domain(fabric, &info, &domain, nullptr) != 0) return false;
  const Fid<fid_domain> domain_owner(domain);
  fi_atomic_attr attributes{};
  return fi_query_atomic(domain, FI_UINT64, atomic_op(operation), &attributes,
                         traits(operation).conditional ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC) ==
             0 &&
         attributes.count >= 1;
}

}  // namespace

bool needs_delivery(const EndpointRequest& request) {
  return request.options.ofi.delivery || request.delivery;
}

std::string objection(fi_info& entry, const EndpointRequest& request) {
  const std::string_view provider = text_or_empty(entry.fabric_attr->prov_name);
  const auto& allowed = session_of(request).allowed_peers;
  if (allowed && !allowed->names_provider(provider)) {
    const std::string_view danger = danger_to_server(provider);
    if (!danger.empty()) {
      return fmt::format(
          "{} (a server with `allow_providers` {}, as 'rdmabench serve --allow-provider {}', accepts "
          "that)",
          danger, core_of(provider), core_of(provider));
    }
  }
  if (const int left = threads_left_closing();
      core_of(provider) == "efa" && left >= kMostLeftClosing) {
    return fmt::format(
        "{} endpoints of efa in this process whose fi_close() has not returned (start it again)",
        left);
  }
  if (needs_remote_data(request) && sends_no_data(provider)) {
    return "remote completion data, whatever cq_data_size says";
  }
  if (request.operations.has(OperationCode::write_imm) && keeps_writes_from_target(provider)) {
    return "writes with remote completion data, whatever cq_data_size says (`target_idle` times the "
           "completion of a write instead)";
  }
  if (const std::uint64_t limit = largest_message(entry, request.operations);
      request.max_size > limit) {
    return fmt::format("messages of {} bytes (fabric {} takes {}: lower `sizes`)", request.max_size,
                       text_or_empty(entry.fabric_attr->name), limit);
  }
  std::string lacking;
  request.operations.any([&](OperationCode code) {
    if (!is_atomic(code) || has_atomic(entry, code)) return false;
    lacking = fmt::format("{} of 8 bytes (fi_query_atomic)", name(code));
    return true;
  });
  return lacking;
}

std::uint32_t api_version() {
  return std::min(kNewestAsked, fi_version());
}

std::string_view refusal_of(std::string_view provider) {
  if (provider == "sockets") return "is deprecated, and takes milliseconds for a message";
  // lnx; up to 2.2 it has the names of what it links: "shm+cxi".
  if (provider == "lnx" || provider.find('+') != std::string_view::npos) {
    return "links other providers, which was never tried";
  }
  return "";
}

std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version));
}

std::span<const Requirement> requirements() {
  return kRequirements;
}

Info open_hints() {
  Info hints(fi_allocinfo());
  if (hints == nullptr) throw Error(Fault::failed, "fi_allocinfo", "Free memory.", ENOMEM);
  hints->mode = kModes | FI_MSG_PREFIX | FI_ASYNC_IOV | FI_RX_CQ_DATA;
  hints->domain_attr->mr_mode = kRegistrationModes | kOtherRegistrationModes;
  return hints;
}

Info hints_for(const EndpointRequest& request) {
  Info hints = open_hints();
  for (const Requirement& requirement : kRequirements) {
    if (requirement.applies(request)) requirement.add(*hints);
  }
  return hints;
}

Info get_info(const fi_info& hints, const char* node, std::uint64_t flags) {
  fi_info* list = nullptr;
  const int result = fi_getinfo(api_version(), node, nullptr, flags, &hints, &list);
  if (result == -FI_ENODATA) return nullptr;
  if (result != 0) {
    throw_fabric_error(Fault::failed, fmt::format("fi_getinfo({})", node == nullptr ? "" : node),
                       result, "FI_LOG_LEVEL=info in the environment shows why.");
  }
  for (fi_info* entry = list; entry != nullptr; entry = entry->next) {
    entry->fabric_attr->fabric = nullptr;
    entry->domain_attr->domain = nullptr;
  }
  return Info(list);
}

bool is_same(const fi_info& a, const fi_info& b) {
  const auto is = [](const char* one, const char* other) {
    return text_or_empty(one) == text_or_empty(other);
  };
  return is(a.fabric_attr->prov_name, b.fabric_attr->prov_name) &&
         is(a.fabric_attr->name, b.fabric_attr->name) &&
         is(a.domain_attr->name, b.domain_attr->name);
}

bool is_provider(std::string_view provider, std::string_view wanted) {
  constexpr std::string_view kLayer = ";ofi_rxm";
  return wanted.empty() || provider == wanted ||
         (provider.size() == wanted.size() + kLayer.size() && provider.starts_with(wanted) &&
          provider.ends_with(kLayer));
}

bool is_domain(std::string_view domain, std::string_view wanted) {
  return wanted.empty() || domain == wanted || domain == fmt::format("{}-rdm", wanted);
}

std::vector<Found> find_fits(const EndpointRequest& request, std::vector<Refused>* refused) {
  rxm_receives();  // begins libfabric
  const Info hints = hints_for(request);
  std::vector<Found> found;
  const auto keep = [&](const Info& list, auto&& belongs) {
    for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
      Fit fit = fit_of(*info);
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](const Found& other) { return other.fit == fit; });
      if (known || !wanted(fit, request) || !belongs(fit)) continue;
      Info copy(fi_dupinfo(info));
      if (copy == nullptr) throw Error(Fault::failed, "fi_dupinfo", "Free memory.", ENOMEM);
      std::string reason = objection(*copy, request);
      if (reason.empty()) {
        found.push_back({std::move(fit), std::move(copy)});
      } else if (refused != nullptr) {
        refused->push_back({std::move(fit), std::move(reason)});
      }
    }
  };
  const bool bound = !request.local_ip.empty();
  if (bound) {
    keep(get_info(*hints, request.local_ip.c_str(), FI_SOURCE),
         [](const Fit& fit) { return is_ip(fit.addr_format); });
  }
  // An RDMA provider with IP addresses may have its own, on another network
  // than the control connection.
  keep(get_info(*hints), [&](const Fit& fit) { return !bound || !is_kernel_ip(fit); });
  return found;
}

void sort_by_distance(std::vector<Found>& found,
                      const std::function<PciDistance(const fi_info&)>& distance) {
  using Placed = std::pair<PciDistance, Found>;
  std::vector<Placed> placed;
  for (Found& one : found) {
    const PciDistance away = distance(*one.info);
    placed.emplace_back(away, std::move(one));
  }
  std::stable_sort(placed.begin(), placed.end(),
                   [](const Placed& a, const Placed& b) { return a.first < b.first; });
  found.clear();
  for (Placed& one : placed) found.push_back(std::move(one.second));
}

}  // namespace rdmabench::inline v1::transport::ofi
