#include "rdmabench/run/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using transport::Description;

Description efa(std::vector<std::pair<std::string, std::string>> details) {
  Description endpoint;
  endpoint.backend = "ofi";
  endpoint.provider = "efa";
  endpoint.device = "rdmap0s29-rdm";
  endpoint.details = std::move(details);
  return endpoint;
}

std::vector<std::string> names_of_unmet(std::string_view text, const Description& endpoint) {
  std::vector<std::string> names;
  for (const Unmet& one : unmet(parse_requirements(text), endpoint)) {
    EXPECT_FALSE(one.reason.empty());
    names.push_back(one.requirement.name);
  }
  return names;
}

TEST(Requirements, AreReadFromAList) {
  EXPECT_THAT(parse_requirements("rdma-write,no-shm,gpudirect,fabric=efa-direct"),
              ElementsAre(Requirement{"rdma-write", ""}, Requirement{"no-shm", ""},
                          Requirement{"gpudirect", ""}, Requirement{"fabric", "efa-direct"}));
  for (const char* bad : {"", "rdma", "rdma-write,", ",no-shm", "fabric", "fabric=", "provider",
                          "no-shm=1", "gpudirect=1"}) {
    EXPECT_THAT(rdmabench::complaint([&] { parse_requirements(bad); }, Fault::usage),
                HasSubstr("in-order-128"));
  }
}

constexpr std::string_view kEveryName =
    "rdma-write,rdma-read,no-shm,in-order-128,fabric=efa-direct";

TEST(Requirements, AreMetByWhatTheEndpointTells) {
  EXPECT_THAT(names_of_unmet(kEveryName, efa({{"rdma_write", "offloaded"},
                                              {"rdma_read", "offloaded"},
                                              {"shm_short_cut", "no"},
                                              {"in_order_128", "yes"},
                                              {"fabric", "efa-direct"}})),
              IsEmpty());
  EXPECT_THAT(names_of_unmet(kEveryName, efa({{"rdma_write", "emulated"},
                                              {"rdma_read", "offloaded"},
                                              {"shm_short_cut", "yes"},
                                              {"in_order_128", "no"},
                                              {"fabric", "efa"}})),
              ElementsAre("rdma-write", "no-shm", "in-order-128", "fabric"));
}

/// As over a node whose RDMA device reaches some peers alone: the rest goes by sockets.
TEST(Requirements, EveryLaneOfUcxIsOneThatIsWanted) {
  Description ucx;
  ucx.backend = "ucx";
  ucx.provider = "rc_verbs;tcp";
  ucx.device = "mlx5_0:1;eth0";
  EXPECT_THAT(names_of_unmet("provider=rc_verbs,device=mlx5_0", ucx),
              ElementsAre("provider", "device"));
  EXPECT_THAT(names_of_unmet("provider=tcp,device=eth0", ucx), ElementsAre("provider", "device"));
  EXPECT_THAT(names_of_unmet("backend=ucx,provider=tcp;rc_verbs,device=mlx5_0;eth0", ucx),
              IsEmpty());
  EXPECT_THAT(names_of_unmet("provider=rc_verbs;tcp_sockcm", ucx), ElementsAre("provider"));
  ucx.provider = "rc_verbs";
  ucx.device = "mlx5_0:1;mlx5_0:2";
  EXPECT_THAT(names_of_unmet("provider=rc_verbs,device=mlx5_0", ucx), IsEmpty());
  EXPECT_THAT(names_of_unmet("provider=rc", ucx), ElementsAre("provider"));
}

TEST(Requirements, WhatWasTakenInsteadIsNamed) {
  EXPECT_THAT(names_of_unmet("backend=ofi,provider=efa,device=rdmap0s29-rdm", efa({})), IsEmpty());
  Description layered = efa({});
  layered.provider = "tcp;ofi_rxm";
  EXPECT_THAT(names_of_unmet("provider=tcp", layered), IsEmpty());
  EXPECT_THAT(names_of_unmet("provider=net", layered), ElementsAre("provider"));
  const auto missed =
      unmet(parse_requirements("backend=verbs,provider=mlx5,device=mlx5_0:1"), efa({}));
  ASSERT_EQ(missed.size(), 3U);
  EXPECT_THAT(missed[0].reason, has_all("backend of efa on rdmap0s29-rdm", "'ofi'"));
  EXPECT_THAT(missed[1].reason, has_all("provider of efa on rdmap0s29-rdm", "'efa'"));
  EXPECT_THAT(missed[2].reason, has_all("device of efa on rdmap0s29-rdm", "'rdmap0s29-rdm'"));
}

TEST(Requirements, WhatIsNotToldIsNotMet) {
  EXPECT_THAT(names_of_unmet(kEveryName, efa({})),
              ElementsAre("rdma-write", "rdma-read", "no-shm", "in-order-128", "fabric"));
  EXPECT_THAT(
      names_of_unmet(kEveryName, efa({{"rdma_write", "unknown"}, {"shm_short_cut", "unknown"}})),
      ElementsAre("rdma-write", "rdma-read", "no-shm", "in-order-128", "fabric"));
  EXPECT_THAT(unmet(parse_requirements("rdma-read"), efa({}))[0].reason,
              HasSubstr("libfabric 1.21"));
  EXPECT_THAT(unmet(parse_requirements("fabric=efa"), efa({{"fabric", "efa-direct"}}))[0].reason,
              HasSubstr("'efa-direct'"));
}

}  // namespace
}  // namespace rdmabench::inline v1::run
