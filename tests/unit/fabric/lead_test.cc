// Real agents in threads of this process, measuring one another over the loop back end.
#include "lead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "../has_all.h"
#include "../health/tree.h"
#include "control/admission.h"
#include "fabric/agent.h"
#include "fabric/agents.h"
#include "fabric/schedule.h"
#include "fabric/stream.h"
#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/fabric/run.h"

namespace rdmabench::inline v1::fabric {
namespace {

using control::AdmissionMessage;
using control::Channel;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Deadline plenty() {
  return Deadline::after(std::chrono::seconds(60));
}

class LeadTest : public ::testing::Test {
 protected:
  LeadTest() : listener_("127.0.0.1", 0) {
    options_.plan.backend = "loop";
    options_.plan.operation = "send";
    options_.plan.iterations = 20;
    options_.plan.bandwidth_sizes = {4096};
    options_.plan.timeout_s = 20;
    options_.wait = std::chrono::seconds(60);
    options_.coordinator.answer_limit = std::chrono::seconds(20);
    options_.confirm = false;
  }
  ~LeadTest() override {
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::uint32_t rank, std::string run_id = "abc") {
    threads_.emplace_back([this, rank, run_id = std::move(run_id)] {
      const AgentOptions options{.rank = rank,
                                 .size = size_,
                                 .host = "host" + std::to_string(rank),
                                 .base = options_.base,
                                 .root = root_};
      std::string reason;
      try {
        reason = run_agent(options,
                           {.run_id = run_id, .port = listener_.port(), .addresses = {"127.0.0.1"}},
                           std::chrono::seconds(60))
                     .left_early;
      } catch (const std::exception& error) {
        reason = error.what();
      }
      const std::lock_guard lock(mutex_);
      if (!reason.empty()) errors_.push_back(reason);
    });
  }

  FabricResult measure(const OnFabricProgress& on_progress = {}) {
    return lead(options_, prepare(options_, size_), run_id_, listener_, on_progress);
  }

  std::vector<std::string> errors() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return errors_;
  }

  control::Listener listener_;
  FabricOptions options_;
  std::uint32_t size_ = 3;
  std::string run_id_ = "abc";
  std::string root_ = "/";  ///< of the agents' counters

 private:
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<std::string> errors_;
};

TEST_F(LeadTest, MeasuresAllPairsForReal) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
  const FabricResult outcome = measure();
  EXPECT_THAT(errors(), IsEmpty());
  EXPECT_THAT(outcome.matrix.lost, IsEmpty());
  ASSERT_THAT(outcome.matrix.measurements, SizeIs(3 * 2 * 2));
  for (const Measurement& one : outcome.matrix.measurements) {
    EXPECT_EQ(one.error, "");
    EXPECT_GT(one.value, 0);
  }
  EXPECT_EQ(outcome.matrix.nodes[2].host, "host2");
  EXPECT_FALSE(outcome.matrix.nodes[2].environment.empty());
}

/// The device that the endpoints name has counters and counts nothing: another one did the work.
TEST_F(LeadTest, ADeviceThatDidNotCarryTheBytesIsFound) {
  const health::Tree tree;
  const auto count = [&tree](const std::string& device, std::uint64_t bytes) {
    tree.write("sys/class/net/" + device + "/statistics/tx_bytes", std::to_string(bytes) + "\n");
  };
  count("memory", 100);
  count("eth0", 100);
  root_ = tree.root();
  options_.base.requirements = run::parse_requirements("backend=loop");
  options_.plan.latency_sizes.clear();
  options_.plan.bandwidth_sizes = {1 << 20};
  for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
  const FabricResult outcome = measure([&](const FabricProgress& progress) {
    if (progress.round == 1) count("eth0", std::uint64_t{1} << 40);
  });
  EXPECT_THAT(errors(), IsEmpty());
  const auto findings = prove(outcome.matrix);
  ASSERT_THAT(findings, SizeIs(3));
  for (const report::RequirementFinding& finding : findings) {
    EXPECT_THAT(finding.subject, HasSubstr("memory of node"));
    EXPECT_EQ(finding.status, Status::fail);
    EXPECT_EQ(finding.counted, 0.0);
    // At least what was timed, to two nodes.
    EXPECT_GE(finding.least, 20 * double(1 << 20));  // half of that
    EXPECT_THAT(finding.text, HasSubstr("sent by eth0 1.1e+06 MB"));
  }
  EXPECT_THAT(to_json_lines(outcome.matrix),
              HasSubstr(R"({"record":"carried","rank":2,"told":true)"));
}

