// What the status of a work completion means, in plain words.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

namespace rdmabench::verbs {

struct StatusText {
  std::string_view name;     ///< "IBV_WC_RETRY_EXC_ERR"
  std::string_view meaning;  ///< what happened
  std::string_view causes;   ///< likely ones, the likeliest first; one sentence or more
  std::string_view remedy;   ///< what to look at or to try; whole sentences, or ""
};

/// The statuses of ibv_wc_status, one after the other; a name, a meaning and more for each.
inline constexpr int kStatuses = IBV_WC_TM_RNDV_INCOMPLETE + 1;

/// Source: ibv_poll_cq(3), InfiniBand Architecture Specification volume 1, 11.6.2.
StatusText explain(ibv_wc_status status) noexcept;

/// "the peer did not acknowledge ... (IBV_WC_RETRY_EXC_ERR = 12, vendor error 0x81). CAUSES
/// REMEDY".
std::string to_text(const ibv_wc& failed);

}  // namespace rdmabench::verbs
