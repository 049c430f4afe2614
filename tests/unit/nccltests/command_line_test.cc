#include "nccltests/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

using collective::DataType;
using collective::Reduction;
using collective::Registration;
using testing::ElementsAre;
using testing::HasSubstr;

Flags read(const std::vector<std::string>& words) {
  return parse(*find_tool_in(tools(), "all_reduce_perf"), words).flags;
}

std::string refusal(const std::vector<std::string>& words, const char* tool = "all_reduce_perf") {
  return error_text([&] { parse(*find_tool_in(tools(), tool), words); }, "taken", Fault::usage);
}

TEST(NcclTestsCommandLine, Defaults) {
  const Flags flags = read({});
  EXPECT_THAT(sizes(flags), ElementsAre(32U << 20U));
  EXPECT_EQ(flags.iterations, 20U);
  EXPECT_EQ(flags.warmup, 1U);
  EXPECT_EQ(flags.check, 1U);
  EXPECT_THAT(flags.types, ElementsAre(DataType::float32));
  EXPECT_THAT(flags.reductions, ElementsAre(Reduction::sum));
  EXPECT_EQ(flags.average, Average::mean);
}

TEST(NcclTestsCommandLine, WhatPeopleType) {
  const Flags flags =
      read({"-b", "8",  "-e",   "128M", "-f",  "2",  "-g", "8",  "-n100", "-w", "5", "-c",
            "0",  "-d", "half", "-o",   "max", "-T", "9",  "-R", "2",     "-z", "1"});
  EXPECT_EQ(sizes(flags).size(), 25U);
  EXPECT_EQ(sizes(flags).back(), 128U << 20U);
  EXPECT_EQ(flags.gpus, 8U);
  EXPECT_EQ(flags.iterations, 100U);
  EXPECT_EQ(flags.warmup, 5U);
  EXPECT_EQ(flags.check, 0U);
  EXPECT_THAT(flags.types, ElementsAre(DataType::half));
  EXPECT_THAT(flags.reductions, ElementsAre(Reduction::max));
  EXPECT_FALSE(flags.nccl.graph);
  EXPECT_EQ(flags.nccl.registration, Registration::symmetric);
  EXPECT_EQ(flags.blocking, 1U);
}

TEST(NcclTestsCommandLine, AGraphIsTimedAsAWholeAndTheRunSaysSo) {
  for (const char* const blocking : {"1", "2", "3"}) {
    const Flags flags = read({"-G", "5", "-z", blocking, "-I", "1"});
    EXPECT_TRUE(flags.nccl.graph);
    EXPECT_EQ(flags.blocking, 0U);
    EXPECT_FALSE(flags.per_iteration);
    EXPECT_THAT(flags.notes, ElementsAre(HasSubstr("-I 1 is switched off"),
                                         HasSubstr(std::string("-z ") + blocking)));
  }
  EXPECT_THAT(read({"-G", "5"}).notes, testing::IsEmpty());
  EXPECT_THAT(read({"-I", "1", "-z", "3"}).notes, testing::IsEmpty());
}

TEST(NcclTestsCommandLine, LongNamesAndTheirBeginnings) {
  const Flags flags = read({"--minbytes", "1K", "--maxbytes=4K", "--stepb", "1K", "--iter", "7"});
  EXPECT_THAT(sizes(flags), ElementsAre(1024, 2048, 3072, 4096));
  EXPECT_EQ(flags.iterations, 7U);
  EXPECT_THAT(refusal({"--step", "2"}), HasSubstr("--stepbytes or --stepfactor"));
}

TEST(NcclTestsCommandLine, SizesAreReadAsThere) {
  EXPECT_THAT(sizes(read({"-b", "1.5K", "-e", "1.5k"})), ElementsAre(1536));
  EXPECT_THAT(sizes(read({"-b", "1G", "-e", "1g"})), ElementsAre(1U << 30U));
  EXPECT_THAT(sizes(read({"-b", "8", "-e", "16", "-f", "2", "-N", "2"})),
              ElementsAre(8, 16, 8, 16));
  EXPECT_THAT(sizes(read({"-b", "8KB", "-e", "8K"})), ElementsAre(8192));
  for (const char* const wrong : {"8Q", "8KX", "-1", "", "K", "1.5", "nan", "1e99"}) {
    EXPECT_THAT(refusal({"-b", wrong}), HasSubstr("-b")) << wrong;
  }
}