TEST_F(LeadTest, FansToo) {
  for (const std::string pattern : {"one-to-many", "many-to-one"}) {
    SCOPED_TRACE(pattern);
    options_.plan.pattern = pattern;
    for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
    const FabricResult outcome = measure();
    EXPECT_THAT(errors(), IsEmpty());
    ASSERT_THAT(outcome.matrix.measurements, SizeIs(3 * 2 * 2));
    for (const Measurement& one : outcome.matrix.measurements) EXPECT_EQ(one.error, "");
  }
}

TEST_F(LeadTest, WhoDoesNotComeIsNamedAndAStrangerIsSentAway) {
  options_.wait = std::chrono::seconds(4);
  start(0);
  start(1);
  start(2, "of another run");
  const FabricResult outcome = measure();
  ASSERT_THAT(outcome.matrix.lost, SizeIs(1));
  EXPECT_EQ(outcome.matrix.lost[0].rank, 2U);
  EXPECT_THAT(outcome.matrix.lost[0].reason,
              has_all("never came", "refused", "rank 0 of another run"));
  EXPECT_THAT(outcome.matrix.measurements, SizeIs(2 * 2));
}

TEST_F(LeadTest, ANodeWithoutTheDeviceSaysSo) {
  options_.plan.backend = "ofi";
  options_.plan.provider = "pigeon";
  for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
  const FabricResult outcome = measure();
  EXPECT_THAT(errors(), AllOf(SizeIs(3), testing::Each(HasSubstr("pigeon"))));
  ASSERT_THAT(outcome.matrix.lost, SizeIs(3));
}

TEST_F(LeadTest, ConnectionsThatMakeNoSenseDoNotDisturb) {
  start(0);
  start(1);
  std::vector<Channel> open;
  std::thread strangers([&] {
    Channel wrong_rank = Channel::connect("127.0.0.1", listener_.port(), plenty());
    wrong_rank.send(AdmissionMessage::hello,
                    to_text(control::RankHello{.run_id = "abc", .rank = 7, .size = 3, .host = "x"}),
                    plenty());
    Channel nonsense = Channel::connect("127.0.0.1", listener_.port(), plenty());
    nonsense.send(AdmissionMessage::hello, "{", plenty());
    Channel liar = Channel::connect("127.0.0.1", listener_.port(), plenty());
    liar.send(AdmissionMessage::hello,
              to_text(control::RankHello{.run_id = "abc", .rank = 2, .size = 3, .host = "liar"}),
              plenty());
    liar.send(FabricMessage::ready,
              to_text(Ready{.rails = {}, .ports = {1, 2, 3}, .environment = {}}), plenty());
    open.push_back(std::move(wrong_rank));
    open.push_back(std::move(nonsense));
    open.push_back(std::move(liar));
  });
  const FabricResult outcome = measure();
  strangers.join();
  EXPECT_THAT(errors(), IsEmpty());
  ASSERT_THAT(outcome.matrix.lost, SizeIs(1));
  EXPECT_THAT(outcome.matrix.lost[0].reason, HasSubstr("3 rails"));
  EXPECT_THAT(outcome.matrix.measurements, SizeIs(2 * 2));
}

