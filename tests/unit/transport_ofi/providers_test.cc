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

using fake_fabric::Provider;
using fake_fabric::Providers;

using Pair = PairOf<Endpoint>;

/// A write of 8 bytes with immediate, as a ping-pong posts it.
void write_with_immediate(Pair& pair) {
  memory::fill_pattern(slot(pair.a->send_region(), 0, 8), 5);
  pair.must([&] { return pair.a->post<WriteImm>(0, 0, 8, 7, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
  EXPECT_EQ(pair.at_b[0].immediate, 7U);
  EXPECT_TRUE(holds(pair.b->window(), 0, 5, 8));
  pair.settle();
}

TEST(OfiLibrary, GivesTheFunctionsOfThisBuildsHeadersWhereItHasNewerOnes) {
  const auto strerror =
      reinterpret_cast<decltype(&fi_strerror)>(loaded::fabric.function("fi_strerror"));
  EXPECT_THAT(strerror(FI_EINVAL), ::testing::Not(::testing::HasSubstr("newer release")));
}

// -- injected writes with immediate

struct Injection {
  Provider provider;
  bool injects;
};

TEST(OfiProviders, AWriteWithImmediateIsInjectedOnlyWhereTheProviderHasThat) {
  for (const auto& [provider, injects] :
       {Injection{fake_fabric::efa(), true}, Injection{fake_fabric::efa_direct(), false},
        Injection{fake_fabric::opx(), false}}) {
    SCOPED_TRACE(provider.fabric);
    const Providers here({provider});
    EndpointRequest r = request(provider.name, OperationCode::write_imm, /*latency=*/true);
    r.max_size = 3000;
    Pair pair(r);
    write_with_immediate(pair);
    const auto& calls = fake_fabric::state().calls;
    EXPECT_EQ(calls.inject_writedata, injects ? 1 : 0);
    EXPECT_EQ(calls.writemsg, injects ? 0 : 1);
    EXPECT_EQ(pair.a->describe(8).completion == "inject", injects);
  }
}

}  // namespace
}  // namespace rdmabench::transport::ofi::providers_test
