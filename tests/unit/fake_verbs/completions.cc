// Completion queues: what is put into them, and what a poll takes and copies.
#include <algorithm>
#include <cstring>
#include <span>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {

void complete(ibv_cq* to, const Completion& completion) {
  auto& queue = *static_cast<FakeCompletionQueue*>(to);
  if (queue.entries.size() == static_cast<std::size_t>(queue.cqe)) {
    state().violations.emplace_back("completion queue overrun");
  }
  const auto owner = state().queue_pairs.find(completion.wc.qp_num);
  const bool unordered =
      owner != state().queue_pairs.end() && owner->second->kind == Kind::scalable;
  queue.entries.insert(unordered ? queue.entries.begin() : queue.entries.end(), completion);
  notify(queue);
}

namespace {

/// libmlx5's memcpy() to where the message belongs, which ends the process where that is a GPU's.
void copy_by_processor(const Completion& completion) {
  std::span<const std::byte> bytes = completion.message;
  for (const ibv_sge& piece : completion.to) {
    const std::size_t part = std::min<std::size_t>(piece.length, bytes.size());
    if (part == 0) return;
    if (gpu_bytes(piece.addr) != nullptr) {
      violate("ibv_poll_cq() copied a short message to a GPU's address");
    } else {
      std::memcpy(reinterpret_cast<void*>(piece.addr), bytes.data(), part);
    }
    bytes = bytes.subspan(part);
  }
}

}  // namespace

int poll(ibv_cq* queue, int limit, ibv_wc* completions) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::poll_cq); code != 0) return -code;
  auto& entries = static_cast<FakeCompletionQueue*>(queue)->entries;
  int taken = 0;
  for (; taken < limit && !entries.empty(); ++taken) {
    const Completion& completion = entries.front();
    const auto owner = state().queue_pairs.find(completion.wc.qp_num);
    if (owner != state().queue_pairs.end()) owner->second->sends_used -= completion.frees;
    completions[taken] = completion.wc;
    copy_by_processor(completion);
    if (completion.is_receive) {
      release_held([&](const State::HeldWrite& write) {
        return write.by_receive && write.queue_pair == completion.wc.qp_num;
      });
    }
    entries.pop_front();
  }
  return taken;
}

}  // namespace rdmabench::inline v1::fake_verbs