/// Of a process that has the secret and takes a rank's place, until it leaves.
TEST_F(LeadTest, TheSeatOfARankThatLeavesIsFree) {
  std::string refused;
  std::thread ranks([&] {
    start(0);
    start(1);
    for (int i = 0; i < 2; ++i) {
      Channel rogue = Channel::connect("127.0.0.1", listener_.port(), plenty());
      rogue.send(AdmissionMessage::hello,
                 to_text(control::RankHello{.run_id = "abc", .rank = 2, .size = 3, .host = "x"}),
                 plenty());
      try {
        rogue.receive(AdmissionMessage::welcome, plenty(), "welcome");
      } catch (const Error& error) {
        refused = error.what();
      }
    }
    start(2);
  });
  const FabricResult outcome = measure();
  ranks.join();
  EXPECT_EQ(refused, "");
  EXPECT_THAT(outcome.matrix.lost, IsEmpty());
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(LeadTest, TheLastRankIsWaitedForAgainWhenItLeaves) {
  std::thread ranks([&] {
    std::vector<Channel> open;
    for (int i = 0; i < 2; ++i) {
      open.clear();  // the one before leaves
      Channel& rank = open.emplace_back(Channel::connect("127.0.0.1", listener_.port(), plenty()));
      rank.send(AdmissionMessage::hello,
                to_text(control::RankHello{.run_id = "abc", .rank = 0, .size = 1, .host = "x"}),
                plenty());
      rank.receive(AdmissionMessage::welcome, plenty(), "welcome");
      rank.receive(FabricMessage::plan, plenty(), "plan");
    }
    open[0].send(FabricMessage::ready,
                 to_text(Ready{.rails = {"eth0"}, .ports = {1}, .environment = {}}), plenty());
    open[0].readable(std::chrono::seconds(60));  // the end of the run
  });
  std::vector<std::optional<Channel>> channels;
  EXPECT_THAT(admit(listener_, "abc", 1, options_.plan, plenty(), channels).lost, IsEmpty());
  channels.clear();
  ranks.join();
}

TEST_F(LeadTest, AFileOfAnotherRunIsNotGoneOnWith) {
  const std::string path = ::testing::TempDir() + "/fabric_lead_test.jsonl";
  options_.output = path;
  for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
  static_cast<void>(measure());
  EXPECT_THAT(errors(), IsEmpty());
  options_.output.clear();
  options_.resume = path;
  for (std::uint32_t rank = 0; rank < 3; ++rank) start(rank);
  const FabricResult outcome = measure();
  EXPECT_THAT(outcome.matrix.measurements, SizeIs(3 * 2 * 2));
  EXPECT_THAT(errors(), IsEmpty());
  size_ = 2;
  EXPECT_THROW(prepare(options_, size_), Error);
  size_ = 3;
  options_.plan.seed = 99;
  EXPECT_THROW(prepare(options_, size_), Error);
  std::remove(path.c_str());
}

/// Of rank 0 of two, where rank 1 never comes.
class LonelyRendezvous final : public control::Rendezvous {
 public:
  LonelyRendezvous() : Rendezvous({.rank = 0, .size = 2, .host = {}, .source = {}}) {}
  control::Bootstrap meet(std::string_view /*use*/, std::uint16_t /*port*/,
                          Deadline /*until*/) override {
    ADD_FAILURE() << "rank 0 listens";
    return {};
  }
};

TEST(FabricRun, RefusesWhatIsWrongBeforeItWaitsForAnybody) {
  FabricOptions bad_plan;
  bad_plan.plan.pattern = "ring";
  FabricOptions no_folder;
  no_folder.output = "/no/such/folder/file";
  FabricOptions no_file;
  no_file.resume = "/no/such/file";
  for (FabricOptions options : {bad_plan, no_folder, no_file}) {
    options.wait = std::chrono::seconds(1);
    EXPECT_THROW(run(options, std::make_unique<LonelyRendezvous>()), Error);
  }
}

/// An agent that was let in and is now given orders by hand.
class AgentTest : public LeadTest {
 protected:
  Channel let_in() {
    start(1);
    Channel channel = listener_.accept(plenty()).value();
    const control::RankHello hello =
        parse<control::RankHello>(channel.receive(AdmissionMessage::hello, plenty(), "hello"));
    EXPECT_EQ(hello.rank, 1U);
    channel.send(AdmissionMessage::welcome, {}, plenty());
    channel.send(FabricMessage::plan, to_text(PlanOrder{options_.plan}), plenty());
    ready_ = parse<Ready>(channel.receive(FabricMessage::ready, plenty(), "readiness"));
    return channel;
  }

  Ready ready_;
};

TEST_F(AgentTest, AnswersWhetherItIsThereAlsoWhileItMeasures) {
  options_.plan.timeout_s = 2;
  Channel channel = let_in();
  // Its own server, under another node's number.
  MeasureOrder order{.number = 1,
                     .senders = 2,  // it waits for a second sender, who never comes
                     .rails = {0},
                     .targets = {{.rank = 0, .address = "127.0.0.1", .ports = ready_.ports}}};
  channel.send(FabricMessage::order, to_text(order), plenty());
  channel.send(FabricMessage::ready, {}, plenty());
  EXPECT_EQ(channel.receive(plenty(), "word").type, FabricMessage::ready);
  const Results results =
      parse<Results>(channel.receive(FabricMessage::results, plenty(), "results"));
  EXPECT_TRUE(results.last);
  ASSERT_THAT(results.cells, SizeIs(2));
  for (const Measurement& cell : results.cells) EXPECT_THAT(cell.error, HasSubstr("1 of 2"));
  channel.send(FabricMessage::bye, {}, plenty());
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(AgentTest, RefusesOrdersThatMakeNoSense) {
  const Target self{.rank = 1, .address = "127.0.0.1", .ports = {1}};
  const Target good{.rank = 0, .address = "127.0.0.1", .ports = {1}};
  const std::vector<std::string> orders{
      "{}",
      to_text(MeasureOrder{.number = 1, .senders = 1, .rails = {}, .targets = {good}}),
      to_text(MeasureOrder{.number = 1, .senders = 1, .rails = {1}, .targets = {good}}),
      to_text(MeasureOrder{.number = 1, .senders = 1, .rails = {0}, .targets = {}}),
      to_text(MeasureOrder{.number = 1, .senders = 1, .rails = {0}, .targets = {self}}),
      to_text(MeasureOrder{.number = 1,
                           .senders = 1,
                           .rails = {0},
                           .targets = {{.rank = 0, .address = "127.0.0.1", .ports = {1, 2}}}}),
  };
  for (const std::string& order : orders) {
    SCOPED_TRACE(order);
    Channel channel = let_in();
    channel.send(FabricMessage::order, order, plenty());
    EXPECT_EQ(channel.receive(plenty(), "word").type, FabricMessage::abort);
  }
  EXPECT_THAT(errors(), SizeIs(orders.size()));
}

TEST_F(AgentTest, LeavesWhenTheCoordinatorDoes) {
  { const Channel channel = let_in(); }
  EXPECT_THAT(errors(), Contains(HasSubstr("closed the connection")));
}

TEST(BootstrapAddress, IsReadAsItWasWritten) {
  const control::BootstrapAddress made = control::make_bootstrap_address(1234);
  const control::BootstrapAddress read = parse<control::BootstrapAddress>(to_text(made));
  EXPECT_EQ(read.run_id, made.run_id);
  EXPECT_EQ(read.port, 1234);
  EXPECT_EQ(read.addresses, made.addresses);
  EXPECT_FALSE(read.addresses.empty());
  EXPECT_NE(control::make_bootstrap_address(1).run_id, made.run_id);
  EXPECT_THROW(parse<control::BootstrapAddress>(R"({"run_id":"x","port":0,"addresses":[]})"),
               Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric
