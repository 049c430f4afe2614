// The position-dependent pattern that --validate writes and checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rdmabench::memory {

/// Fills a message: every byte depends on `tag` and on its own position, so that a byte that is
/// missing, stale, moved within the message or from another message is seen. The last byte is `tag`
/// itself; two messages of different tags differ in it.
void fill_pattern(std::span<std::byte> message, std::uint8_t tag) noexcept;

/// Where the first wrong byte of a message is, or nothing when all are right.
std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> message,
                                           std::uint8_t tag) noexcept;

}  // namespace rdmabench::memory
