// What the status of a work completion means, in plain words.
#pragma once

#include <infiniband/verbs.h>

#include <string>
#include <string_view>

namespace rdmabench::verbs {

struct StatusText {
  std::string_view name;     ///< "IBV_WC_RETRY_EXC_ERR"
  std::string_view meaning;  ///< what happened
  std::string_view causes;   ///< likely causes, one sentence or more
};

/// Source: ibv_poll_cq(3), InfiniBand Architecture Specification volume 1, 11.6.2.
StatusText explain(ibv_wc_status status) noexcept;

/// "the peer did not acknowledge (IBV_WC_RETRY_EXC_ERR, vendor error 0x81). Likely causes: ...".
std::string to_text(const ibv_wc& failed);

}  // namespace rdmabench::verbs
