#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <nlohmann/json.hpp>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string failure_of(auto&& call) {
  return rdmabench::complaint(call, Fault::failed);
}

nlohmann::json message(std::string_view text) {
  return parse_object(text);
}

TEST(ParseObject, NamesTheMessageThatIsNoObject) {
  for (const char* text : {"", "nonsense", "[1]", "3", "{\"a\":1", "{} {}", "{\"a\":\"\xff\"}"}) {
    EXPECT_THAT(failure_of([&] { message(text); }),
                StartsWith("the message is not a JSON object: "))
        << text;
  }
}

TEST(ParseObject, ShowsTheTextCutShortAndHarmless) {
  const std::string text = failure_of([] { message("\x1b[31m\n" + std::string(1 << 20, 'x')); });
  EXPECT_THAT(text, HasSubstr(": ?[31m; xxx"));
  EXPECT_LT(text.size(), 250U);
}

TEST(ParseObject, RefusesDeepNesting) {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_NO_THROW(message(nested(kMaxNesting)));
  EXPECT_THAT(failure_of([&] { message(nested(kMaxNesting + 1)); }),
              HasSubstr("nests more than 16 deep"));
  EXPECT_THROW(message(std::string(1 << 20, '[')), Error);
}

TEST(ParseObject, RefusesManyValuesBeforeTheyTakeMemory) {
  const auto listed = [](std::size_t values) {
    std::string text = R"({"list":[0)";
    for (std::size_t i = 1; i < values; ++i) text += ",0";
    return text + "]}";
  };
  EXPECT_NO_THROW(message(listed(kMaxValues - 1)));
  EXPECT_THAT(failure_of([&] { message(listed(kMaxValues + 1)); }),
              HasSubstr("more than 20000 values"));
  std::string objects = R"({"list":[)";
  while (objects.size() < 1U << 20) objects += "{},";
  EXPECT_THROW(message(objects + "0]}"), Error);
  EXPECT_NO_THROW(message(R"({"a":")" + std::string(kMaxValues * 2, ',') + R"("})"));
}

TEST(ParseObject, BracketsInTextsDoNotNest) {
  const std::string brackets(40, '[');
  EXPECT_NO_THROW(message("{\"a\":\"" + brackets + "\\\"" + brackets + "\\\\\",\"b\":[]}"));
  EXPECT_THROW(message("{\"a\":\"\\\\\",\"b\":" + brackets + "}"), Error);
}

TEST(GetUint, TakesItsWholeRange) {
  const auto object = message(R"({"low":1,"high":18446744073709551615})");
  EXPECT_EQ(get_uint(object, "low", 1, 1), 1U);
  EXPECT_EQ(get_uint(object, "high", 0, std::numeric_limits<std::uint64_t>::max()),
            18446744073709551615U);
  EXPECT_EQ(get_uint<std::uint16_t>(object, "low"), 1U);
}

TEST(GetUint, NamesFieldValueAndBounds) {
  const auto object = message(
      R"({"zero":0,"big":65537,"huge":18446744073709551616,"minus":-1,"real":8.0,"text":"8",
          "no":null})");
  const auto why = [&](const char* key) {
    return failure_of([&] { get_uint<std::uint32_t>(object, key, 1, 65536); });
  };
  EXPECT_THAT(why("zero"), has_all("'zero'", "is 0,", "from 1 to 65536", "same rdmabench"));
  EXPECT_THAT(why("big"), HasSubstr("is 65537, not"));
  EXPECT_THAT(why("huge"), HasSubstr("is 1.8446744073709552e+19, not"));
  EXPECT_THAT(why("minus"), HasSubstr("is -1, not"));
  EXPECT_THAT(why("real"), HasSubstr("is 8.0, not"));
  EXPECT_THAT(why("text"), HasSubstr("is \"8\", not"));
  EXPECT_THAT(why("no"), HasSubstr("is null, not"));
  EXPECT_THAT(why("none"), has_all("no field 'none'", "from 1 to 65536"));
  EXPECT_THAT(failure_of([] { get_uint(nlohmann::json(3), "none", 1, 2); }), HasSubstr("no field"));
}

