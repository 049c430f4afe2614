#include "run/together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <system_error>

#include "../complaint.h"

namespace rdmabench::inline v1::run {
namespace {

TEST(RunTogether, AllWorkAtTheSameTime) {
  std::atomic<int> prepared{0};
  std::barrier meet(4);  // a worker that came alone would wait for ever
  run_together(
      4, [&](std::size_t) { ++prepared; },
      [&](std::size_t) {
        EXPECT_EQ(prepared, 4);
        meet.arrive_and_wait();
      });
}

TEST(RunTogether, OneNeedsNoThread) {
  int worked = 0;
  run_together(
      1, [](std::size_t) {}, [&](std::size_t) { ++worked; },
      [](const std::function<void()>&) -> std::thread { throw std::bad_alloc(); });
  EXPECT_EQ(worked, 1);
}

TEST(RunTogether, NothingWorksWhereAThreadCannotBeStarted) {
  std::atomic<int> worked{0};
  std::atomic<int> ended{0};
  int started = 0;
  const auto two_threads = [&](const std::function<void()>& body) {
    if (started == 2) throw std::system_error(EAGAIN, std::generic_category());
    ++started;
    return std::thread([&ended, body] {
      body();
      ++ended;
    });
  };
  EXPECT_THAT(rdmabench::complaint(
                  [&] {
                    run_together(
                        5, [](std::size_t) {}, [&](std::size_t) { ++worked; }, two_threads);
                  },
                  Fault::failed),
              has_all("3 of 5 threads", "Resource temporarily", "`threads`"));
  EXPECT_EQ(worked, 0);
  EXPECT_EQ(ended, 2);  // those that started were joined
}

}  // namespace
}  // namespace rdmabench::inline v1::run
