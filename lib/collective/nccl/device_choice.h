// Which GPU a rank works on, and that no two ranks share one by mistake.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::collective::nccl {

/// What a rank tells the others of itself.
struct RankInfo {
  std::string host;     ///< gethostname(2) and the boot id: two of one name are not one
  std::string host_id;  ///< NCCL_HOSTID: NCCL takes ranks with different ones for different hosts
  std::string pci;      ///< of its GPU; "" while it is not chosen
};

std::string to_text(const RankInfo& info);
/// From another rank. Throws Error(failed) for what is none.
RankInfo parse_rank_info(std::string_view text);

/// Of this process, without a GPU.
RankInfo this_rank();

/// How many ranks before `rank` are on its host.
std::uint32_t local_rank(const std::vector<RankInfo>& ranks, std::uint32_t rank);

/// Throws Error(usage) that names two ranks which NCCL would refuse for sharing a GPU, with the
/// recipe that makes it work. `many_allowed`: NCCL_MULTI_RANK_GPU_ENABLE of 2.30 and newer is set.
void check_distinct(const std::vector<RankInfo>& ranks, bool many_allowed);

}  // namespace rdmabench::collective::nccl
