// How a GPU's memory is registered with providers that need a device: tests/fakes/fabric and cuda.
#include <fake_cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "../../fakes/fabric/fake_fabric.h"
#include "../fact.h"
#include "pair.h"

namespace rdmabench::transport::ofi::providers_gpu_test {
namespace {

using fake_fabric::Provider;
using fake_fabric::Providers;
using ::testing::HasSubstr;

struct Registration {
  Provider provider;
  std::uint32_t library;
  std::string route;
  std::string refused;
};

TEST(OfiProvidersGpu, ADmaBufIsGivenOnlyToProvidersThatReadIt) {
  for (const auto& [provider, library, route, refused] :
       {Registration{fake_fabric::efa(), FI_VERSION(2, 1), "FI_HMEM by dma-buf", ""},
        Registration{fake_fabric::efa(), FI_VERSION(1, 19), "FI_HMEM", "has no FI_MR_DMABUF"},
        Registration{fake_fabric::cxi(), FI_VERSION(2, 1), "FI_HMEM",
                     "provider cxi does not read FI_MR_DMABUF"}}) {
    SCOPED_TRACE(provider.name);
    fake_cuda_reset();
    const Providers here({provider}, library);
    EndpointRequest r = request(provider.name, OperationCode::send);
    r.memory = "cuda:0";
    const std::string text = offer(r);
    const Endpoint endpoint(r, choose(r, text, text).client);
    const auto facts = endpoint.describe().details;
    EXPECT_EQ(fact(facts, "memory_route"), route);
    EXPECT_THAT(fact(facts, "memory_routes_refused"), HasSubstr(refused));
    EXPECT_EQ(fake_fabric::state().calls.misread_dma_buf, 0);
  }
}

}  // namespace
}  // namespace rdmabench::transport::ofi::providers_gpu_test
