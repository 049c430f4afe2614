#include "rdmabench/memory/buffer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rdmabench::inline v1::memory {
namespace {

std::vector<std::byte> filled(std::size_t size, std::uint8_t tag) {
  std::vector<std::byte> message(size);
  fill_pattern(message, tag);
  return message;
}

TEST(Pattern, MatchesItselfAtEverySize) {
  for (std::size_t size = 0; size < 70; ++size) {
    EXPECT_EQ(find_mismatch(filled(size, 7), 7), std::nullopt) << size;
  }
}

TEST(Pattern, FindsAnySingleWrongByte) {
  for (std::size_t size : {1U, 7U, 8U, 9U, 64U, 65U}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<std::byte> message = filled(size, 200);
      message[at] ^= std::byte{1};
      EXPECT_EQ(find_mismatch(message, 200), at) << size;
    }
  }
}

TEST(Pattern, SeesTwoWordsThatChangedPlaces) {
  std::vector<std::byte> message = filled(64, 3);
  for (std::size_t i = 0; i < 8; ++i) std::swap(message[8 + i], message[32 + i]);
  EXPECT_EQ(find_mismatch(message, 3), 8U);
}

TEST(Pattern, EndsInItsTagSoThatMessagesDiffer) {
  for (int tag = 0; tag < 256; ++tag) {
    const auto message = filled(33, static_cast<std::uint8_t>(tag));
    EXPECT_EQ(message.back(), std::byte(tag));
    EXPECT_NE(find_mismatch(message, static_cast<std::uint8_t>(tag + 1)), std::nullopt);
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::memory
