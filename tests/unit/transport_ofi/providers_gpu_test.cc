// How a GPU's memory is registered with providers that need a device: tests/fakes/fabric and cuda.
#include <fake_cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "../../fakes/fabric/fake_fabric.h"
#include "../fact.h"
#include "../setting.h"
#include "memory/gpu_memory.h"
#include "pair.h"

namespace rdmabench::inline v1::transport::ofi::providers_gpu_test {
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
  const Setting off("MLX5_SCATTER_TO_CQE", "0");  // else verbs is given no GPU's address
  for (const auto& [provider, library, route, refused] :
       {Registration{fake_fabric::efa(), FI_VERSION(2, 1), "FI_HMEM by dma-buf", ""},
        Registration{fake_fabric::efa(), FI_VERSION(1, 19), "FI_HMEM", "has no FI_MR_DMABUF"},
        Registration{fake_fabric::cxi(), FI_VERSION(2, 1), "FI_HMEM", "efa and verbs alone"},
        Registration{fake_fabric::verbs_rxm(), FI_VERSION(2, 1), "FI_HMEM",
                     "efa and verbs alone"}}) {
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

/// efa with interface 1.18 on offers FI_HMEM all the same, and registers nothing with its device.
TEST(OfiProvidersGpu, EfaWithoutPeerToPeerIsNotCalledDirect) {
  fake_cuda_reset();
  Provider efa = fake_fabric::efa();
  efa.refuses_peer_to_peer = true;
  const Providers here({efa}, FI_VERSION(2, 6));
  EndpointRequest r = request("efa", OperationCode::send);
  r.memory = "cuda:0";
  const std::string text = offer(r);
  const Endpoint endpoint(r, choose(r, text, text).client);
  const auto facts = endpoint.describe().details;
  EXPECT_EQ(fact(facts, "memory_route"), "staged");
  EXPECT_THAT(fact(facts, "memory_routes_refused"), HasSubstr("copies by CUDA"));
  EXPECT_TRUE(endpoint.window_memory().gpu()->staged()) << "what 'gpudirect' is judged by";
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::providers_gpu_test
