// What NCCL chose, through the plugin that this program is, over the fake NCCL that loads it.
#include "profiler.h"

#include <pwd.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <tuple>

#include "../folder.h"
#include "../has_all.h"
#include "ranks.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What the fake NCCL writes.
class Trace {
 public:
  std::string path() const { return folder_.file("trace"); }
  /// Lines that hold the text.
  std::ptrdiff_t count(const std::string& text) const {
    std::ifstream file(path());
    std::ptrdiff_t found = 0;
    for (std::string line; std::getline(file, line);) found += line.find(text) != line.npos ? 1 : 0;
    return found;
  }

 private:
  const Folder folder_;
};

/// The facts of a row as text: "algorithm=RING channels=8 ".
std::string words(const report::Facts& facts) {
  std::string text;
  for (const report::Fact& fact : facts) {
    text += fmt::format(
        "{}={} ", fact.name,
        std::visit([](const auto& value) { return fmt::format("{}", value); }, fact.value));
  }
  return text;
}

Call call_of(Operation operation, std::uint64_t count) {
  Call call;
  call.operation = operation;
  call.count = count;
  return call;
}

constexpr std::uint64_t kSmall = 16;
constexpr std::uint64_t kLarge = 65536;
constexpr std::uint32_t kSlots = 3;

/// What rank 0's row says of each call, after its slots ran.
std::vector<std::string> rows(const std::vector<Call>& calls, const NcclOptions& options = {}) {
  std::vector<std::string> said;
  const std::string error = run_ranks(2, options, [&](NcclBackend& backend, Team team) {
    for (const Call& call : calls) {
      backend.prepare(call, kSlots, 1, soon());
      if (const std::string why = run_slots(backend, kSlots); !why.empty()) {
        throw std::runtime_error(why);
      }
      if (team.rank == 0) said.push_back(words(backend.call_facts()));
    }
    backend.close(soon());
  });
  EXPECT_EQ(error, "");
  return said;
}

const std::vector<Call> kTwoSizes{call_of(Operation::all_reduce, kSmall),
                                  call_of(Operation::all_reduce, kLarge)};

TEST(NcclProfiler, EveryVersionOfTheInterfaceTellsTheChoice) {
  for (const auto& [nccl, table, channels] :
       {std::tuple("22304", "v1", "channels_at_most"),
        std::tuple("22403", "v2", "channels_at_most"),
        std::tuple("22602", "v3", "channels_at_most"), std::tuple("22703", "v4", "channels"),
        std::tuple("22809", "v5", "channels"), std::tuple("22905", "v6", "channels"),
        std::tuple("23007", "v6", "channels")}) {
    const Trace trace;
    const Setting version("FAKE_NCCL_VERSION", nccl);
    const Setting traced("FAKE_NCCL_TRACE", trace.path());
    const std::vector<std::string> said = rows(kTwoSizes);
    ASSERT_EQ(said.size(), 2U);
    EXPECT_THAT(said[0], HasSubstr(fmt::format("algorithm=TREE protocol=LL {}=2 ", channels)));
    EXPECT_THAT(said[1], HasSubstr(fmt::format("algorithm=RING protocol=SIMPLE {}=8 ", channels)));
    EXPECT_THAT(said[0], Not(HasSubstr("algorithm_unknown")));
    EXPECT_EQ(trace.count(fmt::format("profiler rdmabench {} mask=0", table)), 2) << nccl;
  }
}

TEST(NcclProfiler, NothingIsToldWhileTheSlotsRun) {
  for (const char* const nccl : {"22304", "22809", "23007"}) {
    for (const bool graph : {false, true}) {
      const Trace trace;
      const Setting version("FAKE_NCCL_VERSION", nccl);
      const Setting traced("FAKE_NCCL_TRACE", trace.path());
      NcclOptions options;
      options.graph = graph;
      const std::vector<std::string> said = rows(kTwoSizes, options);
      ASSERT_EQ(said.size(), 2U);
      EXPECT_THAT(said[1], HasSubstr("algorithm=RING protocol=SIMPLE"));
      // One call of each row on each rank: its group and itself.
      EXPECT_EQ(trace.count("event 1 mask="), 4) << nccl << graph;
      EXPECT_EQ(trace.count("event 2 mask="), 4) << nccl << graph;
    }
  }
}

