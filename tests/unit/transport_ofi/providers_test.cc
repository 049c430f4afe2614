// Providers that need a device, as their sources say that they behave: tests/fakes/fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rdma/fi_errno.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../../fakes/fabric/fake_fabric.h"
#include "../complaint.h"
#include "../fact.h"
#include "../folder.h"
#include "pair.h"
#include "rdmabench/base/log.h"
#include "transport/ofi/fabric_abi.h"
#include "transport/ofi/fits.h"
#include "transport/ofi/provider_info.h"

namespace rdmabench::inline v1::transport::ofi::providers_test {
namespace {

using fake_fabric::Provider;
using fake_fabric::Providers;

using ::testing::HasSubstr;

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

// -- versions

TEST(OfiProviders, ALibraryIsAskedForTheInterfaceThatIsUsedAndHasIt) {
  struct Case {
    std::uint32_t library;
    std::uint32_t asked;
  };
  for (const auto& [library, asked] :
       {Case{FI_VERSION(1, 17), FI_VERSION(1, 17)}, Case{FI_VERSION(1, 18), FI_VERSION(1, 18)},
        Case{FI_VERSION(1, 20), FI_VERSION(1, 20)}, Case{FI_VERSION(2, 6), FI_VERSION(1, 20)}}) {
    SCOPED_TRACE(library);
    const Providers here({fake_fabric::efa()}, library);
    offer(request("efa", OperationCode::send));
    EXPECT_EQ(fake_fabric::state().asked, asked);
  }
}

TEST(OfiProviders, AProviderOfAnOlderInterfaceThanItsLibraryIsOffered) {
  for (const auto& [library, interface] : {std::pair(FI_VERSION(1, 22), FI_VERSION(1, 21)),
                                           std::pair(FI_VERSION(2, 3), FI_VERSION(2, 2))}) {
    const Providers here({fake_fabric::cxi(interface)}, library);
    EXPECT_THAT(offer(request("cxi", OperationCode::send)), ::testing::HasSubstr("cxi0"));
  }
}

TEST(OfiProviders, WhatEfaEmulatesIsAskedOfALibraryThatCanTell) {
  Provider efa = fake_fabric::efa();
  efa.facts = {{option::kEfaEmulatedRead, false},
               {option::kEfaEmulatedWrite, true},
               {option::kEfaEmulatedAtomics, true}};
  efa.settable = {option::kSharedMemoryPermitted};
  for (const bool tells : {false, true}) {
    const Providers here({efa}, tells ? FI_VERSION(1, 21) : FI_VERSION(1, 17));
    const Pair pair(request("efa", OperationCode::read));
    const auto facts = pair.a->describe().details;
    EXPECT_EQ(fact(facts, "rdma_read"), tells ? "offloaded" : "unknown");
    EXPECT_EQ(fact(facts, "rdma_write"), tells ? "emulated" : "unknown");
    EXPECT_EQ(fact(facts, "shm_short_cut"), tells ? "no" : "unknown");
    EXPECT_EQ(fact(facts, "interface"), tells ? "1.20" : "1.17");
  }
}

// -- what is offered

std::vector<std::string> fabrics_of_devices() {
  std::vector<std::string> all;
  for (const DeviceInfo& device : devices()) all.push_back(fact(device.details, "fabric"));
  return all;
}

TEST(OfiProviders, DevicesTellEfaFromEfaDirect) {
  const Providers here({fake_fabric::efa_direct(), fake_fabric::efa()});
  EXPECT_THAT(fabrics_of_devices(), ::testing::ElementsAre("efa-direct", "efa"));
}

TEST(OfiProviders, LinkedProvidersAreNotOffered) {
  const Providers here({fake_fabric::lnx("lnx"), fake_fabric::lnx("shm+cxi"), fake_fabric::efa()});
  EXPECT_THAT(fabrics_of_devices(), ::testing::ElementsAre("efa"));
}

TEST(OfiProviders, HintsHoldNothingThatAnotherSessionMayClose) {
  const Providers here({fake_fabric::efa()}, FI_VERSION(2, 6));
  const EndpointRequest r = request("efa", OperationCode::write);
  const std::string text = offer(r);
  const Endpoint other(r, choose(r, text, text).client);  // its entries name what is open
  const Endpoint one(r, choose(r, text, text).client);
  EXPECT_EQ(fake_fabric::state().calls.borrowed, 0);
}

// -- receives at set-up

TEST(OfiProviders, AReceiveThatIsRefusedForNowIsPostedAgain) {
  Provider cxi = fake_fabric::cxi();
  cxi.receives_refused = 3;
  const Providers here({cxi});
  Pair pair(request("cxi", OperationCode::send));
  pair.must([&] { return pair.a->post<Send>(0, 0, 8, 0, Signal::now); });
  pair.poll_until([&] { return !pair.at_b.empty(); });
}

TEST(OfiProviders, ReceivesThatAreRefusedForGoodEndTheSetUp) {
  Provider cxi = fake_fabric::cxi();
  cxi.receives_refused = 1 << 30;
  const Providers here({cxi});
  EndpointRequest r = request("cxi", OperationCode::send);
  r.timeout = std::chrono::milliseconds(5);
  EXPECT_THAT(complaint([&] { Pair pair(r); }, Fault::failed),
              ::testing::HasSubstr("it took 0 of 5 receives"));
}

// -- an endpoint that does not close

TEST(OfiProviders, AnEndpointWhoseCloseDoesNotReturnIsLeftToAThread) {
  Provider efa = fake_fabric::efa();
  efa.close_waits = true;
  const Providers here({efa});
  fake_fabric::State& state = fake_fabric::state();
  state.closes = false;
  state.closed = 0;
  std::string told;
  set_log([&](std::string_view line) {
    if (line.find("fi_close") != std::string_view::npos) told = line;
  });
  EndpointRequest r = request("efa", OperationCode::send);
  r.timeout = std::chrono::milliseconds(1);
  std::optional<Pair> pair(r);
  pair.reset();
  set_log(nullptr);
  EXPECT_THAT(told, has_all("fi_close(efa on rdmap0s29-rdm)", "1 ms", "thread rdmabench-close"));
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
              has_all("2 endpoints of efa in this process", "start it again"));
  std::unique_lock lock(state.mutex);
  EXPECT_EQ(state.closed, 0);
  state.closes = true;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return state.closed == 2; });
  lock.unlock();
  while (threads_left_closing() > 0) std::this_thread::yield();
  EXPECT_THAT(offer(r), HasSubstr("rdmap0s29"));
}

