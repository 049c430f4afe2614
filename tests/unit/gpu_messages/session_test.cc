// Whole sessions in GPU memory: the transfer that is verified before any is timed, and the step
// down to the next route of registering it, on both sides.
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

#include "../fact.h"
#include "on_fake_gpu.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"
#include "run/budget.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// A server would begin libfabric, whose provider over verbs calls the fakes and keeps what it
/// made.
std::span<const Backend> linked_backends() {
  static const std::array all{verbs_backend()};
  return all;
}

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Config config_of(const std::string& memory = "cuda:0") {
  Config config;
  config.backend = "verbs";
  config.placement.devices = {"rxe0"};
  config.placement.gid_index = 1;
  config.placement.memory = memory;
  config.traffic.operation = transport::OperationCode::send;
  config.traffic.shape = workload::Shape::bandwidth;
  config.sizes = {4096};
  config.traffic.depth = 8;
  config.stop = measure::StopRule::iterations(50);
  config.timeout = std::chrono::seconds(2);
  config.traffic.watch = false;
  return config;
}

/// What the two sides agree on for such a configuration.
SessionSpec spec_of(const Config& config) {
  SessionSpec spec{.traffic = config.traffic, .endpoint = config.endpoint};
  spec.max_size = config.sizes[0];
  spec.peer_memory = "cuda:auto";
  spec.gpu = true;
  spec.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.timeout);
  return spec;
}

/// Memory for the queues of a session, and for half as many messages again as it has.
std::uint64_t one_and_a_half(const SessionSpec& spec) {
  const transport::EndpointRequest request = endpoint_request(spec, false);
  return find_backend("verbs").footprint(request, "").memory + memory_of(request) * 3 / 2;
}

class GpuSession : public OnFakeGpu {
 protected:
  static ServerConfig server_config() {
    return {.address = "127.0.0.1",
            .port = 0,
            .sessions = 1,
            .device = "rxe0",
            .gid_index = 1,
            .timeout = std::chrono::seconds(2),
            .command = "rdmabench serve"};
  }

  /// A server in a thread, until its sessions are over or it is destroyed.
  class Running {
   public:
    Running(const ServerConfig& config, GpuSession& test)
        : server_(config, [&test](const SessionEvent& event) { test.hear(line_of(event)); }),
          thread_([this] { server_.run(); }) {}
    ~Running() {
      server_.stop();
      thread_.join();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    report::Report measure(const Config& config) const {
      try {
        return run(config, "127.0.0.1", server_.port());
      } catch (const Error& thrown) {
        report::Report report;
        report.error = thrown.what();
        return report;
      }
    }
    control::Channel dial() const {
      return control::Channel::connect("127.0.0.1", server_.port(),
                                       Deadline::after(std::chrono::seconds(5)));
    }

   private:
    Server server_;
    std::thread thread_;
  };

  /// One session of a server that serves no other, as `ib_write_bw` without a host does.
  report::Report measure(const Config& config) {
    lines_ = 0;
    const Running server(server_config(), *this);
    report::Report report = server.measure(config);
    if (!report.error) wait_for_lines(1);  // else it may not have heard of us
    return report;
  }

  /// Clients of one server at the same time.
  std::vector<report::Report> measure_all(const std::vector<Config>& configs) {
    ServerConfig config = server_config();
    config.sessions = configs.size();
    const Running server(config, *this);
    std::vector<report::Report> reports(configs.size());
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < configs.size(); ++i) {
      clients.emplace_back([&, i] { reports[i] = server.measure(configs[i]); });
    }
    for (std::thread& client : clients) client.join();
    return reports;
  }

  void hear(const std::string& line) {
    const std::lock_guard lock(mutex_);
    said_ += line;
    ++lines_;
    heard_.notify_all();
  }

