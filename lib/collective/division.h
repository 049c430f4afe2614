// Groups of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::collective {

/// The ranks of each group; all of them in one where the division is empty. Throws Error(failed)
/// where it is not of `ranks` ranks, and for a group without a rank.
std::vector<std::vector<std::uint32_t>> members(const std::vector<std::uint32_t>& group_of,
                                                std::uint32_t ranks);

/// "0-3,6"
std::string range_text(const std::vector<std::uint32_t>& ranks);

/// The exchange among a group's ranks. All groups make the same calls, because all ranks' texts
/// travel each time.
class GroupExchange final : public Exchange {
 public:
  GroupExchange(Exchange& all, std::vector<std::uint32_t> ranks)
      : all_(all), ranks_(std::move(ranks)) {}
  std::vector<std::string> all_gather(std::string_view mine, Deadline deadline) override;
  std::string broadcast(std::string_view of_rank_0, Deadline deadline) override;

 private:
  Exchange& all_;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace rdmabench::inline v1::collective
