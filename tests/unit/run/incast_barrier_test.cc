#include "run/incast_barrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::HasSubstr;

Deadline in_time() {
  return Deadline::after(std::chrono::seconds(20));
}
Deadline at_once() {
  return Deadline::after(std::chrono::milliseconds(1));
}

TEST(IncastBarrier, ClientsOfOneJobGoTogether) {
  IncastBarrier gate;
  std::thread other([&] { gate.pass("a", 2, in_time()); });
  gate.pass("a", 2, in_time());
  other.join();
  EXPECT_EQ(gate.groups(), 0U);
}

TEST(IncastBarrier, AnotherJobNeitherReleasesNorFailsIt) {
  IncastBarrier gate;
  std::thread first([&] { gate.pass("a", 2, in_time()); });
  try {
    gate.pass("b", 2, at_once());  // it would release the first one, or be failed by it
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("only 1 of 2 clients of the incast 'b'"));
  }
  gate.pass("a", 2, in_time());
  first.join();
  EXPECT_EQ(gate.groups(), 0U);
}

TEST(IncastBarrier, AStopEndsTheWait) {
  IncastBarrier gate;
  std::stop_source stop;
  std::thread other([&] { stop.request_stop(); });
  EXPECT_THROW(gate.pass("a", 2, in_time(), stop.get_token()), Error);
  other.join();
}

}  // namespace
}  // namespace rdmabench::inline v1::run
