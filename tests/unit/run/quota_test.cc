#include "run/quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::run {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct KindOfUsage {
  std::uint64_t Usage::*amount;
  std::string name;
  std::string all_remedy;
  std::string each_remedy;
};

class QuotaOfKind : public ::testing::TestWithParam<KindOfUsage> {
 protected:
  static Usage only(std::uint64_t count) {
    Usage usage;
    usage.*GetParam().amount = count;
    return usage;
  }
  std::string refusal(const std::string& address, std::uint64_t count) {
    return complaint([&] { static_cast<void>(quota_.take(address, only(count))); }).what();
  }

  Quota quota_{only(10), only(4), "rdmabench serve"};
};

TEST_P(QuotaOfKind, AFullAddressKeepsNoOtherOut) {
  Quota::Share full = quota_.take("a", only(4));
  EXPECT_THAT(refusal("a", 1), AllOf(HasSubstr("a has 4 " + GetParam().name + " of at most 4"),
                                     HasSubstr(GetParam().each_remedy)));
  const Quota::Share other = quota_.take("b", only(4));
  full.reset();
  const Quota::Share again = quota_.take("a", only(4));
}

TEST_P(QuotaOfKind, AllTogetherHaveALimitToo) {
  const Quota::Share first = quota_.take("a", only(4));
  const Quota::Share second = quota_.take("b", only(4));
  EXPECT_THAT(refusal("c", 3),
              AllOf(HasSubstr("this server has 8 " + GetParam().name + " of at most 10"),
                    HasSubstr(GetParam().all_remedy)));
  const Quota::Share third = quota_.take("c", only(2));
}

TEST_P(QuotaOfKind, SumsDoNotWrap) {
  const Quota::Share first = quota_.take("a", only(1));
  EXPECT_THAT(refusal("a", ~std::uint64_t{0}), HasSubstr("of at most 10"));
}

/// As the servers of perftest's names are, which have no such option.
TEST_P(QuotaOfKind, AServerWithoutOptionsNamesNone) {
  Quota quota(only(1), only(1));
  const Quota::Share all = quota.take("a", only(1));
  const std::string text = complaint([&] { static_cast<void>(quota.take("a", only(1))); }).what();
  EXPECT_THAT(text, ::testing::Not(AnyOf(HasSubstr("--"), HasSubstr("rdmabench"))));
}

INSTANTIATE_TEST_SUITE_P(
    Every, QuotaOfKind,
    ::testing::Values(
        KindOfUsage{&Usage::sessions, "sessions", "--max-clients", "--max-address-clients"},
        KindOfUsage{&Usage::threads, "threads", "--max-threads", "--max-address-threads"},
        KindOfUsage{&Usage::memory, "bytes", "--max-memory", "--max-address-memory"},
        KindOfUsage{&Usage::descriptors, "file descriptors", "ulimit -Hn", "ulimit -Hn"}),
    [](const auto& kind) { return kind.param.name.substr(0, kind.param.name.find(' ')); });

TEST(Quota, WhatIsRefusedForOneKindTakesNothingOfTheOthers) {
  Quota quota({.sessions = 2, .threads = 2, .memory = 100, .descriptors = 2},
              {.sessions = 1, .threads = 1, .memory = 100, .descriptors = 1});
  EXPECT_THROW(static_cast<void>(
                   quota.take("a", {.sessions = 1, .threads = 1, .memory = 101, .descriptors = 1})),
               Error);
  const Quota::Share share =
      quota.take("a", {.sessions = 1, .threads = 1, .memory = 100, .descriptors = 1});
}

}  // namespace
}  // namespace rdmabench::run
