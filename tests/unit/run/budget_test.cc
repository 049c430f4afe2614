#include "run/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct KindOfUsage {
  std::uint64_t Usage::*amount;
  std::string name;
  std::string all_remedy;
  std::string each_remedy;
};

class BudgetOfKind : public ::testing::TestWithParam<KindOfUsage> {
 protected:
  static Usage only(std::uint64_t count) {
    Usage usage;
    usage.*GetParam().amount = count;
    return usage;
  }
  std::string refusal(const std::string& address, std::uint64_t count) {
    return complaint([&] { static_cast<void>(budget_.take(address, only(count))); }).what();
  }

  Budget budget_{only(10), only(4), "rdmabench serve"};
};

TEST_P(BudgetOfKind, AFullAddressKeepsNoOtherOut) {
  Budget::Share full = budget_.take("a", only(4));
  EXPECT_THAT(refusal("a", 1),
              has_all("a has 4 " + GetParam().name + " of at most 4", GetParam().each_remedy));
  const Budget::Share other = budget_.take("b", only(4));
  full.reset();
  const Budget::Share again = budget_.take("a", only(4));
}

TEST_P(BudgetOfKind, AllTogetherHaveALimitToo) {
  const Budget::Share first = budget_.take("a", only(4));
  const Budget::Share second = budget_.take("b", only(4));
  EXPECT_THAT(refusal("c", 3), has_all("this server has 8 " + GetParam().name + " of at most 10",
                                       GetParam().all_remedy));
  const Budget::Share third = budget_.take("c", only(2));
}

TEST_P(BudgetOfKind, SumsDoNotWrap) {
  const Budget::Share first = budget_.take("a", only(1));
  EXPECT_THAT(refusal("a", ~std::uint64_t{0}), HasSubstr("of at most 10"));
}

/// As the servers of perftest's names are, which have no such option.
TEST_P(BudgetOfKind, AServerWithoutOptionsNamesNone) {
  Budget budget(only(1), only(1));
  const Budget::Share all = budget.take("a", only(1));
  const std::string text = complaint([&] { static_cast<void>(budget.take("a", only(1))); }).what();
  EXPECT_THAT(text, ::testing::Not(AnyOf(HasSubstr("--"), HasSubstr("rdmabench"))));
}

INSTANTIATE_TEST_SUITE_P(
    Every, BudgetOfKind,
    ::testing::Values(
        KindOfUsage{&Usage::sessions, "sessions", "--max-clients", "--max-address-clients"},
        KindOfUsage{&Usage::threads, "threads", "--max-threads", "--max-address-threads"},
        KindOfUsage{&Usage::memory, "bytes", "--max-memory", "--max-address-memory"},
        KindOfUsage{&Usage::descriptors, "file descriptors", "ulimit -Hn", "ulimit -Hn"}),
    [](const auto& kind) { return kind.param.name.substr(0, kind.param.name.find(' ')); });

TEST(Budget, WhatIsRefusedForOneKindTakesNothingOfTheOthers) {
  Budget budget({.sessions = 2, .threads = 2, .memory = 100, .descriptors = 2},
                {.sessions = 1, .threads = 1, .memory = 100, .descriptors = 1});
  EXPECT_THROW(static_cast<void>(budget.take(
                   "a", {.sessions = 1, .threads = 1, .memory = 101, .descriptors = 1})),
               Error);
  const Budget::Share share =
      budget.take("a", {.sessions = 1, .threads = 1, .memory = 100, .descriptors = 1});
}

}  // namespace
}  // namespace rdmabench::inline v1::run