TEST(NcclProfiler, ACallThatIsInProgressIsToldOfToo) {
  const Setting slow("FAKE_NCCL_SLOW_ENQUEUE", "1");
  NcclOptions options;
  options.non_blocking = true;
  EXPECT_THAT(rows(kTwoSizes, options)[0], HasSubstr("algorithm=TREE protocol=LL channels=2"));
}

TEST(NcclProfiler, SendsHaveNoAlgorithm) {
  const std::vector<Call> sends{call_of(Operation::all_to_all, kSmall),
                                call_of(Operation::send_receive, kSmall)};
  for (const std::string& said : rows(sends)) {
    EXPECT_THAT(said, has_all("algorithm_unknown=", "sends and receives"));
    EXPECT_THAT(said, HasSubstr("channels=2 "));
    EXPECT_THAT(said, Not(HasSubstr("protocol=")));
  }
  const Setting version("FAKE_NCCL_VERSION", "22602");
  for (const std::string& said : rows(sends)) {
    EXPECT_THAT(said, HasSubstr("sends and receives have no algorithm"));
    EXPECT_THAT(said, Not(HasSubstr("channels")));
  }
}

TEST(NcclProfiler, CopyEnginesAreToldFromVersionSixOn) {
  const Setting copies("FAKE_NCCL_CHOICE", "COPY_ENGINES:NONE:0");
  {
    const Setting version("FAKE_NCCL_VERSION", "23007");
    const std::string said = rows(kTwoSizes)[0];
    EXPECT_THAT(said, has_all("algorithm_unknown=", "copy engines"));
    EXPECT_THAT(said, Not(HasSubstr("channels")));
  }
  const Setting version("FAKE_NCCL_VERSION", "22809");
  EXPECT_THAT(rows(kTwoSizes)[0], has_all("algorithm_unknown=", "no collective"));
}

TEST(NcclProfiler, WhatCannotBeKnownSaysWhy) {
  {
    const Profiler old(version_code(2, 22, 5), 0);
    EXPECT_THAT(old.unavailable(), HasSubstr("NCCL 2.22.5 does not report"));
    const Profiler first(version_code(2, 23, 4), 0);
    EXPECT_THAT(first.unavailable(), HasSubstr("did not load"));
  }
  {
    const Setting none("NCCL_PROFILER_PLUGIN", "none");
    EXPECT_THAT(rows(kTwoSizes)[0], HasSubstr("algorithm_unknown=NCCL_PROFILER_PLUGIN is set"));
  }
  {
    // Of NCCL 2.27 and later, of a symmetric kernel.
    const Setting zeros("FAKE_NCCL_CHOICE", "TREE:LL:0");
    EXPECT_THAT(rows(kTwoSizes)[0], HasSubstr("algorithm_unknown=NCCL reported no channels"));
  }
  {
    const Setting unknown("FAKE_NCCL_CHOICE", "Unknown:Unknown:4");
    EXPECT_THAT(rows(kTwoSizes)[0], HasSubstr("algorithm_unknown="));
  }
}

TEST(NcclProfiler, AUsersPluginIsLoadedAndNotOurs) {
  const Trace trace;
  const Setting traced("FAKE_NCCL_TRACE", trace.path());
  const Setting users("NCCL_PROFILER_PLUGIN", USERS_PROFILER);
  EXPECT_THAT(rows(kTwoSizes)[0], HasSubstr("algorithm_unknown=NCCL_PROFILER_PLUGIN is set"));
  EXPECT_EQ(trace.count("profiler users v4 mask=0"), 2);
  EXPECT_EQ(trace.count("profiler"), 2);
  EXPECT_EQ(trace.count("event"), 0);
  EXPECT_STREQ(std::getenv("NCCL_PROFILER_PLUGIN"), USERS_PROFILER);
}

TEST(NcclProfiler, APluginInAFileOfSettingsIsTheUsersToo) {
  const Folder folder;
  folder.write("conf", "NCCL_DEBUG=WARN\nNCCL_PROFILER_PLUGIN=inspector\n");
  const Setting settings("NCCL_CONF_FILE", folder.file("conf"));
  EXPECT_THAT(rows(kTwoSizes)[0],
              HasSubstr(fmt::format("NCCL_PROFILER_PLUGIN in '{}' is set", folder.file("conf"))));
}

