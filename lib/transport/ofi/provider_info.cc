#include "provider_info.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/pci_path.h"
#include "base/port_rate.h"
#include "fabric_error.h"
#include "fits.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

namespace fs = std::filesystem;

Info find_chosen(const EndpointRequest& request, const Fit& chosen) {
  for (Found& found : find_fits(request)) {
    if (found.fit == chosen) return std::move(found.info);
  }
  throw Error(Fault::failed,
              fmt::format("libfabric no longer offers {} on {}", chosen.provider, chosen.domain),
              "Has a device or an address of this machine changed? Try again.");
}

/// The attributes give a default that the caller may raise up to a limit that only trying tells.
Info with_queues(Info info, const EndpointRequest& request) {
  const std::size_t depth = std::max<std::size_t>(info->tx_attr->size, request.depth);
  const std::size_t receives = std::max<std::size_t>(info->rx_attr->size, request.receives);
  if (depth == info->tx_attr->size && receives == info->rx_attr->size) return info;
  Info larger = refined(*info, [&](fi_info& hints) {
    hints.tx_attr->size = depth;
    hints.rx_attr->size = receives;
  });
  if (larger != nullptr) return larger;
  throw Error(Fault::usage,
              fmt::format("a depth of {} with {} receives on provider {}", request.depth,
                          request.receives, info->fabric_attr->prov_name),
              fmt::format("It takes at most {} and {}: lower `depth`.", info->tx_attr->size,
                          info->rx_attr->size));
}

/// Providers allocate for the sizes of their queues, however few of them are used: tcp;ofi_rxm has
/// 70 MiB for each endpoint at its default. To efa they say how many packets may be under way and
/// how many buffers wait for them, and a message takes many: it keeps its own.
void ask_for_no_more(fi_info& info, const EndpointRequest& request) {
  if (core_of(info.fabric_attr->prov_name) == "efa") return;
  constexpr std::size_t kLeast = 64;  // for messages of a provider's own
  info.tx_attr->size = std::min(info.tx_attr->size, std::max<std::size_t>(request.depth, kLeast));
  info.rx_attr->size =
      std::min(info.rx_attr->size, std::max<std::size_t>(request.receives, kLeast));
}

/// A stream of writes ends with a marker that may overtake them, so their completions must mean
/// that the data is in the target's memory. Where the provider has no such level, on hardware, an
/// acknowledged write is the most there is. Source: fi_cq(3), "completion level".
Info with_completion_level(Info info, const EndpointRequest& request) {
  const bool writes = request.operations.any(is_write);
  if (request.latency || !writes) return info;
  Info delivery =
      refined(*info, [](fi_info& hints) { hints.tx_attr->op_flags |= FI_DELIVERY_COMPLETE; });
  return delivery != nullptr ? std::move(delivery) : std::move(info);
}

/// They announce directed receives and take an untagged message of any sender: `net` of 1.17, as
/// tests/unit/transport_ofi/stranger_test.cc shows; `tcp` of libfabric 2 is its successor.
bool ignores_direction(std::string_view provider) {
  return provider == "net" || provider == "tcp";
}

/// Receives that take the peer's messages alone, where the provider has them: whoever knows the
/// address may send.
Info with_directed_receives(Info info, const EndpointRequest& request) {
  if (request.options.service == Service::msg || ignores_direction(info->fabric_attr->prov_name)) {
    return info;
  }
  Info directed = refined(*info, [](fi_info& hints) { hints.caps |= FI_DIRECTED_RECV; });
  return directed != nullptr ? std::move(directed) : std::move(info);
}

bool in_gpu_memory(const EndpointRequest& request) {
  return memory::parse_request(request.memory).kind == memory::Kind::cuda;
}

/// The same provider with GPU memory, where it offers that; else as it is, and memory is staged.
Info with_gpu_memory(Info info, const EndpointRequest& request) {
  if (!in_gpu_memory(request)) return info;
  Info able = refined(*info, [](fi_info& hints) {
    hints.caps |= FI_HMEM;
    hints.domain_attr->mr_mode |= FI_MR_HMEM;
  });
  return able != nullptr ? std::move(able) : std::move(info);
}