TEST(OfiProviders, AnEndpointIsClosedByAThreadWhateverElseFailsAtItsEnd) {
  Provider efa = fake_fabric::efa();
  efa.close_waits = true;
  const Providers here({efa});
  fake_fabric::State& state = fake_fabric::state();
  state.closed_by = {};
  std::optional<Pair> pair(request("efa", OperationCode::send));
  state.names = false;
  pair.reset();
  state.names = true;
  EXPECT_NE(state.closed_by, std::thread::id());
  EXPECT_NE(state.closed_by, std::this_thread::get_id());
}

// -- memory keys

TEST(OfiProviders, ManyRegionsHaveDifferentKeysOfFewBits) {
  Provider narrow = fake_fabric::tcp();
  narrow.key_bytes = 1;
  const Providers here({narrow});
  std::vector<std::byte> memory(kSize);
  EndpointRequest r = request("tcp", OperationCode::write);
  r.buffers.assign(250, memory);
  const std::string text = offer(r);
  const Endpoint endpoint(r, choose(r, text, text).client);
  r.buffers.assign(300, memory);
  EXPECT_THAT(error_text([&] { const Endpoint more(r, choose(r, text, text).client); }),
              HasSubstr("fewer `buffers`"));
}

// -- what a session is charged for

std::uint64_t charged(const Provider& provider) {
  const Providers here({provider});
  const EndpointRequest r = request(provider.name, OperationCode::send);
  const std::string text = offer(r);
  return footprint(r, choose(r, text, text).server).memory;
}