TEST(NcclProfiler, TheHomeIsTheOneInWhichThatNcclLooks) {
  const Folder home_folder;
  const std::string folder = home_folder.path();
  const std::string file = home_folder.file(".nccl.conf");
  home_folder.write(".nccl.conf", "NCCL_PROFILER_PLUGIN=inspector\n");
  {
    const Setting home("HOME", folder);
    const passwd* const user = ::getpwuid(::getuid());
    const auto by_database =
        user == nullptr ? std::nullopt : std::optional<std::string>(user->pw_dir);
    EXPECT_EQ(home_of_settings(version_code(2, 23, 4)), by_database);
    EXPECT_EQ(home_of_settings(version_code(2, 29, 7)), by_database);
    EXPECT_EQ(home_of_settings(version_code(2, 30, 3)), folder);
    const Profiler newer(version_code(2, 30, 3), 0);
    EXPECT_THAT(newer.unavailable(), HasSubstr(fmt::format("'{}' is set", file)));
    const Profiler older(version_code(2, 29, 7), 0);
    EXPECT_THAT(older.unavailable(), Not(HasSubstr(folder)));
  }
  const auto users_plugin = [](const std::optional<std::string>& home) {
    return set_by_user({"NCCL_PROFILER_PLUGIN"}, home);
  };
  EXPECT_EQ(users_plugin(folder), fmt::format("NCCL_PROFILER_PLUGIN in '{}'", file));
  EXPECT_EQ(users_plugin(folder + "/none"), users_plugin(std::nullopt));
}

TEST(NcclProfiler, NothingOfItStaysInTheEnvironment) {
  // While a communicator is there too: a program that is started meanwhile has no such plugin.
  const std::string error = run_ranks(2, {}, [](NcclBackend& backend, Team team) {
    if (team.rank == 0 && std::getenv("NCCL_PROFILER_PLUGIN") != nullptr) {
      throw std::runtime_error("NCCL_PROFILER_PLUGIN is set");
    }
    backend.close(soon());
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(std::getenv("NCCL_PROFILER_PLUGIN"), nullptr);
}

TEST(NcclProfiler, WordsOfNcclAreBoundedAndPrintable) {
  const Setting choice("FAKE_NCCL_CHOICE", "R\x1b[31m\nG" + std::string(5000, 'x') + ":L L:3");
  const std::string said = rows(kTwoSizes)[0];
  EXPECT_THAT(said, HasSubstr("algorithm=R?[31m?Gxxx"));
  EXPECT_THAT(said, HasSubstr("protocol=L?L channels=3 "));
  EXPECT_LT(said.size(), 700U);
}

TEST(NcclProfiler, ARankThatStallsInTheUntimedCallEndsThePreparation) {
  const Setting stall("FAKE_NCCL_STALL", "1:0");
  const std::string error = run_ranks(2, {}, [&](NcclBackend& backend, Team) {
    try {
      backend.prepare(kTwoSizes[0], 1, 1, Deadline::after(std::chrono::milliseconds(800)));
    } catch (...) {
      backend.abort();
      throw;
    }
  });
  EXPECT_THAT(error, has_all("first call of ncclAllReduce", "before timing", "in time"));
}

TEST(NcclProfiler, ARefusedUntimedCallNamesItself) {
  const Setting refuse("FAKE_NCCL_REFUSE", "ncclAllReduce");
  EXPECT_THAT(
      run_ranks(2, {},
                [&](NcclBackend& backend, Team) { backend.prepare(kTwoSizes[0], 1, 1, soon()); }),
      HasSubstr("ncclAllReduce gave ncclInvalidUsage (5)"));
}

TEST(NcclProfiler, AChoiceAsText) {
  Choice choice;
  EXPECT_EQ(to_text(choice), "unknown");
  EXPECT_THAT(words(to_facts(choice)), HasSubstr("NCCL reported no collective"));
  choice.sends = true;
  EXPECT_EQ(to_text(choice), "sends and receives, 0 channels");
  choice = {.copies = true};
  EXPECT_EQ(to_text(choice), "copies by the GPU's copy engines");
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
