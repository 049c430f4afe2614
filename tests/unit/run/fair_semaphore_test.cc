#include "run/fair_semaphore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::ElementsAre;

class FairSemaphoreTest : public ::testing::Test {
 protected:
  static Deadline in_time() { return Deadline::after(std::chrono::seconds(20)); }
  static Deadline at_once() { return Deadline::after(std::chrono::milliseconds(1)); }

  /// A client with its own thread, which notes in `order` when it has its turn, and ends it.
  /// Returns when as many wait.
  static std::thread client(FairSemaphore& turns, const std::string& address,
                            std::vector<std::string>& order, std::size_t waiting) {
    std::thread thread([&turns, &order, address] {
      const FairSemaphore::Turn turn = turns.wait(address, in_time());
      order.push_back(address);  // one turn at once: no race
    });
    while (turns.waiting() < waiting) std::this_thread::yield();
    return thread;
  }
};

TEST_F(FairSemaphoreTest, ComeInTheOrderOfArrival) {
  FairSemaphore turns(1, 1);
  FairSemaphore::Turn first = turns.wait("a", in_time());
  std::vector<std::string> order;
  std::vector<std::thread> others;
  for (const char* const address : {"b", "c", "d", "e"}) {
    others.push_back(client(turns, address, order, others.size() + 1));
  }
  first.reset();
  for (std::thread& other : others) other.join();
  EXPECT_THAT(order, ElementsAre("b", "c", "d", "e"));
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST_F(FairSemaphoreTest, AreAsManyAtOnceAsWereAllowed) {
  FairSemaphore turns(2, 2);
  const FairSemaphore::Turn first = turns.wait("a", in_time());
  FairSemaphore::Turn second = turns.wait("a", in_time());
  EXPECT_THROW(static_cast<void>(turns.wait("b", at_once())), Error);
  second.reset();
  const FairSemaphore::Turn third = turns.wait("b", in_time());
}

TEST_F(FairSemaphoreTest, AnAddressThatHasItsShareDoesNotKeepOthersOut) {
  FairSemaphore turns(3, 2);
  FairSemaphore::Turn first = turns.wait("a", in_time());
  const FairSemaphore::Turn second = turns.wait("a", in_time());
  std::vector<std::string> order;
  std::thread third = client(turns, "a", order, 1);
  { const FairSemaphore::Turn other = turns.wait("b", in_time()); }  // though it came later
  EXPECT_EQ(turns.waiting(), 1U);
  first.reset();
  third.join();
}

TEST_F(FairSemaphoreTest, ADeadlineSaysHowManyWereBefore) {
  FairSemaphore turns(1, 1);
  const FairSemaphore::Turn first = turns.wait("a", in_time());
  EXPECT_THAT(complaint([&] { static_cast<void>(turns.wait("b", at_once())); }).what(),
              has_all("waited 1 ms", "after 1 other"));
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST_F(FairSemaphoreTest, AStopEndsTheWait) {
  FairSemaphore turns(1, 1);
  const FairSemaphore::Turn first = turns.wait("a", in_time());
  std::stop_source stop;
  std::thread other([&] { stop.request_stop(); });
  EXPECT_THROW(static_cast<void>(turns.wait("b", in_time(), stop.get_token())), Error);
  other.join();
}

}  // namespace
}  // namespace rdmabench::inline v1::run
