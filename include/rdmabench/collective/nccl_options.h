// What a run over NCCL may ask of it besides the call itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmabench::collective {

/// Whether NCCL is told of the buffers beforehand, so that it can work in them directly.
enum class Registration : std::uint8_t {
  none,
  local,      ///< ncclCommRegister, since 2.19
  symmetric,  ///< ncclCommWindowRegister on every rank together, since 2.27
};
/// "none", "local", "symmetric".
std::string_view name(Registration registration) noexcept;
/// Throws Error(usage) that lists them.
Registration parse_registration(std::string_view text);

struct NcclOptions {
  /// "0", "0000:1b:00.0", "GPU-..."; "" = the GPU whose number is this rank's among those of its
  /// host.
  std::string device;
  Registration registration = Registration::none;
  bool graph = false;  ///< every operation is a launch of a CUDA graph that was captured once
  std::int32_t cta_policy = -1;  ///< 0..2, NCCL_CTA_POLICY_*, since 2.27; -1 = NCCL's own
  std::uint32_t misalign = 0;    ///< elements by which input and result lie off a boundary
  std::string network;           ///< NCCL's name of a network: "Socket", "IB"; "" = NCCL's own
};

}  // namespace rdmabench::collective
