// ibv_wr_flush() for tests, where the libibverbs of this machine is older than it. Included before
// what posts.
#pragma once

#include <concepts>

#include "fake_verbs.h"

/// One that libibverbs declares is no template, and so goes first.
template <std::same_as<ibv_qp_ex> Queue>
void ibv_wr_flush(Queue* queue, std::uint32_t key, std::uint64_t address, std::size_t length,
                  std::uint8_t type, std::uint8_t level) {
  rdmabench::fake_verbs::post_flush(queue, key, address, length, type, level);
}