// What nccl-tests takes in silence for something else.
TEST(NcclTestsCommandLine, WrongValuesAreErrors) {
  EXPECT_THAT(refusal({"-d", "flaot"}), HasSubstr("-d 'flaot'. It may be int8"));
  EXPECT_THAT(refusal({"-o", "add"}), HasSubstr("-o 'add'"));
  EXPECT_THAT(refusal({"-n", "abc"}), HasSubstr("-n: invalid count 'abc'"));
  EXPECT_THAT(refusal({"-n", "0"}), HasSubstr("-n 0"));
  EXPECT_THAT(refusal({"-f", "1.5"}), HasSubstr("-f: count '1.5'"));
  EXPECT_THAT(refusal({"-J", "out.csv"}), HasSubstr("ends in .json"));
  EXPECT_THAT(refusal({"-J", ".json"}), HasSubstr("ends in .json"));
  EXPECT_THAT(refusal({"-z", "4"}), HasSubstr("It may be 0 to 3"));
  EXPECT_THAT(refusal({"-r", "x"}), HasSubstr("-r: invalid count 'x'"));
  EXPECT_THAT(refusal({"-b", "2M", "-e", "1M"}), HasSubstr("-b 2M is more than -e 1M"));
  EXPECT_THAT(refusal({"-b", "1", "-e", "2", "-i", "0"}), HasSubstr("never reaches"));
  EXPECT_THAT(refusal({"-b", "1", "-e", "1G", "-i", "1"}), HasSubstr("more than 10000 sizes"));
}

TEST(NcclTestsCommandLine, UnknownFlagsAreErrors) {
  EXPECT_THAT(refusal({"-q", "3"}), HasSubstr("all_reduce_perf"));
  EXPECT_THAT(refusal({"--minbyte5", "3"}), HasSubstr("minbytes"));
  EXPECT_NE(refusal({"8"}), "taken");
}

TEST(NcclTestsCommandLine, ARootMayBeEveryRank) {
  EXPECT_EQ(read({"-r", "all"}).root, -1);
  EXPECT_EQ(read({"-r", "-1"}).root, -1);
  EXPECT_EQ(read({"-r", "3"}).root, 3);
}

TEST(NcclTestsCommandLine, RefusedFlagsTakeTheirDefaultAndSayWhatToUse) {
  for (const Flag& flag : flags()) {
    if (flag.handling != Handling::refused) continue;
    const std::string name = std::string("-") + flag.letter;
    EXPECT_EQ(refusal({name, std::string(flag.usual)}), "taken") << name;
    EXPECT_THAT(refusal({name, "3"}), HasSubstr(name + " 3 is not accepted here. ")) << name;
  }
}

TEST(NcclTestsCommandLine, WhatIsOfNcclAloneIsRefusedForMpi) {
  const std::vector<std::pair<std::string, std::string>> all{
      {"-G", "5"}, {"-R", "1"}, {"-x", "0"}, {"-u", "1"}, {"--gpu", "0"}};
  for (const auto& [name, value] : all) {
    EXPECT_THAT(refusal({"--backend", "mpi", name, value}),
                HasSubstr(name + " with --backend mpi"));
  }
  EXPECT_EQ(read({"--backend", "mpi", "-G", "0", "-R", "0"}).backend, "mpi");
}

TEST(NcclTestsCommandLine, WhatChangesNothingIsSaid) {
  EXPECT_EQ(read({"-y", "0"}).notes.size(), 0U);
  EXPECT_EQ(read({"-y", "1"}).notes.size(), 1U);
}

TEST(NcclTestsCommandLine, HelpAndVersionAreAnswers) {
  const Tool& tool = *find_tool_in(tools(), "all_reduce_perf");
  EXPECT_THAT(parse(tool, {"-h"}).answer, HasSubstr("--minbytes"));
  EXPECT_THAT(parse(tool, {"--version"}).answer, HasSubstr("2.19.6"));
}

TEST(NcclTestsCommandLine, Programs) {
  EXPECT_EQ(find_tool_in(tools(), "/opt/nccl-tests/build/alltoall_perf")->operation,
            collective::Operation::all_to_all);
  EXPECT_EQ(find_tool_in(tools(), "all_reduce"), nullptr);
  EXPECT_THAT(refusal({}, "hypercube_perf"), HasSubstr("all_gather_perf"));
  EXPECT_EQ(tool_of(collective::Operation::all_gather).name, "all_gather_perf");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::nccltests
