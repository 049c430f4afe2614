// The position-dependent pattern that validation writes and checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::memory {

/// Fills a message. Every byte depends on `tag` and on its position, so that a missing, stale or
/// moved byte and a byte of another message are detected. The last byte is `tag`, so it differs
/// between messages of different tags.
void fill_pattern(std::span<std::byte> message, std::uint8_t tag) noexcept;

/// The position of the first wrong byte of a message; nothing if all bytes are right.
std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> message,
                                           std::uint8_t tag) noexcept;

}  // namespace rdmabench::inline v1::memory
