#include "rdmabench/memory/buffer.h"

#include <algorithm>
#include <cstring>

namespace rdmabench::inline v1::memory {
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
  std::byte* const to = message.data();
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= message.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = pattern_word(at / sizeof word, tag);
    std::memcpy(to + at, &word, sizeof word);
  }
  if (message.empty()) return;
  const std::uint64_t word = pattern_word(at / sizeof word, tag);
  std::memcpy(to + at, &word, message.size() - at);
  message.back() = std::byte{tag};
}

std::optional<std::uint64_t> find_mismatch(std::span<const std::byte> message,
                                           std::uint8_t tag) noexcept {
  if (message.empty()) return std::nullopt;
  const std::span<const std::byte> body = message.first(message.size() - 1);
  const std::byte* const from = body.data();
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= body.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + at, sizeof word);
    if (word != pattern_word(at / sizeof word, tag)) break;
  }
  // The word that differs, or what is left behind the last whole one.
  const std::uint64_t word = pattern_word(at / sizeof word, tag);
  const auto* const expected = reinterpret_cast<const std::byte*>(&word);
  const std::size_t length = std::min(sizeof word, body.size() - at);
  const std::byte* const wrong = std::mismatch(from + at, from + at + length, expected).first;
  if (wrong != from + at + length) return static_cast<std::uint64_t>(wrong - from);
  if (message.back() != std::byte{tag}) return message.size() - 1;
  return std::nullopt;
}

}  // namespace rdmabench::inline v1::memory
