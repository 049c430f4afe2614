// Providers that need a device, as their sources say that they behave: tests/fakes/fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rdma/fi_errno.h>

#include <string>
#include <vector>

#include "../../fakes/fabric/fake_fabric.h"
#include "pair.h"

namespace rdmabench::transport::ofi::providers_test {
namespace {

TEST(OfiLibrary, GivesTheFunctionsOfThisBuildsHeadersWhereItHasNewerOnes) {
  const auto strerror =
      reinterpret_cast<decltype(&fi_strerror)>(loaded::fabric.function("fi_strerror"));
  EXPECT_THAT(strerror(FI_EINVAL), ::testing::Not(::testing::HasSubstr("newer release")));
}

}  // namespace
}  // namespace rdmabench::transport::ofi::providers_test
