#include "transport/ofi/gpu_memory.h"

#include <fmt/format.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sys/uio.h>

#include <cstdlib>
#include <string_view>

#include "fabric_abi.h"
#include "fabric_error.h"
#include "fits.h"
#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

constexpr std::uint64_t kTrialKey = 99;

void add(std::string& reasons, std::string_view route, std::string_view reason) {
  reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", route, reason);
}

/// Some do not look at FI_MR_DMABUF and read the iovec that lies in the same place: they may
/// succeed with the descriptor as an address. ofi_rxm gives that to a copying library
/// (rxm_mr_regattr()). By address all of them register.
bool takes_dma_buf(std::string_view provider) {
  return provider == "efa" || provider == "verbs";
}

/// Why a route does not work, or "".
std::string obstacle(fid_domain& domain, const fi_info& info, memory::Buffer& memory,
                     const MemoryRoute& route) {
  if (route.dma_buf && !takes_dma_buf(info.fabric_attr->prov_name)) {
    return "dma-bufs are given to efa and verbs alone";
  }
  if (route.dma_buf && api_version() < kDmaBufSince) {
    return fmt::format("libfabric {} has no FI_MR_DMABUF (from {} on)", version_text(fi_version()),
                       version_text(kDmaBufSince));
  }
  try {
    if (route.dma_buf) memory.gpu()->export_dma_buf(memory::GpuMapping::automatic);
  } catch (const Error& error) {
    return error.what();
  }
  Fid<fid_mr> trial;
  const int result = register_memory(domain, memory, route, FI_SEND | FI_RECV, kTrialKey, trial);
  return result == 0 ? "" : fmt::format("fi_mr_regattr: {}", fabric_error_text(-result));
}

}  // namespace

std::string MemoryRoute::text() const {
  return !hmem ? "staged" : dma_buf ? "FI_HMEM by dma-buf" : "FI_HMEM";
}

int register_memory(fid_domain& domain, memory::Buffer& memory, const MemoryRoute& route,
                    std::uint64_t access, std::uint64_t key, Fid<fid_mr>& registered) {
  const iovec piece{memory.data(), memory.size()};
  WithRoom<fi_mr_attr> with_room;
  fi_mr_attr& attributes = with_room.known;
  attributes.mr_iov = &piece;
  attributes.iov_count = 1;
  attributes.access = access;
  attributes.requested_key = key;
  std::uint64_t flags = 0;
  if (route.hmem) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = memory.gpu()->device().ordinal;
  }
  DmaBuf dma_buf{};
  if (route.dma_buf) {
    dma_buf = {.fd = memory.dma_buf(),
               .offset = memory.dma_buf_offset(),
               .length = memory.size(),
               .base = memory.data() - memory.dma_buf_offset()};
    attributes.mr_iov = reinterpret_cast<const iovec*>(&dma_buf);  // the flag says which it is
    flags |= kDmaBufFlag;
  }
  fid_mr* registration = nullptr;
  const int result = fi_mr_regattr(&domain, &attributes, flags, &registration);
  if (result == 0) registered.reset(registration);
  return result;
}

std::string short_message_obstacle(const fi_info& info) {
  constexpr std::string_view kMellanox = "0x02c9";  // ibv_device_attr::vendor_id, as text
  if (std::string_view(info.fabric_attr->prov_name).find("verbs") == std::string_view::npos) {
    return "";
  }
  const char* vendor = nullptr;
  if (info.nic != nullptr && info.nic->device_attr != nullptr) {
    vendor = info.nic->device_attr->vendor_id;
  }
  if (vendor != nullptr && vendor != kMellanox) return "";
  const char* const setting = std::getenv("MLX5_SCATTER_TO_CQE");
  if (setting != nullptr && std::string_view(setting) == "0") return "";
  return fmt::format(
      "libmlx5 copies short messages of provider {} by the processor: start both programs with "
      "MLX5_SCATTER_TO_CQE=0 in their environment, or take `backend` verbs",
      info.fabric_attr->prov_name);
}

void ask_peer_to_peer(fid_ep& endpoint, const fi_info& info, MemoryRoute& route) {
  int required = FI_HMEM_P2P_REQUIRED;
  const int result =
      fi_setopt(&endpoint.fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &required, sizeof required);
  if (result == 0) {
    route.peer_to_peer = "required, and the provider of this side agrees; the peer's is not asked";
    return;
  }
  const std::string reason = fabric_error_text(-result);
  route.peer_to_peer =
      fmt::format("not promised ({}): the provider may copy through the host", reason);
  if (core_of(info.fabric_attr->prov_name) != "efa") return;
  route.refused = fmt::format(
      "FI_HMEM: provider {} on {} refuses FI_HMEM_P2P_REQUIRED ({}): its device does not reach the "
      "GPU, and it copies by CUDA",
      info.fabric_attr->prov_name, info.domain_attr->name, reason);
}

MemoryRoute find_route(fid_domain& domain, const fi_info& info, memory::Buffer& memory,
                       const memory::FailedRoutes& failed) {
  MemoryRoute route;
  route.gpu = true;
  if ((info.caps & FI_HMEM) == 0) {
    add(route.refused, "FI_HMEM",
        fmt::format("provider {} on {} does not offer it", info.fabric_attr->prov_name,
                    info.domain_attr->name));
    return route;
  }
  if (const std::string obstacle = short_message_obstacle(info); !obstacle.empty()) {
    add(route.refused, "FI_HMEM", obstacle);
    return route;
  }
  for (const bool dma_buf : {true, false}) {
    route.hmem = true;
    route.dma_buf = dma_buf;
    const auto before = failed.find(route.text());
    const std::string reason =
        before == failed.end()
            ? obstacle(domain, info, memory, route)
            : fmt::format("it registered, and the transfer to verify it failed: {}",
                          before->second);
    if (reason.empty()) return route;
    add(route.refused, route.text(), reason);
  }
  route.hmem = route.dma_buf = false;
  return route;
}

}  // namespace rdmabench::inline v1::transport::ofi
