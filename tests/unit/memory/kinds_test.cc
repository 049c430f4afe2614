// Memory that has a descriptor: files, devices, dma-bufs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "../complaint.h"
#include "../folder.h"
#include "memory/mapping.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::memory {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kPage = 4096;
constexpr const char* kDriver = "/dev/udmabuf";

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(File, ThatIsNotThereIsCreatedAndLeavesNothing) {
  const Folder folder;
  const std::string path = folder.file("new");
  const std::size_t descriptors = open_descriptors();
  for (const std::uint64_t size : {kPage, 3 * kPage}) {
    const Buffer buffer({.kind = Kind::file, .path = path}, size);
    buffer.bytes().back() = std::byte{1};
    EXPECT_EQ(buffer.dma_buf(), -1);
    EXPECT_FALSE(fs::exists(path)) << "another process of that name must not meet these bytes";
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(File, ThatIsEmptyIsGrownAndWrittenTo) {
  const Folder folder;
  folder.write("empty", "");
  const std::string path = folder.file("empty");
  {
    const Buffer buffer({.kind = Kind::file, .path = path, .offset = kPage, .unaligned = 8}, 100);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kPage, 8U);
    std::memcpy(buffer.data(), "bytes", 5);
  }
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_size, 8192);
  EXPECT_GE(about.st_blocks * 512, 8192) << "a sparse file may turn out to have no room";
  EXPECT_EQ(read(path).substr(kPage + 8, 5), "bytes");
}

TEST(File, ThatIsLargeEnoughKeepsItsBytesAndItsSize) {
  const Folder folder;
  folder.write("old", std::string(3 * kPage, 'x'));
  const Buffer buffer({.kind = Kind::file, .path = folder.file("old")}, 2 * kPage);
  EXPECT_EQ(buffer.bytes()[kPage], std::byte{'x'});
  EXPECT_EQ(fs::file_size(folder.file("old")), 3 * kPage);
}

TEST(File, ThatIsTooSmallIsLeftAlone) {
  const Folder folder;
  folder.write("notes", "my notes");
  const Error error =
      complaint([&] { Buffer({.kind = Kind::file, .path = folder.file("notes")}, kPage); });
  EXPECT_EQ(error.fault(), Fault::usage);
  EXPECT_THAT(error.what(), has_all("8 bytes, but 4096", folder.file("notes")));
  EXPECT_EQ(read(folder.file("notes")), "my notes");
}

TEST(File, ThatCannotBeOpenedOrMappedSaysWhy) {
  EXPECT_EQ(complaint([] { Buffer({.kind = Kind::file, .path = "/"}, kPage); }).code(), EISDIR);
  EXPECT_EQ(complaint([] { Buffer({.kind = Kind::file, .path = "/no/such/x"}, 1); }).code(),
            ENOENT);
  const Error error = complaint([] { Buffer({.kind = Kind::file, .path = "/dev/null"}, kPage); });
  EXPECT_THAT(error.what(), has_all("mmap(", "/dev/null", "ENODEV"));
}

TEST(File, OnAFullFileSystemIsAnErrorAndNoSignal) {
  const Folder folder;
  const Request request{.kind = Kind::file, .path = folder.file("huge")};
  const Error error = complaint([&] { Buffer(request, std::uint64_t{1} << 60); });
  EXPECT_THAT(error.what(), HasSubstr("posix_fallocate("));
}

TEST(File, ADeviceThatCanBeMappedServes) {
  const Buffer buffer({.kind = Kind::file, .path = "/dev/zero"}, 2 * kPage);
  buffer.bytes().back() = std::byte{1};
  EXPECT_EQ(buffer.size(), 2 * kPage);
}

TEST(DmaBuf, HasADescriptorOrNamesTheDriverThatLacks) {
  const Request request{.kind = Kind::dmabuf, .unaligned = 64};
  const std::size_t descriptors = open_descriptors();
  if (!fs::exists(kDriver)) {
    const Error error = complaint([&] { Buffer(request, kPage); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), has_all(kDriver, "ENOENT", "CONFIG_UDMABUF"));
  } else {
    const Buffer buffer(request, kPage);
    EXPECT_GE(buffer.dma_buf(), 0);
    EXPECT_EQ(buffer.dma_buf_offset(), 64U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kPage, 64U);
    buffer.bytes().back() = std::byte{1};
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

TEST(DmaBuf, ItsPagesAreAMemfdThatCannotShrink) {
  Mapping mapping = map_dma_buf(100);
  EXPECT_EQ(mapping.bytes().size(), kPage);
  EXPECT_NE(ftruncate(mapping.memory_file.get(), 0), 0);
  mapping.bytes()[0] = std::byte{9};
  std::byte first{};
  EXPECT_EQ(pread(mapping.memory_file.get(), &first, 1, 0), 1);
  EXPECT_EQ(first, std::byte{9});
}

TEST(DmaBuf, ADriverThatIsNoneIsReported) {
  Mapping mapping = map_dma_buf(kPage);
  const Error error = complaint([&] { export_dma_buf(mapping, "/dev/null"); });
  EXPECT_THAT(error.what(), has_all("UDMABUF_CREATE(4096 bytes)", "ENOTTY"));
  EXPECT_EQ(mapping.dma_buf.get(), -1);
}

TEST(Buffer, StartsWhereItIsAskedToWithinAPage) {
  const Buffer buffer({.unaligned = 1}, kPage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kPage, 1U);
  buffer.bytes().back() = std::byte{1};
  EXPECT_EQ(buffer.size(), kPage);
  EXPECT_EQ(complaint([] { Buffer({.unaligned = kPage}, 1); }).fault(), Fault::usage);
}

}  // namespace
}  // namespace rdmabench::inline v1::memory