  /// Until the server has told of so many sessions: what they had is gone by then.
  void wait_for_lines(int lines) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(heard_.wait_for(lock, std::chrono::seconds(20), [&] { return lines_ >= lines; }));
  }

  static const std::vector<report::BandwidthResult>& rows(const report::Report& report) {
    return std::get<std::vector<report::BandwidthResult>>(report.results);
  }

  static std::string notes(const report::Report& report) {
    std::string all;
    for (const std::string& note : report.notes) all += note + '\n';
    return all;
  }

  std::mutex mutex_;
  std::condition_variable heard_;
  int lines_ = 0;
  std::string said_;  ///< by the server
};

TEST_F(GpuSession, TheFirstWayThatWorksIsKept) {
  const report::Report report = measure(config_of());
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "dma-buf, mapping default");
  EXPECT_THAT(fact(report.resolved.details, "gpu_flush"), HasSubstr("not needed"));
  EXPECT_EQ(notes(report).find("failed"), std::string::npos) << notes(report);
  EXPECT_THAT(notes(report), has_all("mapping default, relaxed ordering asked for; the server's",
                                     "mapping default, relaxed ordering asked for."));
  Config strict = config_of();
  strict.endpoint.relaxed_ordering = false;
  EXPECT_THAT(notes(measure(strict)),
              has_all("no relaxed ordering; the server's", "no relaxed ordering."));
}

TEST_F(GpuSession, AMappingThatMovesWrongBytesIsLeftForTheNextOnBothSides) {
  for (const auto operation : {transport::OperationCode::send, transport::OperationCode::write,
                               transport::OperationCode::read}) {
    SCOPED_TRACE(name(operation));
    fake_verbs::lose_bytes_of_mapping("default");
    Config config = config_of();
    config.traffic.operation = operation;
    const report::Report report = measure(config);
    EXPECT_EQ(report.error.value_or(""), "");
    ASSERT_EQ(rows(report).size(), 1U);
    EXPECT_EQ(rows(report)[0].iterations, 50U);
    for (const report::Facts* side : {&report.resolved.details, &report.environment.server}) {
      EXPECT_EQ(fact(*side, "memory_route"), "dma-buf, mapping pcie");
      EXPECT_THAT(fact(*side, "memory_routes_refused"),
                  has_all("dma-buf, mapping default: registered", "verifying transfer failed"));
    }
    EXPECT_THAT(notes(report),
                has_all("verified", "the client's cuda:0 by dma-buf, mapping default",
                        "The next route was taken"));
    fake_verbs::lose_bytes_of_mapping("");
  }
  EXPECT_THAT(said_, HasSubstr("messages"));
}

TEST_F(GpuSession, ATransferThatDoesNotCompleteTwiceIsSuchAFailureToo) {
  fake_verbs::fail_message(IBV_WC_REM_ACCESS_ERR, 0, /*times=*/2);
  const report::Report report = measure(config_of());
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "dma-buf, mapping pcie");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "dma-buf, mapping pcie");
  EXPECT_THAT(notes(report), HasSubstr("IBV_WC_REM_ACCESS_ERR"));
}

TEST_F(GpuSession, AWayThatFailedByChanceIsKept) {
  fake_verbs::fail_message(IBV_WC_RETRY_EXC_ERR);
  const report::Report report = measure(config_of());
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(rows(report).size(), 1U);
  for (const report::Facts* side : {&report.resolved.details, &report.environment.server}) {
    EXPECT_EQ(fact(*side, "memory_route"), "dma-buf, mapping default");
  }
  EXPECT_THAT(notes(report), has_all("IBV_WC_RETRY_EXC_ERR", "It was tried once more"));
  EXPECT_EQ(notes(report).find("The next route"), std::string::npos) << notes(report);
}

TEST_F(GpuSession, WhatIsNotOfTheMemoryStepsNowhere) {
  have({{"FAKE_CUDA_FAIL", "cuLaunchKernel:1:700"}});  // the first is that which fills
  const report::Report report = measure(config_of());
  EXPECT_THAT(report.error.value_or(""),
              has_all("verified before any is timed failed", "cuLaunchKernel"));
  EXPECT_THAT(rows(report), IsEmpty());
  EXPECT_EQ(notes(report).find("tried once more"), std::string::npos) << notes(report);
}

