#include "log_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace rdmabench::inline v1::tools {
namespace {

using ::testing::HasSubstr;

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string read_all() {
    close(ends[1]);
    ends[1] = -1;
    std::string text;
    std::array<char, 65536> some{};
    for (ssize_t got = 0; (got = read(ends[0], some.data(), some.size())) > 0;) {
      text.append(some.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

  std::array<int, 2> ends{};
};

TEST(LogQueue, WritesWhatItWasGiven) {
  Pipe pipe;
  {
    LogQueue log(pipe.ends[1]);
    log.put("one");
    log.put("two");
  }
  EXPECT_EQ(pipe.read_all(), "one\ntwo\n");
}

TEST(LogQueue, NobodyWhoReadsCostsLinesAndNoTime) {
  Pipe pipe;
  const auto begin = std::chrono::steady_clock::now();
  {
    LogQueue log(pipe.ends[1]);
    for (int i = 0; i < 10000; ++i) log.put(std::string(1000, 'x'));  // 10 MB into 64 KiB
    EXPECT_GT(log.dropped(), 8000U);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(LogQueue, ADroppedLineIsCounted) {
  Pipe pipe;
  std::string first;
  {
    LogQueue log(pipe.ends[1]);
    for (int i = 0; i < 10000; ++i) log.put(std::string(1000, 'x'));
    std::array<char, 65536> some{};  // makes room, so that the writer goes on
    while (first.find("dropped") == std::string::npos) {
      const ssize_t got = read(pipe.ends[0], some.data(), some.size());
      ASSERT_GT(got, 0);
      first.append(some.data(), static_cast<std::size_t>(got));
    }
  }
  EXPECT_THAT(first, HasSubstr(" lines were dropped"));
}

}  // namespace
}  // namespace rdmabench::inline v1::tools
