#include "base/nesting.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rdmabench::inline v1 {
namespace {

std::string object_of_keys(int keys) {
  std::string text = "{";
  for (int i = 0; i < keys; ++i)
    text += fmt::format("{}\"k{}\":[{{\"x:y\":0}}]", i == 0 ? "" : ",", i);
  return text + "}";
}

TEST(JsonExcess, CountsTheKeysOfEachObject) {
  const JsonLimits limits{.keys = 5};
  EXPECT_EQ(json_excess(object_of_keys(5), limits), "");
  EXPECT_EQ(json_excess(object_of_keys(6), limits), "an object of more than 5 keys");
  EXPECT_EQ(json_excess("[" + object_of_keys(5) + "," + object_of_keys(5) + "]", limits), "");
  EXPECT_EQ(json_excess(R"({"a": "1:2:3:4:5:6:7", "b\":": 0})", limits), "");
  EXPECT_EQ(json_excess(object_of_keys(100), {}), "");
}

TEST(JsonExcess, CountsDepthAndValues) {
  EXPECT_EQ(json_excess("[[{}]]", {.depth = 3}), "");
  EXPECT_EQ(json_excess("[[{}]]", {.depth = 2}), "lists and objects nested deeper than 2");
  EXPECT_NE(json_excess(std::string(1000, '['), {.depth = 1000}), "");
  EXPECT_EQ(json_excess("[1,2,3]", {.values = 3}), "");
  EXPECT_EQ(json_excess("[1,2,3]", {.values = 2}), "more than 2 values");
  EXPECT_EQ(json_excess("]}]}::\"\\", {.keys = 2}), "");
}

}  // namespace
}  // namespace rdmabench::inline v1
