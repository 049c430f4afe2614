#include "device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/file.h"
#include "control/launch.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::collective::nccl {

std::string to_text(const RankInfo& info) {
  return fmt::format("{}\n{}\n{}", info.host, info.host_id, info.pci);
}

RankInfo parse_rank_info(std::string_view text) {
  constexpr std::size_t kMost = 1024;
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string_view::npos ? first : text.find('\n', first + 1);
  if (text.size() > kMost || second == std::string_view::npos) {
    throw Error(Fault::failed, "a rank sent an invalid description of its host and GPU",
                "Start the same rdmabench on every rank.");
  }
  return {std::string(text.substr(0, first)),
          std::string(text.substr(first + 1, second - first - 1)),
          std::string(text.substr(second + 1))};
}

RankInfo this_rank() {
  const char* const id = std::getenv("NCCL_HOSTID");
  RankInfo info{
      fmt::format("{} {}", control::this_host(), first_line("/proc/sys/kernel/random/boot_id")),
      id == nullptr ? "" : id, ""};
  std::replace(info.host_id.begin(), info.host_id.end(), '\n', ' ');
  return info;
}

std::uint32_t local_rank(const std::vector<RankInfo>& ranks, std::uint32_t rank) {
  const auto end = ranks.begin() + rank;
  return static_cast<std::uint32_t>(std::count_if(
      ranks.begin(), end, [&](const RankInfo& one) { return one.host == ranks[rank].host; }));
}

gpu::DeviceInfo device_of(std::uint32_t local, const std::vector<gpu::DeviceInfo>& visible) {
  if (visible.size() == 1) return visible.front();
  if (local < visible.size()) return visible[local];
  throw Error(Fault::usage,
              fmt::format("rank {} of this host has no GPU: there are {}", local, visible.size()),
              "Start fewer ranks here, or name the GPUs by `gpu`.");
}

void check_distinct(const std::vector<RankInfo>& ranks, bool many_allowed) {
  if (many_allowed) return;
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankInfo& one = ranks[i];
    const std::string host = one.host_id.empty() ? "host " + one.host : "id " + one.host_id;
    const auto [found, is_new] = first.emplace(host + '\n' + one.pci, i);
    if (is_new) continue;
    throw Error(
        Fault::usage, fmt::format("ranks {} and {} are on one GPU, {}", found->second, i, one.pci),
        "Give each rank a GPU of its own, or set NCCL_HOSTID to a different text on each, so "
        "that NCCL takes them for two hosts (docs/nccl-tests.md has the recipe).");
  }
}

}  // namespace rdmabench::inline v1::collective::nccl
