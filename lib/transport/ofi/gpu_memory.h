// A GPU's memory by libfabric's FI_HMEM.
#pragma once

#include <cstdint>
#include <string>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/ofi/objects.h"

namespace rdmabench::inline v1::transport::ofi {

/// How the memory of an endpoint is known to its provider.
struct MemoryRoute {
  bool gpu = false;          ///< messages lie in a GPU's memory, or would but for `staged`
  bool hmem = false;         ///< registered as FI_HMEM_CUDA
  bool dma_buf = false;      ///< ... by its dma-buf (FI_MR_DMABUF)
  std::string refused;       ///< the routes before the one taken, each with its reason
  std::string peer_to_peer;  ///< what the provider says of FI_HMEM_P2P_REQUIRED

  /// "FI_HMEM by dma-buf", "FI_HMEM", "staged".
  std::string text() const;
};

/// fi_mr_regattr(3) of all of `memory` by that route; the handle is left empty on an error, which
/// is the result.
int register_memory(fid_domain& domain, memory::Buffer& memory, const MemoryRoute& route,
                    std::uint64_t access, std::uint64_t key, Fid<fid_mr>& registered);

/// Why FI_HMEM is not used of a provider that offers it, or "": provider verbs of an mlx5 device
/// makes queue pairs whose library copies short messages to their address by the processor, which
/// must not touch a GPU's, unless the environment has MLX5_SCATTER_TO_CQE=0. Source: libfabric 2.6,
/// prov/verbs/src/verbs_ep.c (`sq_sig_all`, no mlx5dv_create_qp()); rdma-core 65, mlx5's verbs.c.
std::string short_message_obstacle(const fi_info& info);

/// Has the provider reach a GPU's memory peer to peer or refuse, before the endpoint is enabled;
/// `route` tells what it says. efa with interface 1.18 or newer offers FI_HMEM also where its
/// device does not reach the GPU, registers nothing then and copies by CUDA: it is `refused`. Most
/// others do not know the option. Source: efa_hmem_validate_p2p_opt(), efa_mr_reg_impl() of
/// libfabric 2.6.
void ask_peer_to_peer(fid_ep& endpoint, const fi_info& info, MemoryRoute& route);

/// Tries the routes with `memory`, a GPU's: FI_HMEM by dma-buf, FI_HMEM by address; staged where
/// neither works, is among `failed`, where `info` has no FI_HMEM at all, and where
/// short_message_obstacle() has one.
MemoryRoute find_route(fid_domain& domain, const fi_info& info, memory::Buffer& memory,
                       const memory::FailedRoutes& failed = {});

}  // namespace rdmabench::inline v1::transport::ofi
