#include "terminal.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1::tools {
namespace {

TEST(Wrapped, BreaksLongLinesAloneAndIndentsWhatFollows) {
  EXPECT_EQ(wrapped("short\n  one two three four\n", 14), "short\n  one two\n    three four\n");
  EXPECT_EQ(wrapped("a-word-that-is-too-long is\n", 8), "a-word-that-is-too-long\n  is\n");
  EXPECT_EQ(wrapped("", 8), "");
}

TEST(Wrapped, KeepsLabelsAndTheirColumns) {
  EXPECT_EQ(wrapped("      remedy    one two three four five six seven\n", 40),
            "      remedy    one two three four five\n                six seven\n");
  EXPECT_EQ(wrapped("WARN  port.mtu  ens3: Active MTU: 1024, expected 4096\n", 40),
            "WARN  port.mtu  ens3: Active MTU: 1024,\n                expected 4096\n");
}

TEST(Wrapped, LeavesRowsOfTablesWhole) {
  const std::string rows =
      "   size  iterations  p50[us]  p99[us]\n      8        1000     1.25     2.10\n";
  EXPECT_EQ(wrapped(rows, 30), rows);
  EXPECT_EQ(wrapped("WARN  port.mtu  ens3: Active MTU\n", 24),
            "WARN port.mtu ens3:\n  Active MTU\n");
}

TEST(Reflowed, FillsParagraphs) {
  EXPECT_EQ(reflowed("one two\nthree\n\nfour\n", 20), "one two three\n\nfour\n");
  EXPECT_EQ(reflowed("What it does\nUsage: it [OPTIONS]\n", 40),
            "What it does\nUsage: it [OPTIONS]\n");
  EXPECT_EQ(reflowed("Examples:\n  it --all\nmore\n", 40), "Examples:\n  it --all\nmore\n");
}

TEST(Reflowed, SetsExplanationsUnderOneAnother) {
  EXPECT_EQ(reflowed("  --size N    sizes of messages\n  --all\n", 24),
            "  --size N    sizes of\n"
            "              messages\n"
            "  --all\n");
  EXPECT_EQ(reflowed("  html   one file\n         that needs nothing\n", 80),
            "  html   one file that needs nothing\n");
}

TEST(Reflowed, SetsAnExplanationOfALongExampleBelow) {
  const std::string example = "  rdmabench fabric --rails mlx5_0,mlx5_1 --pattern random";
  EXPECT_EQ(reflowed(example + "   what it is\n", 60), example + "\n      what it is\n");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools
