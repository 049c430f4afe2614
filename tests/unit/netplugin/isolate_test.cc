// A child that crashes, ends or hangs, and the frames to it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "../has_all.h"
#include "netplugin/isolate.h"
#include "netplugin/net_of.h"
#include "netplugin/oob_channel.h"
#include "netplugin/task.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::netplugin {
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

TEST(Isolate, ThePluginHasNoSocketOfTheParent) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  Child child([](Pipe&, Steps&) {
    std::string open;
    for (int one = 0; one < 1000; ++one) {
      if (fcntl(one, F_GETFD) >= 0) open += std::to_string(one) + " ";
    }
    return open;
  });
  EXPECT_EQ(result_text_of(child, soon()), "0 1 2 3 ");
  close(listener);
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

TEST(Isolate, TellsACallOfExitFromAnEnd) {
  EXPECT_THAT(trouble_of([](Pipe&, Steps&) -> std::string { std::exit(3); }),
              HasSubstr("called exit(3)"));
  EXPECT_THAT(trouble_of([](Pipe&, Steps&) -> std::string { std::exit(0); }),
              HasSubstr("called exit(0)"));
}

TEST(Isolate, NamesTheSignalThatAHandlerTook) {
  const auto with = [](void (*handler)(int), int signal) {
    return trouble_of(
        [=](Pipe&, Steps&) -> std::string {
          std::signal(signal, handler);
          watch_handlers();
          watch_handlers();  // what is watched already stays so
          std::raise(signal);
          return "";
        },
        std::chrono::seconds(1));
  };
  EXPECT_THAT(with([](int) { _exit(5); }, SIGSEGV),
              has_all("crashed (SIGSEGV)", "handler ended the process (exit code 5)"));
  EXPECT_THAT(with([](int) { std::abort(); }, SIGBUS),
              has_all("crashed (SIGBUS)", "handler crashed (SIGABRT)"));
  EXPECT_THAT(with(
                  [](int) {
                    for (;;) pause();
                  },
                  SIGFPE),
              has_all("crashed (SIGFPE)", "handler does not return"));
  // As that of UCX does after its backtrace.
  EXPECT_THAT(with(
                  [](int signal) {
                    std::signal(signal, SIG_DFL);
                    std::raise(signal);
                  },
                  SIGABRT),
              HasSubstr("the plugin crashed (SIGABRT)"));
}

TEST(Isolate, AFaultReachesTheHandlerToo) {
  EXPECT_THAT(trouble_of([](Pipe&, Steps&) -> std::string {
                std::signal(SIGSEGV, [](int) { _exit(6); });
                watch_handlers();
                void* const page =
                    mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                *static_cast<volatile char*>(page) = 1;
                return "";
              }),
              has_all("crashed (SIGSEGV)", "handler ended the process"));
}

TEST(Isolate, AProcessThatTheChildLeavesBehindHidesNothing) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(trouble_of([](Pipe&, Steps&) -> std::string {
                if (fork() == 0) {
                  sleep(5);
                  _exit(0);
                }
                _exit(4);
              }),
              HasSubstr("ended the process (exit code 4)"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
}

TEST(Isolate, KeepsWhatAChildWroteBeforeItCrashed) {
  Child child([](Pipe&, Steps&) -> std::string {
    std::printf("one\n");
    std::fprintf(stderr, "two\n");
    log_of_plugin(2, 0, "file", 1, "three %d", 3);
    log_of_plugin(77, 0, "file", 1, "four");
    std::raise(SIGKILL);
    return "";
  });
  EXPECT_THROW(result_text_of(child, soon()), Error);
  EXPECT_EQ(child.log(), "one\ntwo\nWARN three 3\nLOG four\n");
}

TEST(Isolate, TheLastLinesAreBoundedAndPrintable) {
  EXPECT_EQ(last_lines(""), "");
  EXPECT_EQ(last_lines("one\n\ntw\x1bo"), ". The plugin wrote: one | tw?o");
  std::string many;
  for (int i = 1; i <= 30; ++i) many += std::to_string(i) + "\n";
  EXPECT_THAT(last_lines(many),
              has_all("30 lines", "last 10: 21 | 22 | 23 | 24 | 25 | 26 | 27 | 28 | 29 | 30"));
  EXPECT_LT(last_lines(std::string(100000, 'x')).size(), 1000U);
}

TEST(Isolate, EndsAChildThatHangs) {
  const auto hang = [](Pipe&, Steps& steps) -> std::string {
    std::snprintf(steps.text[0], Steps::kLength, "receiver: in accept()");
    for (;;) pause();
  };
  std::string trouble = "the plugin hangs";  // where the child had no processor until its deadline
  for (auto limit = std::chrono::milliseconds(50); trouble == "the plugin hangs"; limit *= 2) {
    ASSERT_LT(limit, std::chrono::seconds(20));
    trouble = trouble_of(hang, limit);
  }
  EXPECT_THAT(trouble, HasSubstr("hangs while receiver: in accept()"));
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
       {with("version", 5), with("version", 13), with("device", 5000), with("device", -1),
        with("timeout_ms", 1), with("timeout_ms", 1e12), with("bytes", std::uint64_t{1} << 40U),
        with("id", "nonsense"), with("id", "look"), with("id", "devices"), with("id", "latency"),
        with("id", 7), std::string("{}"), std::string("words")}) {
    EXPECT_THROW(parse_task(text), Error) << text;
  }
  for (const char* const id : {"look", "devices"}) {
    const Task sized{
        .id = id, .version = 8, .bytes = 8, .iterations = 1, .timeout = std::chrono::seconds(3)};
    EXPECT_THROW(parse_task(to_text(sized)), Error) << id;
  }
}

/// A plugin may have written into the pipe of its process.
TEST(Properties, AreReadBackOrRefused) {
  const Properties properties{
      .name = "mlx5_0", .guid = 7, .port = -1, .latency_us = 1.5, .plane_id = 2};
  const nlohmann::json json = write_fields(properties);
  const Properties back = read_fields<Properties>(json);
  EXPECT_EQ(back.name, "mlx5_0");
  EXPECT_EQ(back.pci_path, std::nullopt);
  EXPECT_EQ(back.port, -1);
  EXPECT_EQ(back.latency_us, 1.5);
  EXPECT_EQ(back.plane_id, 2);
  EXPECT_EQ(nlohmann::json(write_fields(back)), json);
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json wrong = json;
    wrong[key] = value;
    return wrong;
  };
  EXPECT_EQ(read_fields<Properties>(with("latency_us", nullptr)).latency_us, 0) << "it was NaN";
  for (const nlohmann::json& wrong :
       {with("port", "1"), with("port", std::int64_t{1} << 40U), with("port", nullptr),
        with("guid", -1), with("name", 3), with("rail_id", "x"), with("latency_us", 1e300)}) {
    EXPECT_THROW(read_fields<Properties>(wrong), Error) << wrong;
  }
  EXPECT_THROW(read_fields<Properties>(1), Error);
  EXPECT_THROW(read_fields<Properties>(nullptr), Error);
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
  const TaskResult warned{.status = Status::warn, .reason = "speed", .values = {}};
  EXPECT_EQ(worse(passed, warned).reason, "speed");
  EXPECT_EQ(worse(warned, failed).reason, "wrong");
  EXPECT_EQ(parse<TaskResult>(to_text(warned)).status, Status::warn);
  EXPECT_FALSE(ends(warned));
  EXPECT_TRUE(ends(skipped));
  EXPECT_THROW(parse<TaskResult>(R"({"status":9})"), Error);
}

}  // namespace
}  // namespace rdmabench::inline v1::netplugin
