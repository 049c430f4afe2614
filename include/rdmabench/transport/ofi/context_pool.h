// The memory that a provider borrows for each operation under way.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmabench::transport::ofi {

/// As many contexts as posts may be outstanding. Completions come back in any
/// order, so this is a stack of what is free; its emptiness is the depth limit.
/// FI_CONTEXT2 is the larger of the two modes, so one type serves providers of
/// either. Source: fi_getinfo(3), "mode". Thread rule: the endpoint's thread.
class ContextPool {
 public:
  explicit ContextPool(std::uint32_t depth) : contexts_(depth), free_(depth), free_count_(depth) {
    for (std::uint32_t i = 0; i < depth; ++i) free_[i] = &contexts_[i];
  }

  bool empty() const noexcept { return free_count_ == 0; }
  std::size_t in_use() const noexcept { return contexts_.size() - free_count_; }

  /// The context that the next take() hands out: a post that is refused leaves
  /// it where it is.
  fi_context2* top() const noexcept { return free_[free_count_ - 1]; }
  void take() noexcept { --free_count_; }
  void give_back(void* context) noexcept {
    free_[free_count_++] = static_cast<fi_context2*>(context);
  }

 private:
  std::vector<fi_context2> contexts_;
  std::vector<fi_context2*> free_;
  std::size_t free_count_;
};

}  // namespace rdmabench::transport::ofi