TEST_F(GpuSession, TheClientsOfAnIncastStartTogetherOrNotAtAll) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config on_gpu = config_of();
  on_gpu.traffic.incast_clients = 2;
  Config on_host = on_gpu;
  on_host.placement.memory = "host";
  const auto both = [&] { return measure_all({on_gpu, on_host}); };
  std::vector<report::Report> reports = both();
  EXPECT_THAT(reports[0].error.value_or(""),
              has_all("verified before any is timed failed", "incast",
                      "`gpu_mapping` (default, pcie or data-direct)"));
  EXPECT_THAT(reports[1].error.value_or(""), HasSubstr("1 of 2 clients of the incast"));
  on_gpu.endpoint.gpu_mapping = memory::GpuMapping::pcie;
  reports = both();
  for (const report::Report& report : reports) {
    EXPECT_EQ(report.error.value_or(""), "");
    EXPECT_EQ(rows(report).size(), 1U);
  }
}

TEST_F(GpuSession, AServerOutlivesAClientThatFailsAndHasItsMemoryBack) {
  Config config = config_of();
  config.endpoint.gpu_mapping = memory::GpuMapping::standard;
  ServerConfig serving = server_config();
  serving.sessions = 0;
  serving.max_memory = one_and_a_half(spec_of(config)) + kMemoryOfMessages;
  const Running server(serving, *this);
  const auto expect_nothing_left = [&](int sessions) {
    wait_for_lines(sessions);
    EXPECT_EQ(fake_verbs::live(), 0);
    EXPECT_EQ(fake_cuda_alive("allocation") + fake_cuda_alive("vmm") + fake_cuda_alive("host"), 0);
  };
  fake_verbs::lose_gpu_bytes(true);
  EXPECT_THAT(server.measure(config).error.value_or(""), HasSubstr("verified before any is timed"));
  fake_verbs::lose_gpu_bytes(false);
  expect_nothing_left(1);
  EXPECT_EQ(server.measure(config).error.value_or(""), "");
  expect_nothing_left(2);
  config.sizes = {2 * config.sizes[0]};
  EXPECT_THAT(server.measure(config).error.value_or(""), HasSubstr("--max-memory"))
      << "one session at a time is all that it has memory for";
}

// A client that hears that the server wants to start over, and says nothing for a while.
TEST_F(GpuSession, MemoryIsCountedUntilItsLinksAreClosed) {
  fake_verbs::lose_bytes_of_mapping("default");
  const SessionSpec spec = spec_of(config_of());
  ServerConfig config = server_config();
  config.sessions = 0;
  config.max_memory = one_and_a_half(spec) + 2 * kMemoryOfMessages;
  const Running server(config, *this);
  {
    Session session(server.dial(), spec.timeout);
    session.agree(spec);
    transport::EndpointRequest request = endpoint_request(spec, true);
    request.device = "rxe0";
    request.gid_index = 1;
    request.memory = "cuda:0";
    const Backend& verbs = find_backend("verbs");
    const Offer own = make_offer(verbs, request);
    session.send(SessionMessage::request, to_text(Request{spec, {{own}}}));
    const std::vector<Offer> offers =
        parse<std::vector<Offer>>(session.receive(SessionMessage::offer, "offer"));
    const transport::Choice choice = verbs.choose(request, own.text, offers.at(0).text);
    session.send(SessionMessage::choice, to_text(Selection{"verbs", {choice.server}}));
    session.receive(SessionMessage::ready, "admission");
    const Introduction peer =
        parse<Introduction>(session.receive(SessionMessage::address, "address"));
    session.open(verbs, request, choice.client);
    session.send(SessionMessage::address, to_text(Introduction{session.addresses(), {}}));
    session.connect(peer.addresses);
    session.receive(SessionMessage::ready, "readiness");
    const EpochOrder order{.size = spec.max_size, .iterations = 8, .verify = true};
    std::vector<measure::Ticks> intervals(order.iterations);
    session.prepare(workload::Side::initiator, order);
    session.send(SessionMessage::epoch, to_text(order));
    session.receive(SessionMessage::ready, "readiness");
    session.run(intervals);
    EXPECT_THAT(complaint([&] { session.receive(SessionMessage::result, "result"); }).what(),
                HasSubstr("wrong messages"));
    EXPECT_TRUE(session.peer_gave_up());
    EXPECT_THAT(server.measure(config_of()).error.value_or(""), HasSubstr("--max-memory"));
    session.channel().abort("enough");
  }
  wait_for_lines(2);
  EXPECT_EQ(fake_verbs::live(), 0);
  fake_verbs::lose_bytes_of_mapping("");
  EXPECT_EQ(server.measure(config_of()).error.value_or(""), "");
}

