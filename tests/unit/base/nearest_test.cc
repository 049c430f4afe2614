#include "base/nearest.h"

#include <gtest/gtest.h>

namespace rdmabench {
namespace {

const std::vector<std::string> kWords{"--size", "--iterations", "--bidirectional", "reg", "lat"};

TEST(Nearest, TakesTheFewestEdits) {
  EXPECT_EQ(nearest("--sise", kWords), "--size");
  EXPECT_EQ(nearest("latt", kWords), "lat");
}

TEST(Nearest, TakesTheBeginningOfAWord) {
  EXPECT_EQ(nearest("--bidi", kWords), "--bidirectional");
}

TEST(Nearest, IsNoneWhereAWordIsFarFromAll) {
  EXPECT_EQ(nearest("help", kWords), "");
  EXPECT_EQ(nearest("frobnicate", kWords), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace rdmabench
