#pragma once

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmabench::inline v1 {

/// Every test begins with a fresh device and ends with nothing left of ours.
class OnFakeVerbs : public testing::Test {
 protected:
  OnFakeVerbs() { fake_verbs::reset(); }
  ~OnFakeVerbs() override {
    EXPECT_EQ(fake_verbs::live(), 0);
    EXPECT_THAT(fake_verbs::violations(), testing::IsEmpty());
  }
};

}  // namespace rdmabench::inline v1