/// Of the first active port, which is the one that the verbs provider uses.
double port_gbps(const fs::path& device) {
  int error = 0;
  for (const std::string& number : list_folder(device / "ports", error)) {
    const fs::path port = device / "ports" / number;
    if (!first_line(port / "state").ends_with(" ACTIVE")) continue;
    const std::string rate = first_line(port / "rate");
    const bool infiniband = first_line(port / "link_layer") == "InfiniBand";
    return parse_port_rate(rate) * port_data_share(rate, infiniband);
  }
  return 0;
}

double told_gbps(const fi_info& info) {
  const bool tells = info.nic != nullptr && info.nic->link_attr != nullptr;
  return tells ? static_cast<double>(info.nic->link_attr->speed) / 1e9 : 0;
}

}  // namespace

Info chosen_info(const EndpointRequest& request, std::string_view choice) {
  Info info = with_directed_receives(find_chosen(request, read_fit(choice)), request);
  info = with_completion_level(with_queues(std::move(info), request), request);
  info = with_gpu_memory(std::move(info), request);
  ask_for_no_more(*info, request);
  info->domain_attr->threading = FI_THREAD_DOMAIN;  // it names what the provider could bear
  return info;
}

/// Only a ping-pong injects: a stream counts completions, and injected messages give none. So does
/// nothing whose completions are to say something.
std::uint64_t inject_limit(const fi_info& info, const EndpointRequest& request) {
  if (!request.latency || needs_delivery(request)) return 0;
  if (in_gpu_memory(request)) return 0;  // the processor copies what it injects
  const std::uint64_t limit = info.tx_attr->inject_size;
  if (request.options.inline_limit < 0) return limit;
  return std::min<std::uint64_t>(limit, static_cast<std::uint64_t>(request.options.inline_limit));
}

std::size_t completions_of(const EndpointRequest& request) {
  constexpr std::size_t kMargin = 16;
  return request.options.queue_pairs * (2 * std::size_t{request.depth} + request.receives) +
         kMargin;
}

std::string nic_of(const fi_info& info, const std::string& root) {
  const fid_nic* const nic = info.nic;
  const bool named =
      nic != nullptr && nic->device_attr != nullptr && nic->device_attr->name != nullptr;
  // tcp's domain is a network device, and may be its folder of sysfs.
  std::string name =
      named ? nic->device_attr->name : fs::path(info.domain_attr->name).filename().string();
  if (!device_folder(name, root).empty() || nic == nullptr || nic->bus_attr == nullptr ||
      nic->bus_attr->bus_type != FI_BUS_PCI) {
    return name;
  }
  const fi_pci_attr& pci = nic->bus_attr->attr.pci;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain_id, pci.bus_id, pci.device_id,
                     pci.function_id);
}

std::string call(std::string_view name, const fi_info& info) {
  return fmt::format("{}({} on {})", name, info.fabric_attr->prov_name, info.domain_attr->name);
}

void check(int result, std::string_view name, const fi_info& info, std::string_view remedy) {
  if (result != 0) throw_fabric_error(Fault::failed, call(name, info), result, remedy);
}

std::string to_text(const void* value, fi_type type) {
  char text[512] = "";
  return fi_tostr_r(text, sizeof text, value, type);
}

double link_gbps(const fi_info& info, const std::string& root) {
  const fs::path classes = fs::path(root) / "sys/class";
  const std::string nic = nic_of(info, root);
  const double port = port_gbps(classes / "infiniband" / nic);
  const double rdma = port > 0 ? port : told_gbps(info);
  if (rdma > 0) return known_rate(rdma, core_of(info.fabric_attr->prov_name));
  const auto mbps = read_number(classes / "net" / nic / "speed");  // "-1" where unknown
  return static_cast<double>(mbps.value_or(0)) / 1e3;
}

}  // namespace rdmabench::inline v1::transport::ofi