TEST(OfiProviders, AnEndpointIsChargedForTheBuffersOfItsProvider) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  Provider efa = fake_fabric::efa();
  efa.tx_size = 4096;
  efa.rx_size = 32768;  // p4d's
  EXPECT_GE(charged(efa), (4096 + 32768) * efa.mtu);
  EXPECT_LE(charged(efa), 500 * kMiB);
  Provider direct = fake_fabric::efa_direct();
  direct.tx_size = 4096;
  direct.rx_size = 32768;
  EXPECT_LE(charged(direct), 64 * kMiB) << "it has no packets of its own";
  EXPECT_GE(charged(fake_fabric::cxi()), 9 * 12 * kMiB);
  EXPECT_LE(charged(fake_fabric::cxi()), 130 * kMiB);
}

TEST(OfiProviders, TheLayerPostsFewReceivesAndTheEnvironmentStaysTheUsers) {
  EXPECT_LE(charged(fake_fabric::verbs_rxm()), std::uint64_t{50} << 20);
  EXPECT_EQ(fake_fabric::state().rxm_receives, "128");
  EXPECT_EQ(std::getenv("FI_OFI_RXM_MSG_RX_SIZE"), nullptr);
}

// -- the link

double gbps(const Provider& provider, const std::string& root) {
  const Providers here({provider});
  const std::vector<Found> found = find_fits(request(provider.name, OperationCode::send));
  return link_gbps(*found.at(0).info, root);
}

TEST(OfiProviders, TheRateIsSysfsWhereItKnowsTheDevice) {
  const Folder root;
  const std::string ports = "sys/class/infiniband/mlx5_0/ports/";
  root.write("sys/class/infiniband/mlx5_0/device/numa_node", "0\n");
  root.write(ports + "1/state", "1: DOWN\n");
  root.write(ports + "1/rate", "10 Gb/sec (4X SDR)\n");
  root.write(ports + "2/state", "4: ACTIVE\n");
  root.write(ports + "2/rate", "400 Gb/sec (4X NDR)\n");
  root.write(ports + "2/link_layer", "InfiniBand\n");
  Provider verbs = fake_fabric::verbs_rxm();
  verbs.link_speed = 0;  // as libfabric up to 1.22 says of HDR and NDR
  EXPECT_EQ(gbps(verbs, root.path()), 400);
  root.write(ports + "2/rate", "40 Gb/sec (4X QDR)\n");
  EXPECT_EQ(gbps(verbs, root.path()), 32) << "8b/10b takes a fifth";
}

TEST(OfiProviders, TheRateIsTheProvidersWhereSysfsDoesNotKnowTheDevice) {
  const Folder root;
  Provider cxi = fake_fabric::cxi();
  cxi.link_speed = 200'000'000'000;
  EXPECT_EQ(gbps(cxi, root.path()), 200);
  Provider efa = fake_fabric::efa();
  efa.link_speed = 100'000'000'000;
  EXPECT_EQ(gbps(efa, root.path()), 0) << "what older kernels say of every device";
}

// -- where memory lies

