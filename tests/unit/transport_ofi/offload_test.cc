#include "transport/ofi/offload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "../fact.h"

namespace rdmabench::inline v1::transport::ofi::offload_test {
namespace {

/// An endpoint whose options are what a test says.
struct FakeEndpoint {
  std::map<Option, bool> gives;  ///< what getopt answers; others it does not know
  std::map<Option, int> takes;   ///< what setopt answers to true; others it does not know
  std::map<Option, bool> value;  ///< what it was last set to

  Options options() {
    return {.get =
                [this](Option option, bool& got) {
                  const auto found = gives.find(option);
                  if (found == gives.end()) return -ENOPROTOOPT;
                  got = found->second;
                  return 0;
                },
            .set =
                [this](Option option, bool wanted) {
                  const auto found = takes.find(option);
                  if (found == takes.end()) return -ENOPROTOOPT;
                  if (wanted && found->second != 0) return found->second;
                  value[option] = wanted;
                  return 0;
                }};
  }
};

std::string fact(const Offload& offload, std::string_view provider, OperationCode operation,
                 std::string_view name) {
  return rdmabench::fact(offload_facts(offload, provider, operation), name);
}

TEST(Offload, AnEndpointThatKnowsNoOptionIsUnknown) {
  FakeEndpoint endpoint;
  const Offload offload = settle_offload(endpoint.options(), false);
  EXPECT_EQ(fact(offload, "efa", OperationCode::write, "one_sided"), "unknown");
  EXPECT_EQ(fact(offload, "efa", OperationCode::write, "shm_short_cut"), "unknown");
  EXPECT_EQ(fact(offload, "efa", OperationCode::write, "in_order_128"), "unknown");
}

TEST(Offload, EmulationIsToldForEachKindOfOperation) {
  FakeEndpoint endpoint;
  endpoint.gives = {{Option::emulated_read, false},
                    {Option::emulated_write, true},
                    {Option::emulated_atomics, true}};
  const Offload offload = settle_offload(endpoint.options(), false);
  EXPECT_THAT(fact(offload, "efa", OperationCode::read, "offload_told_by"),
              ::testing::HasSubstr("this side alone"));
  EXPECT_EQ(fact(offload, "efa", OperationCode::read, "one_sided"), "offloaded");
  EXPECT_EQ(fact(offload, "efa", OperationCode::write_imm, "one_sided"), "emulated");
  EXPECT_EQ(fact(offload, "efa", OperationCode::fetch_add, "one_sided"), "emulated");
  EXPECT_EQ(fact(offload, "efa", OperationCode::send, "one_sided"), "none");
  EXPECT_EQ(fact(offload, "efa", OperationCode::send, "rdma_read"), "offloaded");
  EXPECT_EQ(fact(offload, "efa", OperationCode::send, "rdma_write"), "emulated");
}

TEST(Offload, TheShortCutIsSetAsAskedAndToldOnlyWhereItWasTaken) {
  for (const bool permitted : {false, true}) {
    FakeEndpoint endpoint;
    endpoint.takes = {{Option::shared_memory, 0}};
    const Offload offload = settle_offload(endpoint.options(), permitted);
    EXPECT_EQ(endpoint.value.at(Option::shared_memory), permitted);
    EXPECT_EQ(fact(offload, "efa", OperationCode::send, "shm_short_cut"), permitted ? "yes" : "no");
  }
  FakeEndpoint refusing;
  refusing.takes = {{Option::shared_memory, -EINVAL}};  // FI_EFA_ENABLE_SHM_TRANSFER=0
  const Offload offload = settle_offload(refusing.options(), true);
  EXPECT_EQ(fact(offload, "efa", OperationCode::send, "shm_short_cut"), "unknown");
}

TEST(Offload, AskingForInOrderDeliveryLeavesItOff) {
  FakeEndpoint endpoint;
  endpoint.takes = {{Option::in_order_writes, 0}, {Option::in_order_sends, -EOPNOTSUPP}};
  const Offload offload = settle_offload(endpoint.options(), false);
  EXPECT_EQ(endpoint.value.at(Option::in_order_writes), false);
  EXPECT_EQ(fact(offload, "efa", OperationCode::write, "in_order_128"), "yes");
  EXPECT_EQ(fact(offload, "efa", OperationCode::send, "in_order_128"), "no");
}

TEST(Offload, DeliveryIsWhatTheProviderDoesAndNotWhatItGrants) {
  Offload device;
  Offload emulated;
  device.writes = true;
  emulated.writes = false;
  const auto level = [](const Offload& offload, std::string_view provider,
                        OperationCode operation) {
    return granted_level(offload, provider, "efa", operation);
  };
  EXPECT_EQ(level(device, "efa", OperationCode::write), "acknowledged");
  EXPECT_EQ(level({}, "efa", OperationCode::write_imm), "acknowledged");  // it does not say
  EXPECT_EQ(level(emulated, "efa", OperationCode::write), "delivery");
  EXPECT_EQ(level(device, "efa", OperationCode::send), "delivery");  // by a packet of the peer's
  EXPECT_EQ(granted_level(device, "efa", "efa-direct", OperationCode::send), "acknowledged");
  EXPECT_EQ(level({}, "tcp;ofi_rxm", OperationCode::write), "delivery");
  EXPECT_EQ(level({}, "tcp;ofi_rxm", OperationCode::send), "transmit");
  EXPECT_EQ(level({}, "verbs;ofi_rxm", OperationCode::send), "transmit");
  EXPECT_EQ(level({}, "verbs;ofi_rxm", OperationCode::write), "acknowledged");
  EXPECT_EQ(level({}, "tcp", OperationCode::send), "delivery");
}

TEST(Offload, ProvidersInSoftwareEmulateByNature) {
  for (const char* provider : {"tcp", "net", "tcp;ofi_rxm", "udp;ofi_rxd"}) {
    EXPECT_EQ(fact({}, provider, OperationCode::read, "one_sided"), "emulated") << provider;
    EXPECT_EQ(fact({}, provider, OperationCode::read, "shm_short_cut"), "no") << provider;
  }
  EXPECT_EQ(fact({}, "verbs;ofi_rxm", OperationCode::read, "one_sided"), "unknown");
  EXPECT_EQ(fact({}, "shm", OperationCode::read, "shm_short_cut"), "yes");
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::offload_test
