// What the other end of a measurement may answer.
#include <gtest/gtest.h>

#include "netplugin/task.h"

namespace rdmabench::inline v1::netplugin {
namespace {

TEST(Measurement, WithoutAResultHasAnError) {
  for (const std::string_view metric : {kLatency, kBandwidth}) {
    const Task task{.id = std::string(metric), .version = 8, .bytes = 64, .iterations = 10};
    for (const Status status : {Status::warn, Status::fail, Status::skip}) {
      EXPECT_NE(measurement_of(task, {.status = status}).error, "");
    }
  }
  const TaskResult empty{.status = Status::pass,
                         .values = {{"messages", 5U}, {"bits_per_s", nlohmann::json::array()}}};
  EXPECT_NE(measurement_of({.id = std::string(kBandwidth), .version = 8}, empty).error, "");
}

}  // namespace
}  // namespace rdmabench::inline v1::netplugin
