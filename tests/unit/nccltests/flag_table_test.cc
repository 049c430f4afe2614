#include "nccltests/flags.h"

#include <gtest/gtest.h>

#include <set>

namespace rdmabench::inline v1::tools::nccltests {
namespace {

TEST(NcclTestsFlags, AreAllOfThemOnce) {
  // getopt's letters of nccl-tests 2.19.6, but for -h.
  const std::string letters = "tgbeifnmwNpIKcodrzyTGCaRxDVJSMu";
  std::set<char> seen;
  std::set<std::string_view> names;
  for (const Flag& flag : flags()) {
    EXPECT_NE(letters.find(flag.letter), std::string::npos) << flag.letter;
    EXPECT_TRUE(seen.insert(flag.letter).second) << flag.letter;
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_FALSE(flag.text.empty());
    EXPECT_EQ(flag.set == nullptr, flag.handling == Handling::refused) << flag.letter;
  }
  EXPECT_EQ(seen.size(), letters.size());
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::nccltests
