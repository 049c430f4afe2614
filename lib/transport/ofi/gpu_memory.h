// A GPU's memory by libfabric's FI_HMEM.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/ofi/handles.h"

namespace rdmabench::transport::ofi {

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

/// Tries the routes with `memory`, a GPU's: FI_HMEM by dma-buf, FI_HMEM by address; staged where
/// neither works, is among `failed`, or where `info` has no FI_HMEM at all.
MemoryRoute find_route(fid_domain& domain, const fi_info& info, memory::Buffer& memory,
                       std::span<const memory::FailedRoute> failed = {});

}  // namespace rdmabench::transport::ofi
