#include "loaded/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "../complaint.h"
#include "../setting.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::loaded {
namespace {

using testing::HasSubstr;

TEST(Library, AMissingOneSaysWhatWasLookedForAndWhere) {
  static constexpr Library kNone("librdmabench-none.so.7", "Install it.");
  {
    const Setting path("LD_LIBRARY_PATH", "/nowhere/at/all");
    const Error error = complaint([] { kNone.require(); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(), HasSubstr("librdmabench-none.so.7"));
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all"));
    EXPECT_THAT(error.what(), HasSubstr("No such file"));  // the loader's own words
    EXPECT_THAT(error.what(), HasSubstr("Install it"));
  }
  EXPECT_THAT(complaint([] { kNone.function("f"); }).what(), HasSubstr("the linker's folders"));
  EXPECT_EQ(kNone.find("f"), nullptr);
}

TEST(Library, AFunctionIsFoundOrNamed) {
  static constexpr Library kC("libc.so.6", "");
  EXPECT_NE(kC.function("strlen"), nullptr);
  EXPECT_THAT(kC.load().file, HasSubstr("libc"));
  EXPECT_EQ(kC.find("rdmabench_nothing"), nullptr);
  const Error error = complaint([] { kC.function("rdmabench_nothing"); });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("has no rdmabench_nothing()"));
  EXPECT_THAT(error.what(), HasSubstr("libc"));
}

TEST(Library, TheCallerKeepsItsSignalHandlers) {
  static constexpr Library kTakes(RDMABENCH_TAKES_SIGNALS, "");
  using Handler = void (*)(int);
  static int calls = 0;
  const Handler mine = [](int) { ++calls; };
  std::signal(SIGTERM, mine);
  ASSERT_NE(kTakes.load().handle, nullptr) << kTakes.load().absence;
  EXPECT_EQ(calls, 1) << "what came while it was loaded";
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), mine);
  EXPECT_EQ(std::signal(SIGUSR1, SIG_DFL), SIG_DFL);
}

}  // namespace
}  // namespace rdmabench::inline v1::loaded
