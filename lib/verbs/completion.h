// Explains the status of a work completion.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

namespace rdmabench::inline v1::verbs {

struct StatusText {
  std::string_view name;     ///< "IBV_WC_RETRY_EXC_ERR"
  std::string_view meaning;  ///< what happened
  std::string_view causes;   ///< likely causes, the likeliest first; whole sentences
  std::string_view remedy;   ///< what to check or to try; whole sentences, or ""
};

/// Number of values of ibv_wc_status that explain() knows.
inline constexpr int kStatuses = IBV_WC_TM_RNDV_INCOMPLETE + 1;

/// Source: ibv_poll_cq(3), InfiniBand Architecture Specification volume 1, 11.6.2.
StatusText explain(ibv_wc_status status) noexcept;

/// "the peer did not acknowledge ... (IBV_WC_RETRY_EXC_ERR = 12, vendor error 0x81). CAUSES
/// REMEDY".
std::string to_text(const ibv_wc& failed);

}  // namespace rdmabench::inline v1::verbs