TEST(OfiProviders, HostMemoryIsPlacedNearTheProvidersNic) {
  const Providers here({fake_fabric::efa()});
  const auto placement = [](std::string_view numa) {
    EndpointRequest r = request("efa", OperationCode::send);
    r.numa = numa;
    return fact(Pair(r).a->describe().details, "memory_placement");
  };
  // Whether this machine has such a function, and knows its node, is not the fake's to say.
  EXPECT_THAT(placement("auto"), ::testing::HasSubstr("0000:00:1d.0"));
  EXPECT_EQ(placement("none"), "any node");
  EXPECT_THAT(complaint([&] { placement("999"); }, Fault::usage),
              ::testing::HasSubstr("NUMA node 999"));
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
    const Providers here({provider}, FI_VERSION(2, 1));
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

TEST(OfiProviders, ANewerLibraryHasRoomBehindTheStructuresOfThisBuild) {
  Provider efa = fake_fabric::efa();
  efa.queue_fails = true;
  const Providers here({efa}, FI_VERSION(2, 6));
  const EndpointRequest r = request("efa", OperationCode::send);
  const std::string text = offer(r);
  Endpoint endpoint(r, choose(r, text, text).client);
  EXPECT_EQ(fake_fabric::state().calls.dirty, 0);
  EXPECT_LT(endpoint.poll([](const Received&) {}), 0);
  EXPECT_THAT(endpoint.failure(), HasSubstr("Input/output error"));
}

TEST(OfiProviders, AnOptionIsAskedOfAReleaseThatKnowsIt) {
  for (const std::uint32_t release :
       {FI_VERSION(1, 21), FI_VERSION(1, 22), FI_VERSION(2, 0), FI_VERSION(2, 6)}) {
    const Providers here({fake_fabric::efa_of(release)}, release);
    EndpointRequest r = request("efa", OperationCode::send_imm, /*latency=*/true);
    r.operations = {OperationCode::send_imm, OperationCode::write_imm};
    const std::string text = offer(r);
    const Endpoint endpoint(r, choose(r, text, text).client);
    EXPECT_EQ(fake_fabric::state().calls.unknown_options, 0) << release;
  }
}

// -- the size of messages

EndpointRequest of_size(OperationSet operations, std::uint64_t size) {
  EndpointRequest r = request("", OperationCode::send);
  r.operations = operations;
  r.max_size = size;
  return r;
}

TEST(OfiProviders, EfaDirectIsTakenForWhatItCanSend) {
  struct Case {
    OperationSet operations;
    std::uint64_t size;
    std::string fabric;
  };
  constexpr std::uint64_t kLarge = 9000;  // more than a packet
  for (const Case& one :
       {Case{OperationCode::send, 8, "efa-direct"}, Case{OperationCode::send, kLarge, "efa"},
        Case{OperationCode::write, kLarge, "efa-direct"},
        Case{{OperationCode::write, OperationCode::send_imm}, kLarge, "efa"}}) {
    for (const std::uint32_t version : {FI_VERSION(2, 1), FI_VERSION(2, 4)}) {
      const Providers here({fake_fabric::efa_direct(), fake_fabric::efa()}, version);
      Pair pair(of_size(one.operations, one.size));
      EXPECT_EQ(fact(pair.a->describe().details, "fabric"), one.fabric) << one.size;
      if (!one.operations.has(OperationCode::send)) continue;
      pair.must([&] { return pair.a->post<Send>(0, 0, one.size, 0, Signal::now); });
      pair.poll_until([&] { return !pair.at_b.empty(); });
      EXPECT_EQ(pair.at_b[0].bytes, one.size);
    }
  }
}

TEST(OfiProviders, EfaDirectByNameIsRefusedWithTheSizeThatItSends) {
  const Providers here({fake_fabric::efa_direct(), fake_fabric::efa()}, FI_VERSION(2, 1));
  EndpointRequest r = of_size(OperationCode::send, 9000);
  r.fabric = "efa-direct";
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
              has_all("messages of 9000 bytes", "fabric efa-direct takes 8928", "`sizes`"));
  r.max_size = 8928;
  EXPECT_THAT(offer(r), HasSubstr("efa-direct"));
}

// -- queues

TEST(OfiProviders, EfaKeepsTheQueuesThatItsPacketsNeed) {
  for (const auto& [provider, sends, receives] :
       {std::tuple{fake_fabric::efa(), "4096", "8192"},
        std::tuple{fake_fabric::efa_direct(), "4096", "8192"},
        std::tuple{fake_fabric::opx(), "64", "64"}}) {
    SCOPED_TRACE(provider.fabric);
    const Providers here({provider}, FI_VERSION(2, 1));
    const EndpointRequest r = request(provider.name, OperationCode::send);
    const std::string text = offer(r);
    const auto facts = Endpoint(r, choose(r, text, text).client).describe().details;
    EXPECT_EQ(fact(facts, "send_queue"), sends);
    EXPECT_EQ(fact(facts, "receive_queue"), receives);
  }
}

// -- what a completion proves