TEST(GetInt, TakesBothSignsUpToTheEnds) {
  const auto object = message(
      R"({"least":-9223372036854775808,"most":9223372036854775807,"over":9223372036854775808})");
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(get_int(object, "least", kMin, kMax), kMin);
  EXPECT_EQ(get_int(object, "most", kMin, kMax), kMax);
  EXPECT_THAT(failure_of([&] { get_int(object, "over", kMin, kMax); }),
              HasSubstr("is 9223372036854775808, not"));
  EXPECT_THAT(failure_of([&] { get_int(object, "most", -1, 5); }), HasSubstr("from -1 to 5"));
  EXPECT_THAT(failure_of([&] { get_int(object, "most", -5, -1); }), HasSubstr("from -5 to -1"));
  EXPECT_THAT(failure_of([&] { get_int(object, "least", -1, 5); }), HasSubstr("from -1 to 5"));
}

TEST(GetDouble, TakesWholeNumbersAndKeepsItsBounds) {
  const auto object = message(R"({"a":2,"b":0.5,"c":true})");
  EXPECT_EQ(get_double(object, "a", 0, 2), 2.0);
  EXPECT_EQ(get_double(object, "b", 0, 1), 0.5);
  EXPECT_THAT(failure_of([&] { get_double(object, "b", 1, 2); }), HasSubstr("is 0.5, not"));
  EXPECT_THAT(failure_of([&] { get_double(object, "c", 0, 2); }), HasSubstr("is true, not"));
}

TEST(GetBool, TakesNoNumber) {
  const auto object = message(R"({"a":true,"b":1})");
  EXPECT_TRUE(get_bool(object, "a"));
  EXPECT_THAT(failure_of([&] { get_bool(object, "b"); }), HasSubstr("is 1, not true or false"));
}

TEST(GetString, IsBoundedInBytes) {
  const auto object = message(R"({"name":"rxe0","number":1,"odd":"\u001b\u00e9"})");
  EXPECT_EQ(get_string(object, "name", 4), "rxe0");
  EXPECT_THAT(failure_of([&] { get_string(object, "name", 3); }),
              has_all("\"rxe0\"", "at most 3 bytes"));
  EXPECT_THAT(failure_of([&] { get_string(object, "number", 3); }), HasSubstr("is 1, not a text"));
  EXPECT_THAT(failure_of([&] { get_string(object, "odd", 2); }), HasSubstr(R"("\u001b\u00e9")"));
}

TEST(GetUintList, IsBoundedInCountAndEachItem) {
  const auto object = message(R"({"sizes":[8,64,4096],"bad":[8,0],"mixed":[8,"x"],"one":8})");
  EXPECT_THAT(get_uint_list(object, "sizes", 3, 1, 4096), ElementsAre(8, 64, 4096));
  EXPECT_THAT(failure_of([&] { get_uint_list(object, "sizes", 2, 1, 4096); }),
              has_all("'sizes'", "list of 3", "at most 2"));
  EXPECT_THAT(failure_of([&] { get_uint_list(object, "bad", 3, 1, 9); }),
              has_all("'bad[1]'", "is 0,"));
  EXPECT_THAT(failure_of([&] { get_uint_list(object, "mixed", 3, 1, 9); }), HasSubstr("mixed[1]"));
  EXPECT_THAT(failure_of([&] { get_uint_list(object, "one", 3, 1, 9); }),
              HasSubstr("is 8, not a list"));
}

TEST(GetObject, TakesNothingElse) {
  const auto object = message(R"({"inner":{"a":1},"list":[]})");
  EXPECT_EQ(get_uint(get_object(object, "inner"), "a", 0, 1), 1U);
  EXPECT_EQ(get_list(object, "list", 0).size(), 0U);
  EXPECT_THAT(failure_of([&] { get_object(object, "list"); }),
              HasSubstr("is a list of 0, not an object"));
}

}  // namespace
}  // namespace rdmabench::inline v1