TEST_F(GpuSession, ASideWhoseMemoryIsTheHostsStepsNowhere) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of("host");
  config.placement.peer_memory = "cuda:1";
  const report::Report report = measure(config);
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "dma-buf, mapping pcie");
}

TEST_F(GpuSession, WhenNoMappingWorksTheLastWayIsStagedAndIsSaid) {
  fake_verbs::lose_gpu_bytes(true);
  const report::Report report = measure(config_of());
  fake_verbs::lose_gpu_bytes(false);
  EXPECT_EQ(report.error.value_or(""), "");
  ASSERT_EQ(rows(report).size(), 1U);
  EXPECT_EQ(fact(report.resolved.details, "memory_route"), "staged");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "staged");
  EXPECT_THAT(notes(report), HasSubstr("staged, no relaxed ordering")) << "it lies in the host's";
  const std::string refused = fact(report.resolved.details, "memory_routes_refused");
  EXPECT_THAT(refused, has_all("mapping default: registered", "mapping pcie: registered"));
}

TEST_F(GpuSession, GpuDirectIsRequiredOfBothSides) {
  Config config = config_of();
  config.requirements = parse_requirements("gpudirect");
  EXPECT_EQ(measure(config).error.value_or(""), "");
  config.placement.memory = "host";
  config.placement.peer_memory = "cuda:1";
  EXPECT_EQ(measure(config).error.value_or(""), "");
  config.placement.peer_memory = "host";
  EXPECT_THAT(measure(config).error.value_or(""), has_all("both sides", "host memory"));

  fake_verbs::lose_gpu_bytes(true);
  config.placement.memory = config.placement.peer_memory = "cuda:1";
  EXPECT_THAT(measure(config).error.value_or(""), HasSubstr("The client's GPU memory is copied"));
  config.placement.memory = "host";
  config.placement.peer_memory = "cuda:1";
  EXPECT_THAT(measure(config).error.value_or(""), HasSubstr("The server's GPU memory is copied"));
  fake_verbs::lose_gpu_bytes(false);
}

TEST_F(GpuSession, OneStagedDeviceMakesItsSideStaged) {
  std::vector<fake_verbs::Device> devices(2, fake_verbs::soft_roce());
  devices[0].takes_dma_buf = true;
  devices[1].name = "rxe1";  // whose server side comes second
  ++devices[1].guid;
  devices[1].ports[0].gids = {{.index = 0, .address = "fe80::2"},
                              {.index = 1, .address = "10.0.0.2"}};
  fake_verbs::reset(devices);
  ServerConfig serving = server_config();
  serving.device = "";
  serving.sessions = 0;
  const Running server(serving, *this);
  Config config = config_of("host");
  config.placement.peer_memory = "cuda:1";
  config.placement.devices = {"rxe0"};
  EXPECT_FALSE(server.measure(config).resolved.staged);
  config.placement.devices.emplace_back("rxe1");
  config.traffic.threads = 2;
  const report::Report report = server.measure(config);
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_TRUE(report.resolved.staged);
  config.requirements = parse_requirements("gpudirect");
  EXPECT_THAT(server.measure(config).error.value_or(""),
              HasSubstr("The server's GPU memory is copied"));
  std::swap(config.placement.memory, config.placement.peer_memory);
  EXPECT_THAT(server.measure(config).error.value_or(""),
              HasSubstr("The client's GPU memory is copied"));
  wait_for_lines(4);
}

