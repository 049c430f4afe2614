#include "rdmabench/memory/pattern.h"

#include <algorithm>
#include <cstring>

namespace rdmabench::memory {
namespace {

/// Eight pattern bytes for the word at `index`: the SplitMix64 finalizer (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014), so that neighbours have nothing in
/// common.
std::uint64_t pattern_word(std::uint64_t index, std::uint8_t tag) noexcept {
  std::uint64_t z = (index << 8 | tag) + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

void fill_pattern(std::span<std::byte> message, std::uint8_t tag) noexcept {
  for (std::size_t at = 0; at < message.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(at / sizeof word, tag);
    std::memcpy(message.data() + at, &word, std::min(sizeof word, message.size() - at));
  }
  if (!message.empty()) message.back() = std::byte{tag};
}

std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> message,
                                           std::uint8_t tag) noexcept {
  if (message.empty()) return std::nullopt;
  const std::span<const std::byte> body = message.first(message.size() - 1);
  for (std::size_t at = 0; at < body.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(at / sizeof word, tag);
    const std::size_t length = std::min(sizeof word, body.size() - at);
    if (std::memcmp(body.data() + at, &word, length) == 0) continue;
    const auto* expected = reinterpret_cast<const std::byte*>(&word);
    const auto* wrong = std::mismatch(body.data() + at, body.data() + at + length, expected).first;
    return static_cast<std::uint64_t>(wrong - body.data());
  }
  if (message.back() != std::byte{tag}) return message.size() - 1;
  return std::nullopt;
}

}  // namespace rdmabench::memory
