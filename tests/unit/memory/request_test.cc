#include "rdmabench/memory/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "../folder.h"

namespace rdmabench::inline v1::memory {
namespace {

using ::testing::HasSubstr;

TEST(Request, EveryKindIsReadAndWrittenAlike) {
  for (const char* text : {"host", "huge", "huge:2M", "huge:1G", "file:/tmp/a", "file:/tmp/a@4K",
                           "file:/dev/p2pmem0@2M", "dmabuf"}) {
    EXPECT_EQ(to_text(parse_request(text)), text);
  }
  EXPECT_EQ(parse_request("dmabuf:udmabuf"), parse_request("dmabuf"));
  EXPECT_EQ(parse_request("huge:1G").huge_page_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(parse_request("file:/tmp/a@8K").offset, 8192U);
}

TEST(Request, AnAtSignWithoutADigitBelongsToThePath) {
  EXPECT_EQ(parse_request("file:/tmp/me@home").path, "/tmp/me@home");
  EXPECT_EQ(parse_request("file:/tmp/me@home@4K").path, "/tmp/me@home");
  EXPECT_EQ(parse_request("file:/tmp/a:b").path, "/tmp/a:b");
}

TEST(Request, WhatIsNoMemoryIsRefusedByName) {
  for (const char* text : {"", "hots", "host:1", "huge:3M", "huge:4K", "huge:2Q", "file", "file:",
                           "file:@4K", "file:/a@100", "file:/a@4Q", "dmabuf:heap", "Host"}) {
    const Error error = complaint([&] { parse_request(text); });
    EXPECT_EQ(error.fault(), Fault::usage) << text;
  }
  EXPECT_THAT(complaint([] { parse_request("hots"); }).what(),
              has_all("'hots'", "file:PATH@OFFSET"));
  EXPECT_THAT(complaint([] { parse_request("file:/a@100"); }).what(), HasSubstr("4096"));
}

TEST(Request, TheNextBufferOfAFileLiesBehindTheFirst) {
  const Request file{.kind = Kind::file, .path = "/a", .offset = 4096, .unaligned = 8};
  EXPECT_EQ(next(file, 4088).offset, 8192U);
  EXPECT_EQ(next(file, 4089).offset, 12288U);
  EXPECT_EQ(next(Request{}, 5000), Request{});
}

TEST(NumaText, IsAutoNoneOrANumber) {
  EXPECT_EQ(parse_numa("auto").place, Numa::Place::near);
  EXPECT_EQ(parse_numa("none").place, Numa::Place::any);
  EXPECT_EQ(parse_numa("1"), (Numa{.place = Numa::Place::node, .number = 1}));
  for (const char* text : {"", "-1", "1x", "near", "1024"}) {
    EXPECT_THAT(complaint([&] { parse_numa(text); }).what(), HasSubstr("auto, none")) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::memory