TEST_F(GpuSession, AMappingThatWasAskedForFailsAndIsNotReplaced) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of();
  config.endpoint.gpu_mapping = memory::GpuMapping::standard;
  const report::Report report = measure(config);
  EXPECT_THAT(report.error.value_or(""), has_all("verified before any is timed failed",
                                                 "dma-buf, mapping default", "`gpu_mapping`"));
  EXPECT_THAT(rows(report), IsEmpty());
}

TEST_F(GpuSession, WhatNoWayCuresEndsWithItsReasonAndSoDoesTheServer) {
  have({{"FAKE_CUDA_FAIL", "cuLaunchKernel:0:700"}});
  const auto begin = std::chrono::steady_clock::now();
  const report::Report report = measure(config_of());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  EXPECT_THAT(report.error.value_or(""),
              has_all("verified before any is timed failed", "cuLaunchKernel"));
  EXPECT_THAT(rows(report), IsEmpty());
  EXPECT_NE(said_, "");
}

TEST_F(GpuSession, LatencyAndSeveralLinksStepDownToo) {
  fake_verbs::lose_bytes_of_mapping("default");
  Config config = config_of();
  config.traffic.shape = workload::Shape::latency;
  EXPECT_EQ(measure(config).error.value_or(""), "");
  config.traffic.shape = workload::Shape::bidirectional;
  config.traffic.threads = 2;
  config.endpoint.queue_pairs = 2;
  const report::Report report = measure(config);
  EXPECT_EQ(report.error.value_or(""), "");
  EXPECT_EQ(fact(report.environment.server, "memory_route"), "dma-buf, mapping pcie");
}

TEST_F(GpuSession, TheFlushIsNamedOnBothSides) {
  have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
  fake_verbs::hold_gpu_writes(true);
  Config config = config_of();
  config.traffic.validate = true;
  config.traffic.operation = transport::OperationCode::write;
  const report::Report report = measure(config);
  fake_verbs::hold_gpu_writes(false);
  EXPECT_EQ(report.error.value_or(""), "");
  for (const report::Facts* side : {&report.resolved.details, &report.environment.server}) {
    EXPECT_THAT(fact(*side, "gpu_flush"), HasSubstr("the NIC reads a byte"));
    EXPECT_EQ(fact(*side, "memory_route"), "dma-buf, mapping default") << "at the first attempt";
  }
  EXPECT_GT(fake_verbs::gpu_reads(), 0);
}

TEST_F(GpuSession, AStreamThatGrowsIsCompared) {
  using transport::OperationCode;
  have({});
  for (const OperationCode operation :
       {OperationCode::send, OperationCode::write, OperationCode::read, OperationCode::fetch_add}) {
    Config config = config_of();
    config.traffic.validate = true;
    config.traffic.operation = operation;
    config.sizes = {8};
    config.warmup = 0;  // so that the first part is one message
    config.stop = measure::StopRule::duration(std::chrono::milliseconds(10));
    EXPECT_EQ(measure(config).error.value_or(""), "") << transport::name(operation);
  }
}

TEST_F(GpuSession, TheFlushIsNoPartOfWhatIsTimed) {
  const auto reads_of = [this](std::uint64_t iterations) {
    have({{"FAKE_CUDA_ORDERING", "0"}, {"FAKE_CUDA_FLUSH", "0"}});
    Config config = config_of();
    config.traffic.operation = transport::OperationCode::write;
    config.stop = measure::StopRule::iterations(iterations);
    EXPECT_EQ(measure(config).error.value_or(""), "");
    return fake_verbs::gpu_reads();
  };
  const int few = reads_of(10);
  EXPECT_GT(few, 0) << "the transfer that is verified";
  EXPECT_EQ(reads_of(1000), few) << "and nothing else";
}

}  // namespace
}  // namespace rdmabench::inline v1::run
