// Which GPU a rank uses, and that no two ranks share one by mistake.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"

namespace rdmabench::inline v1::collective::nccl {

/// What each rank tells the others.
struct RankInfo {
  std::string host;     ///< gethostname(2) and the boot id: two hosts may have one name
  std::string host_id;  ///< NCCL_HOSTID: NCCL treats different ones as different hosts
  std::string pci;      ///< of its GPU; "" until it is chosen
};

std::string to_text(const RankInfo& info);
/// Parses another rank's text. Throws Error(failed) for an invalid one.
RankInfo parse_rank_info(std::string_view text);

/// That of this process, still without a GPU.
RankInfo this_rank();

/// The number of ranks before `rank` on its host.
std::uint32_t local_rank(const std::vector<RankInfo>& ranks, std::uint32_t rank);

/// The GPU of the rank with this number on its host, among those that this process sees: that
/// number, or the only one there is, because a launcher that shows each process one GPU (Slurm's
/// --gpus-per-task, Kubernetes, CUDA_VISIBLE_DEVICES) has chosen already. Throws Error(usage).
gpu::DeviceInfo device_of(std::uint32_t local, const std::vector<gpu::DeviceInfo>& visible);

/// Throws Error(usage) that names two ranks sharing a GPU, which NCCL refuses, and how to allow it.
/// `many_allowed`: NCCL_MULTI_RANK_GPU_ENABLE of 2.30 and newer is set.
void check_distinct(const std::vector<RankInfo>& ranks, bool many_allowed);

}  // namespace rdmabench::inline v1::collective::nccl
