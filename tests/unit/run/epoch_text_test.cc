#include "rdmabench/run/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using workload::EpochPlan;
using workload::EpochResult;
using workload::Outcome;
using workload::Wait;

[[noreturn]] void fail(const EpochResult& result) {
  const EpochPlan plan{.iterations = 1000, .size = 64};
  throw_epoch_error(result, plan, std::chrono::seconds(10), "node2:18515", "status 12",
                    {.library = "libibverbs"});
}

Error error(const EpochResult& result) {
  return complaint([&] { fail(result); });
}

std::string text(const EpochResult& result) {
  return error(result).what();
}

TEST(EpochText, SaysWhatAStalledLoopWaitedForAndForWhom) {
  const EpochResult result{.outcome = Outcome::stalled, .wait = Wait::message, .message = 812};
  EXPECT_THAT(text(result), AllOf(HasSubstr("10000ms"), HasSubstr("waiting for the peer's message"),
                                  HasSubstr("message 812 of 1000"), HasSubstr("64 bytes"),
                                  HasSubstr("node2:18515"), HasSubstr("`timeout`")));
}

TEST(EpochText, GivesTheEndpointsOwnAccountOfAFailure) {
  EXPECT_THAT(text({.outcome = Outcome::completion_failed, .wait = Wait::completion}),
              AllOf(HasSubstr("the endpoint failed"), HasSubstr("status 12")));
  EXPECT_THAT(text({.outcome = Outcome::post_failed}),
              AllOf(HasSubstr("status 12"), HasSubstr("64 bytes")));
}

TEST(EpochText, PointsAtTheWrongByte) {
  EXPECT_THAT(text({.outcome = Outcome::wrong_data, .message = 3, .byte = 17}),
              AllOf(HasSubstr("byte 17"), HasSubstr("message 3")));
  EXPECT_THAT(text({.outcome = Outcome::wrong_immediate, .message = 3}), HasSubstr("immediate"));
}

TEST(EpochText, SaysTheSameToAProgram) {
  const Failure failure = error({.outcome = Outcome::stalled}).failure();
  EXPECT_EQ(failure.fault, Fault::failed);
  EXPECT_EQ(failure.outcome, "stalled");
  EXPECT_EQ(failure.peer, "node2:18515");
  EXPECT_EQ(failure.library, "libibverbs");
  EXPECT_THAT(failure.remedy, HasSubstr("`timeout`"));
  EXPECT_THROW(fail({.outcome = Outcome::cancelled}), Cancelled);
}

}  // namespace
}  // namespace rdmabench::inline v1::run
