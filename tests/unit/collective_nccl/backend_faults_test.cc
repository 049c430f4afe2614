// What goes wrong, and that nothing waits for ever: over the fake libraries.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "../complaint.h"
#include "../folder.h"
#include "base/descriptor.h"
#include "ranks.h"
#include "rdmabench/base/error.h"
#include "results/facts.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;

NcclOptions on_gpu_0() {
  NcclOptions options;
  options.device = "0";
  return options;
}

Call call_of(std::uint64_t count) {
  Call call;
  call.count = count;
  return call;
}

/// One all-reduce on every rank; what the ranks' run_slots() said, by rank.
std::vector<std::string> outcomes(std::uint32_t size, milliseconds wait) {
  std::vector<std::string> said(size);
  const std::string error = run_ranks(size, {}, [&](NcclBackend& backend, Team team) {
    backend.prepare(call_of(64), 1, 1, soon());
    said[team.rank] = run_slots(backend, 1, wait);
    if (said[team.rank].empty()) {
      backend.close(soon());
    } else {
      backend.abort();
    }
  });
  EXPECT_EQ(error, "");
  return said;
}

/// What NCCL does with its setting (src/debug.cc): it empties the file.
void open_the_log_as_nccl_does() {
  const char* const name = std::getenv("NCCL_DEBUG_FILE");
  std::FILE* const file = name == nullptr ? nullptr : std::fopen(name, "w");
  if (file != nullptr) std::fclose(file);
}

TEST(NcclBackendFaults, AProgramsFileOutlivesAnEngineThatFailed) {
  {
    ExchangePoint point(1);
    ThreadExchange exchange(point, 0);
    NcclOptions options;
    options.device = "77";
    NcclBackend backend(options);
    EXPECT_THROW(backend.open({0, 1}, exchange, soon()), Error);
  }
  const Folder folder;
  folder.write("data", "17 bytes of data.");
  const Descriptor data(::open(folder.file("data").c_str(), O_RDWR | O_CLOEXEC));
  open_the_log_as_nccl_does();
  EXPECT_EQ(std::filesystem::file_size(folder.file("data")), 17U);
  for (const char* const name : {"NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS"}) {
    EXPECT_EQ(std::getenv(name), nullptr) << name;
  }
}

TEST(NcclBackendFaults, TheNetworkIsToldToEachEngineOfAProcess) {
  for (int engine = 0; engine < 2; ++engine) {
    std::string network;
    const std::string error = run_ranks(2, {}, [&](NcclBackend& backend, Team team) {
      if (team.rank == 0) network = report::text_of(backend.facts(), "network");
      backend.close(soon());
    });
    EXPECT_EQ(error, "");
    EXPECT_EQ(network, "Socket") << engine;
    EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
  }
}

TEST(NcclBackendFaults, AStalledRankIsLeftBehindByAbort) {
  const Setting stall("FAKE_NCCL_STALL", "1:0");
  const auto begin = steady_clock::now();
  EXPECT_EQ(outcomes(2, milliseconds(200))[0], "not done in time");
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(15));
}

TEST(NcclBackendFaults, AnAsynchronousErrorEndsTheWait) {
  const Setting error("FAKE_NCCL_ASYNC_ERROR", "0:0:6");
  EXPECT_THAT(outcomes(2, milliseconds(2000))[0],
              HasSubstr("ncclAllReduce the communicator reported ncclRemoteError (6)"));
}

TEST(NcclBackendFaults, AnInitThatNeverEndsHasADeadline) {
  // Rank 0 itself: a peer that gives up first would be the error of a rank that waits for it.
  const Setting hang("FAKE_NCCL_INIT_HANG", "0");
  NcclOptions options;
  options.non_blocking = true;
  EXPECT_THAT(run_ranks(
                  2, options, [](NcclBackend&, Team) {}, milliseconds(300)),
              has_all("ncclCommInitRankConfig of rank 0 of 2", "in time"));
}

TEST(NcclBackendFaults, ARefusedCallNamesItselfAndNcclsWords) {
  const Setting refuse("FAKE_NCCL_REFUSE", "ncclAllReduce");
  const std::string said = outcomes(2, milliseconds(2000))[1];
  EXPECT_THAT(said, HasSubstr("ncclAllReduce gave ncclInvalidUsage (5)"));
  EXPECT_THAT(said, HasSubstr("ncclAllReduce: refused"));
}

