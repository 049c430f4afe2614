// The fuzz target with inputs that are the same in every run.
#include <gtest/gtest.h>

#include <random>

#include "frame_target.h"

namespace rdmabench::inline v1::control {
namespace {

constexpr int kRounds = 3000;

std::string random_bytes(std::mt19937& random, std::size_t most) {
  std::string bytes(random() % (most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(AnyBytes, AreReadOrRefusedByTheRules) {
  std::mt19937 random(1);
  for (int round = 0; round < kRounds; ++round) {
    const std::string bytes = random_bytes(random, 64);
    EXPECT_EQ(broken_rule(bytes), "") << ::testing::PrintToString(bytes);
  }
}

TEST(AnyBytes, InAHeaderThatWasGoodAreReadOrRefusedByTheRules) {
  std::mt19937 random(2);
  for (int round = 0; round < kRounds; ++round) {
    const auto header = encode_header(
        {MessageType(static_cast<std::uint16_t>(first_code(Protocol::session) + random() % 8)),
         static_cast<std::uint32_t>(random() % 99)});
    std::string bytes(header.data(), header.size());
    bytes[random() % bytes.size()] = static_cast<char>(random());
    EXPECT_EQ(broken_rule(bytes + "{}"), "") << ::testing::PrintToString(bytes);
  }
}

TEST(AnyBytes, InAMessageThatWasGoodAreReadOrRefusedByTheRules) {
  constexpr std::string_view kMessage =
      R"({"u":8,"i":-1,"d":0.5,"b":true,"s":"rxe0","l":[1,2,3],"o":{"x":[[null]]}})";
  constexpr std::string_view kAlphabet = "{}[]\",:0123456789.eE+-\\utrfalsn \xff";
  std::mt19937 random(3);
  for (int round = 0; round < kRounds; ++round) {
    std::string text(kMessage);
    for (auto changes = random() % 4; changes-- > 0;) {
      text[random() % text.size()] = kAlphabet[random() % kAlphabet.size()];
    }
    EXPECT_EQ(broken_rule(text.substr(0, text.size() - random() % 2)), "") << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::control