TEST(OfiProviders, AnAcknowledgementIsNotCalledADelivery) {
  Provider device = fake_fabric::efa();
  device.facts = {{option::kEfaEmulatedWrite, false}};
  Provider emulated = fake_fabric::efa();
  emulated.facts = {{option::kEfaEmulatedWrite, true}};
  for (const auto& [provider, level] :
       {std::tuple{device, "acknowledged"}, std::tuple{emulated, "delivery"},
        std::tuple{fake_fabric::efa_direct(), "acknowledged"},
        std::tuple{fake_fabric::verbs_rxm(), "acknowledged"},
        std::tuple{fake_fabric::opx(), "acknowledged"},
        std::tuple{fake_fabric::cxi(), "delivery"}}) {
    SCOPED_TRACE(provider.name);
    const Providers here({provider}, FI_VERSION(2, 1));
    const EndpointRequest r = request(provider.name, OperationCode::write);
    const std::string text = offer(r);
    EXPECT_EQ(Endpoint(r, choose(r, text, text).client).describe().completion, level);
  }
}

// -- writes with immediate at all

TEST(OfiProviders, AWriteWithImmediateIsRefusedWhereTheTargetWouldNotHearOfIt) {
  for (const auto& [provider, version] :
       {std::pair{fake_fabric::cxi(), FI_VERSION(2, 6)},
        std::pair{fake_fabric::opx_of_1_22(), FI_VERSION(1, 22)}}) {
    SCOPED_TRACE(provider.name);
    const Providers here({provider}, version);
    EndpointRequest r = request(provider.name, OperationCode::write_imm);
    EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
                has_all(provider.name + " removed by writes", "`target_idle`"));
    // As a write that nobody is told of it is there; and a message brings its immediate.
    r.operations = {OperationCode::write, OperationCode::read, OperationCode::send_imm};
    Pair pair(r);
    memory::fill_pattern(slot(pair.a->send_region(), 0), 9);
    pair.must([&] { return pair.a->post<Write>(0, 0, kSize, 0, Signal::now); });
    pair.settle();
    EXPECT_TRUE(holds(pair.b->window(), 0, 9));
    pair.must([&] { return pair.a->post<SendImm>(0, 0, 8, 7, Signal::now); });
    pair.poll_until([&] { return !pair.at_b.empty(); });
    EXPECT_EQ(pair.at_b[0].immediate, 7U);
  }
}

TEST(OfiProviders, AProviderWhoseMessagesCarryNoImmediateIsRefusedThem) {
  const Providers here({fake_fabric::lpp()}, FI_VERSION(2, 6));
  for (const OperationCode code : {OperationCode::send_imm, OperationCode::write_imm}) {
    EXPECT_THAT(complaint([&] { offer(request("lpp", code)); }, Fault::unavailable),
                HasSubstr("lpp removed by remote completion data"));
  }
  EXPECT_THAT(offer(request("lpp", OperationCode::send)), HasSubstr("lpp0"));
}

TEST(OfiProviders, TcpIsNotMeasuredUnawaresInPlaceOfRdma) {
  const Providers here({fake_fabric::cxi(), fake_fabric::tcp()}, FI_VERSION(2, 6));
  EndpointRequest r = request("", OperationCode::write_imm);
  EXPECT_THAT(complaint([&] { offer(r); }, Fault::unavailable),
              has_all("cxi removed by writes", "name `provider` tcp"));
  r.options.ofi.provider = "tcp";
  EXPECT_THAT(offer(r), HasSubstr("tcp"));
  EXPECT_THAT(offer(request("", OperationCode::send)), has_all("cxi", "tcp"));
}

TEST(OfiProviders, EfaDirectHasNoShortCutThroughMemory) {
  for (const auto& [provider, told] :
       {std::pair{fake_fabric::efa(), "yes"}, std::pair{fake_fabric::efa_direct(), "no"}}) {
    const Providers here({provider}, FI_VERSION(2, 1));
    EndpointRequest r = request("efa", OperationCode::send);
    r.options.ofi.shared_memory = true;
    const std::string text = offer(r);
    const auto facts = Endpoint(r, choose(r, text, text).client).describe().details;
    EXPECT_EQ(fact(facts, "shm_short_cut"), told) << provider.fabric;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi::providers_test
