// A child that crashes, ends or hangs, and the frames to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "netplugin/isolate.h"
#include "netplugin/oob_channel.h"
#include "netplugin/task.h"
#include "rdmabench/base/error.h"

namespace rdmabench::netplugin {
namespace {

using ::testing::HasSubstr;

Deadline soon() {
  return Deadline::after(std::chrono::seconds(20));
}

std::string trouble_of(const Work& work,
                       std::chrono::milliseconds wait = std::chrono::seconds(20)) {
  Child child(work);
  try {
    result_text_of(child, Deadline::after(wait));
  } catch (const Error& error) {
    return error.what();
  }
  return "no trouble";
}

TEST(Isolate, GivesTheOutcome) {
  Child child([](Pipe&, Steps&) { return std::string("well"); });
  EXPECT_EQ(result_text_of(child, soon()), "well");
}

TEST(Isolate, NamesTheSignalAndTheStep) {
  const std::string why = trouble_of([](Pipe&, Steps& steps) -> std::string {
    std::snprintf(steps.text[1], Steps::kLength, "sender: in closeSend()");
    std::raise(SIGKILL);
    return "";
  });
  EXPECT_THAT(why, HasSubstr("crashed (SIGKILL) while sender: in closeSend()"));
}

TEST(Isolate, NamesAnExit) {
  EXPECT_THAT(trouble_of([](Pipe&, Steps&) -> std::string { _exit(3); }),
              HasSubstr("ended the process (exit code 3)"));
}

TEST(Isolate, EndsAChildThatHangs) {
  EXPECT_THAT(trouble_of(
                  [](Pipe&, Steps& steps) -> std::string {
                    std::snprintf(steps.text[0], Steps::kLength, "receiver: in accept()");
                    for (;;) pause();
                  },
                  std::chrono::milliseconds(100)),
              HasSubstr("hangs while receiver: in accept()"));
}

TEST(Isolate, CarriesWordsBothWays) {
  Child child([](Pipe& parent, Steps&) {
    RelayChannel oob(parent);
    oob.send("one");
    return oob.receive(soon()) + (oob.peer_ended() ? " early" : "");
  });
  bool closed = false;
  std::optional<Frame> frame;
  while (!frame && !closed) frame = child.pipe().receive(std::chrono::milliseconds(100), closed);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->kind, FrameKind::message);
  EXPECT_EQ(frame->text, "one");
  child.pipe().send(FrameKind::message, "two");
  EXPECT_EQ(result_text_of(child, soon()), "two");
}

TEST(Isolate, TellsAChildThatTheOtherEndIsNoMore) {
  Child child([](Pipe& parent, Steps&) -> std::string {
    RelayChannel oob(parent);
    try {
      oob.receive(soon());
    } catch (const PeerEnded&) {
      return "ended";
    }
    return "not";
  });
  child.pipe().send(FrameKind::ended, "");
  EXPECT_EQ(result_text_of(child, soon()), "ended");
}

TEST(ThreadChannels, PassAndEnd) {
  ThreadChannels channels;
  channels.end(true).send("a");
  channels.end(true).send("b");
  EXPECT_EQ(channels.end(false).receive(soon()), "a");
  channels.ended(true);
  EXPECT_TRUE(channels.end(false).peer_ended());
  EXPECT_FALSE(channels.end(true).peer_ended());
  EXPECT_EQ(channels.end(false).receive(soon()), "b");
  EXPECT_THROW(channels.end(false).receive(soon()), PeerEnded);
  EXPECT_THROW(channels.end(true).receive(Deadline::after(std::chrono::milliseconds(5))),
               PeerSilent);
}

TEST(Task, ReadsBackWhatItWrote) {
  const Task task{.id = "order", .version = 8, .device = 1, .timeout = std::chrono::seconds(3)};
  const Task back = parse_task(to_text(task));
  EXPECT_EQ(back.id, "order");
  EXPECT_EQ(back.version, 8);
  EXPECT_EQ(back.device, 1);
  EXPECT_EQ(back.timeout, std::chrono::seconds(3));
  EXPECT_TRUE(back.is_case());
}

/// What a client may not make a server do.
TEST(Task, RefusesWhatIsOutOfBounds) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    nlohmann::json task = nlohmann::json::parse(to_text(
        Task{.id = "order", .version = 8, .device = 0, .timeout = std::chrono::seconds(3)}));
    task[key] = value;
    return task.dump();
  };
  EXPECT_NO_THROW(parse_task(with("version", 6)));
  for (const std::string& text :
       {with("version", 5), with("version", 12), with("device", 5000), with("device", -1),
        with("timeout_ms", 1), with("timeout_ms", 1e12), with("bytes", std::uint64_t{1} << 40U),
        with("id", "nonsense"), with("id", "look"), with("id", "latency"), with("id", 7),
        std::string("{}"), std::string("words")}) {
    EXPECT_THROW(parse_task(text), Error) << text;
  }
}

TEST(TaskResult, KeepsTheFailureThatKnowsWhy) {
  const TaskResult passed{.values = {}};
  const TaskResult skipped{.status = Status::skip, .reason = "maxRecvs is 1", .values = {}};
  const TaskResult failed{.status = Status::fail, .reason = "wrong", .values = {}};
  const TaskResult waited{
      .status = Status::fail, .peer_ended = true, .reason = "peer", .values = {}};
  EXPECT_EQ(worse(waited, failed).reason, "wrong");
  EXPECT_EQ(worse(failed, waited).reason, "wrong");
  EXPECT_EQ(worse(waited, skipped).reason, "maxRecvs is 1");
  EXPECT_EQ(worse(passed, skipped).reason, "maxRecvs is 1");
  EXPECT_THROW(parse_task_result(R"({"status":9})"), Error);
}

}  // namespace
}  // namespace rdmabench::netplugin
