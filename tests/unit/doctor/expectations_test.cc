#include "rdmabench/health/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;

TEST(Expectations, OfTheUserGoBeforeTheProfile) {
  Expectations expectations;
  expectations.add_user("rate_gbps=400");
  expectations.add_profile(R"({"schema": "x", "comment": "y", "rate_gbps": 200, "mtu": 4096})",
                           "p");
  EXPECT_EQ(expectations.find("rate_gbps")->value, "400");
  EXPECT_EQ(expectations.find("rate_gbps")->source, Source::user);
  EXPECT_EQ(expectations.find("mtu")->value, "4096");
  EXPECT_EQ(expectations.find("mtu")->source, Source::profile);
  EXPECT_EQ(expectations.find("firmware"), nullptr);
  Expectations other;
  other.add_profile(R"({"mtu": 1024})", "p");
  other.add_user("mtu=4096");
  EXPECT_EQ(other.find("mtu")->value, "4096");
}

TEST(Expectations, ThatAreWrongAreNamed) {
  Expectations expectations;
  EXPECT_THAT(usage_complaint([&] { expectations.add_user("rate=400"); }),
              has_all("'rate'", "rate_gbps"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_user("rate_gbps=fast"); }),
              HasSubstr("'fast'"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_user("rate_gbps="); }), HasSubstr("''"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_user("rate_gbps"); }), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_profile("[]", "site.json"); }),
              HasSubstr("site.json"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_profile("{", "site.json"); }),
              HasSubstr("site.json"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_profile(R"({"mtu": -1})", "s"); }),
              HasSubstr("mtu"));
  EXPECT_THAT(usage_complaint([&] { expectations.add_profile(R"({"mtu": [1]})", "s"); }),
              HasSubstr("mtu"));
  for (const char* text :
       {"pfc=3,4", "pfc=4+3", "pfc=8", "pfc=3+", "pfc=off", "fec=RS", "fec=rs,", "fec=rs+none"}) {
    EXPECT_THAT(usage_complaint([&] { expectations.add_user(text); }), HasSubstr("It is for"))
        << text;
  }
  for (const char* text : {"pfc=none", "pfc=0", "pfc=3+4+7", "fec=rs", "fec=rs,none"}) {
    EXPECT_NO_THROW(expectations.add_user(text)) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::health
