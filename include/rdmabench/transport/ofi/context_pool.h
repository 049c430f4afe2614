// The memory that a provider borrows for each operation under way.
#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdmabench::transport::ofi {

/// A provider gets a pointer to the first member, and gives it back in the completion.
struct Context {
  fi_context2 context;       ///< the larger of FI_CONTEXT and FI_CONTEXT2 serves both modes
  std::uint32_t queue_pair;  ///< whose it is
  std::uint64_t* operands;  ///< of an atomic operation: what to add or compare, and what to swap in
};

/// As many contexts as posts may be outstanding on one queue pair. Completions come back in any
/// order, so this is a stack of what is free; its emptiness is the depth limit. Source:
/// fi_getinfo(3), "mode". Thread rule: the endpoint's thread.
class ContextPool {
 public:
  /// Words of `operands` for each context.
  static constexpr std::uint32_t kOperands = 2;

  /// `operands`: kOperands words for each context, or null where the operations need none.
  ContextPool(std::uint32_t depth, std::uint32_t queue_pair, std::uint64_t* operands)
      : contexts_(depth), free_(depth), free_count_(depth) {
    for (std::uint32_t i = 0; i < depth; ++i) {
      contexts_[i].queue_pair = queue_pair;
      contexts_[i].operands = operands == nullptr ? nullptr : operands + std::size_t{kOperands} * i;
      free_[i] = &contexts_[i];
    }
  }

  bool empty() const noexcept { return free_count_ == 0; }
  std::size_t in_use() const noexcept { return contexts_.size() - free_count_; }

  /// The context that the next take() hands out: a post that is refused leaves it where it is.
  Context* top() const noexcept { return free_[free_count_ - 1]; }
  void take() noexcept { --free_count_; }
  void give_back(Context* context) noexcept { free_[free_count_++] = context; }

 private:
  std::vector<Context> contexts_;
  std::vector<Context*> free_;
  std::size_t free_count_;
};

}  // namespace rdmabench::transport::ofi