TEST(NcclBackendFaults, ARefusedRegistrationNamesTheCall) {
  const Setting refuse("FAKE_NCCL_REFUSE", "ncclCommRegister");
  NcclOptions options;
  options.registration = Registration::local;
  EXPECT_THAT(
      run_ranks(2, options,
                [](NcclBackend& backend, Team) { backend.prepare(call_of(8), 1, 1, soon()); }),
      HasSubstr("ncclCommRegister gave ncclInvalidUsage"));
}

TEST(NcclBackendFaults, ACorruptedResultIsThere) {
  const Setting corrupt("FAKE_NCCL_CORRUPT", "1:0:5");
  std::vector<std::vector<std::byte>> results(2);
  const std::string error = run_ranks(2, {}, [&](NcclBackend& backend, Team team) {
    backend.prepare(call_of(4), 1, 1, soon());
    run_slots(backend, 1);
    results[team.rank].resize(16);
    backend.read(SlotBuffer::receive, 0, 0, results[team.rank], soon());
    backend.close(soon());
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(results[0], std::vector<std::byte>(16));
  EXPECT_EQ(results[1][5], std::byte{0x10});
}

TEST(NcclBackendFaults, CapturedGraphsAreGoneBeforeAbortWhichWaitsForThem) {
  NcclOptions options;
  options.graph = true;
  EXPECT_EQ(run_ranks(1, options,
                      [](NcclBackend& backend, Team) {
                        backend.prepare(call_of(4), 2, 1, soon());
                        EXPECT_EQ(alive_in_the_driver("graph_exec"), 2);
                        EXPECT_EQ(run_slots(backend, 2), "");
                        backend.abort();  // the fake waits for graphs as NCCL does
                        EXPECT_EQ(alive_in_the_driver("graph_exec"), 0);
                      }),
            "");
}

TEST(NcclBackendFaults, CudasErrorsAreUnavailableAtTheBeginningAndAFailureLater) {
  ExchangePoint point(1);
  ThreadExchange exchange(point, 0);
  NcclOptions options;
  options.device = "0";
  options.registration = Registration::local;
  NcclBackend backend(options);
  {
    const Setting refuse("FAKE_NCCL_REFUSE", "ncclCommInitRankConfig:1");
    complaint([&] { NcclBackend(on_gpu_0()).open({0, 1}, exchange, soon()); }, Fault::unavailable);
  }
  const Setting refuse("FAKE_NCCL_REFUSE", "ncclCommRegister:1");
  backend.open({0, 1}, exchange, soon());
  const Error error = complaint([&] { backend.prepare(call_of(8), 1, 1, soon()); });
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), HasSubstr("ncclUnhandledCudaError"));
  EXPECT_THAT(error.remedy(), HasSubstr("Xid"));
  backend.abort();
}

TEST(NcclBackendFaults, CudasErrorInACommunicatorOfTheMiddleOfARunIsAFailure) {
  ExchangePoint point(1);
  ThreadExchange exchange(point, 0);
  NcclBackend backend(on_gpu_0());
  backend.open({0, 1}, exchange, soon());
  const Setting refuse("FAKE_NCCL_REFUSE", "ncclCommInitRankConfig:1");
  const Error error = complaint([&] { backend.open({0, 1}, exchange, soon()); });
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.remedy(), HasSubstr("Xid"));
}

TEST(NcclBackendFaults, ADeviceThatIsNotThereIsAUsageError) {
  ExchangePoint point(1);
  ThreadExchange exchange(point, 0);
  NcclOptions options;
  options.device = "9";
  NcclBackend backend(options);
  complaint([&] { backend.open({0, 1}, exchange, soon()); }, Fault::usage);
}

TEST(NcclBackendFaults, TwoRanksOnOneGpuAreRefusedBeforeNcclSeesThem) {
  ExchangePoint point(2);
  std::vector<std::string> said(2);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadExchange exchange(point, rank);
      NcclOptions options;
      options.device = "0";
      NcclBackend backend(options);
      try {
        backend.open({rank, 2}, exchange, soon());
      } catch (const Error& error) {
        said[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(said[0], HasSubstr("ranks 0 and 1 are on one GPU"));
  EXPECT_EQ(said[0], said[1]);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
