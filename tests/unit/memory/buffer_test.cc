#include "rdmabench/memory/buffer.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::memory {
namespace {

TEST(Buffer, IsZeroedAndPageAligned) {
  const Buffer buffer(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
  for (const std::byte value : buffer.bytes()) EXPECT_EQ(value, std::byte{0});
}

TEST(Buffer, MovesItsPages) {
  Buffer first(100);
  std::byte* pages = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), pages);
  Buffer third(200);
  third = std::move(second);
  EXPECT_EQ(third.data(), pages);
  EXPECT_EQ(third.size(), 100U);
}

TEST(Buffer, OfNothingOrOfMoreThanThereIsIsRefused) {
  EXPECT_THROW(Buffer(0), Error);
  try {
    Buffer(std::uint64_t{1} << 62);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ENOMEM);
  }
}

TEST(SlotStride, IsWholeCacheLines) {
  EXPECT_EQ(slot_stride(1), 64U);
  EXPECT_EQ(slot_stride(64), 64U);
  EXPECT_EQ(slot_stride(65), 128U);
}

}  // namespace
}  // namespace rdmabench::inline v1::memory
