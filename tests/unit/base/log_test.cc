#include "rdmabench/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace rdmabench::inline v1 {
namespace {

using ::testing::ElementsAre;

TEST(Log, IsOffUnlessAsked) {
  bool composed = false;
  const auto line = [&] {
    composed = true;
    return std::string("line");
  };
  log_line(line);
  EXPECT_FALSE(composed);
  set_log([](std::string_view) {});
  set_log(nullptr);
  log_line(line);
  EXPECT_FALSE(composed);
}

TEST(Log, TellsTheHookThatWasSetLast) {
  std::vector<std::string> first;
  std::vector<std::string> second;
  set_log([&](std::string_view line) { first.emplace_back(line); });
  log_line([] { return std::string("one"); });
  set_log([&](std::string_view line) { second.emplace_back(line); });
  log_line([] { return std::string("two"); });
  set_log(nullptr);
  EXPECT_THAT(first, ElementsAre("one"));
  EXPECT_THAT(second, ElementsAre("two"));
}

TEST(Log, TheHookMayChangeTheHookAndThrow) {
  int calls = 0;
  set_log([&](std::string_view) {
    ++calls;
    set_log(nullptr);
    throw std::runtime_error("full disk");
  });
  log_line([] { return std::string("one"); });
  log_line([] { return std::string("two"); });
  EXPECT_EQ(calls, 1);
}

TEST(Log, MayBeSetWhileOthersTell) {
  std::atomic<bool> done{false};
  std::atomic<int> calls{0};
  std::thread teller([&] {
    while (!done) log_line([] { return std::string("line"); });
  });
  while (calls < 100) {
    set_log([&](std::string_view) { ++calls; });
    std::this_thread::yield();
    set_log(nullptr);
  }
  done = true;
  teller.join();
}

}  // namespace
}  // namespace rdmabench::inline v1
