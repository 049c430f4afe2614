#include "base/nearest.h"

#include <gtest/gtest.h>

namespace rdmabench::inline v1 {
namespace {

const std::vector<std::string> kWords{"--size", "--iterations", "--bidirectional", "reg", "lat"};

TEST(Nearest, TakesTheFewestEdits) {
  EXPECT_EQ(nearest("--sise", kWords), "--size");
  EXPECT_EQ(nearest("latt", kWords), "lat");
  EXPECT_EQ(nearest("alt", kWords), "lat") << "two letters that changed places";
}

TEST(Nearest, TakesTheBeginningOfAWord) {
  EXPECT_EQ(nearest("--bidi", kWords), "--bidirectional");
}

TEST(Nearest, TakesAWordThatIsTheBeginning) {
  EXPECT_EQ(nearest("latency", kWords), "lat");
  EXPECT_EQ(nearest("latency", {"l"}), "") << "a letter is no word";
}

TEST(Nearest, IsNoneWhereAWordIsFarFromAll) {
  EXPECT_EQ(nearest("help", kWords), "");
  EXPECT_EQ(nearest("frobnicate", kWords), "");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(nearest("--bidi", {"--wide"}), "") << "dashes make no word alike";
  EXPECT_EQ(nearest("--", {"--wide"}), "");
}

}  // namespace
}  // namespace rdmabench::inline v1
