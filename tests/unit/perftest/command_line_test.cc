#include "perftest/command_line.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "../complaint.h"
#include "base/text.h"
#include "perftest/flag_table.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Flags parsed(std::string_view tool, const std::vector<std::string>& words) {
  return parse(*find_tool_in(tools(), tool), words).flags;
}

std::string refused(std::string_view tool, const std::vector<std::string>& words) {
  return complaint([&] { parsed(tool, words); }, Fault::usage);
}

/// A value that the flag takes.
std::string value_for(const Flag& flag, const Tool& tool) {
  static const std::map<std::string_view, std::string> kWords{{"connection", "RC"},
                                                              {"atomic_type", "CMP_AND_SWAP"},
                                                              {"rate_units", "M"},
                                                              {"rate_limit_type", "SW"},
                                                              {"force-link", "IB"},
                                                              {"mtu", "1024"},
                                                              {"size", "8"},
                                                              {"margin", "2"},
                                                              {"use_cuda_bus_id", "0000:1b:00.0"}};
  if (flag.name == "output") return tool.latency ? "latency" : "bandwidth";
  const auto word = kWords.find(flag.name);
  return word == kWords.end() ? "7" : word->second;
}

/// What must stand beside a flag so that it makes sense.
std::vector<std::string> beside(const Flag& flag) {
  if (flag.name == "margin") return {"-D", "60"};
  if (flag.name == "ib-port") return {"-d", "mlx5_0"};
  if (flag.name == "mmap-offset") return {"--mmap=/dev/x"};
  if (flag.name == "use_cuda_dmabuf") return {"--use_cuda=0"};
  if (flag.name == "use_cuda_pcie_mapping" || flag.name == "use_data_direct") {
    return {"--use_cuda=0", "--use_cuda_dmabuf"};
  }
  return {};
}

/// Every way of writing a flag.
std::vector<std::vector<std::string>> spellings(const Flag& flag, const Tool& tool) {
  const std::string name(flag.name);
  const std::string letter(1, flag.letter);
  const bool has_letter = flag.letter != '\0';
  std::vector<std::vector<std::string>> out;
  if (flag.value.empty()) {
    out = {{"--" + name}};
    if (has_letter) out.push_back({"-" + letter});
    if (has_letter) out.push_back({"-F" + letter});
  } else {
    const std::string value = value_for(flag, tool);
    out = {{"--" + name + "=" + value}, {"--" + name, value}};
    if (has_letter) {
      out.push_back({"-" + letter, value});
      out.push_back({"-" + letter + value});
      out.push_back({"-F" + letter + value});
    }
  }
  return out;
}

std::vector<const Flag*> flags_where(const std::function<bool(const Flag&)>& condition) {
  std::vector<const Flag*> found;
  for (const FlagGroup& group : flag_groups()) {
    for (const Flag& flag : group.flags) {
      if (condition(flag)) found.push_back(&flag);
    }
  }
  return found;
}

bool is_answer(const Flag& flag) {
  return flag.name == "help" || flag.name == "version";
}

TEST(CommandLine, EveryFlagIsTakenInEverySpelling) {
  for (const Flag* flag :
       flags_where([](const Flag& f) { return f.handling != Handling::refused; })) {
    const Tool& tool = *std::find_if(tools().begin(), tools().end(), [&](const Tool& one) {
      return (flag->tools & set_of(one)) != 0;
    });
    for (std::vector<std::string> words : spellings(*flag, tool)) {
      SCOPED_TRACE(testing::PrintToString(words) + " for " + std::string(tool.name));
      const std::vector<std::string> more = beside(*flag);
      words.insert(words.end(), more.begin(), more.end());
      words.emplace_back("host");
      if (is_answer(*flag)) {
        EXPECT_NE(parse(tool, words).answer, "");
        continue;
      }
      const Flags flags = parsed(tool.name, words);
      EXPECT_EQ(flags.host, "host");
      EXPECT_EQ(flags.notes.size(), flag->handling == Handling::ignored ||
                                            flag->name == "force-link" || flag->name == "cpu_util"
                                        ? 1U
                                        : 0U);
    }
  }
}

// One line with all that go together: a parser for each pair of tool and flag takes seconds.
TEST(CommandLine, EveryToolTakesItsFlags) {
  for (const Tool& tool : tools()) {
    SCOPED_TRACE(tool.name);
    std::vector<std::string> words{"host", "-D", "60"};
    for (const Flag* flag : flags_where([&](const Flag& f) {
           return f.handling != Handling::refused && (f.tools & set_of(tool)) != 0 && !is_answer(f);
         })) {
      const bool gpu = flag->name.starts_with("use_cuda") || flag->name == "use_data_direct";
      // Not with --rate_limit, --mmap.
      if (flag->name == "bidirectional" || flag->name == "use_hugepages" || gpu) continue;
      if (flag->value.empty()) {
        words.push_back("--" + std::string(flag->name));
      } else {
        words.push_back("--" + std::string(flag->name) + "=" + value_for(*flag, tool));
      }
    }
    EXPECT_EQ(parsed(tool.name, words).port, 7);
  }
}

TEST(CommandLine, EveryRefusedFlagSaysWhatToUseInstead) {
  const Tool& tool = *find_tool_in(tools(), "ib_write_bw");
  for (const Flag* flag :
       flags_where([](const Flag& f) { return f.handling == Handling::refused; })) {
    for (const std::vector<std::string>& words : spellings(*flag, tool)) {
      SCOPED_TRACE(testing::PrintToString(words));
      EXPECT_THAT(refused(tool.name, words), HasSubstr(std::string(flag->text)));
    }
  }
}

TEST(CommandLine, AFlagOfOtherToolsSaysWhose) {
  for (const Tool& tool : tools()) {
    for (const Flag* flag : flags_where([&](const Flag& f) {
           return f.handling != Handling::refused && (f.tools & set_of(tool)) == 0;
         })) {
      SCOPED_TRACE(fmt::format("{} {}", tool.name, flag->name));
      EXPECT_THAT(refused(tool.name, spellings(*flag, tool)[0]), HasSubstr("perftest has it for"));
    }
  }
}

TEST(CommandLine, ValuesArrive) {
  const auto words = words_of(
      "-d mlx5_1 -i2 -s65536 -n 5k -t 64 -Q 16 -q4 -l 8 -x3 -S 5 -T 0x68 -u 18 -m 2048 -I 128 "
      "-c UC -p 18600 -b --report_gbits -w 95.5 -y 1.5 --flow_label=77 --pkey_index=2 "
      "--hop_limit=9 --retry_count=6 node2");
  const Flags flags = parsed("ib_write_bw", {words.begin(), words.end()});
  EXPECT_EQ(flags.device, "mlx5_1");
  EXPECT_EQ(flags.ib_port, 2U);
  EXPECT_EQ(flags.size, 65536U);
  EXPECT_EQ(flags.iterations, 5000U);
  EXPECT_EQ(flags.config.traffic.depth, 64U);
  EXPECT_EQ(flags.config.traffic.signal_every, 16U);
  EXPECT_EQ(flags.config.endpoint.queue_pairs, 4U);
  EXPECT_EQ(flags.config.endpoint.post_list, 8U);
  EXPECT_EQ(flags.config.placement.gid_index, 3);
  EXPECT_EQ(flags.config.endpoint.verbs.path.service_level, 5);
  EXPECT_EQ(flags.config.endpoint.verbs.path.traffic_class, 0x68);
  EXPECT_EQ(flags.config.endpoint.verbs.path.timeout, 18);
  EXPECT_EQ(flags.config.endpoint.verbs.path.flow_label, 77);
  EXPECT_EQ(flags.config.endpoint.verbs.path.partition_index, 2);
  EXPECT_EQ(flags.config.endpoint.verbs.path.hop_limit, 9);
  EXPECT_EQ(flags.config.endpoint.verbs.path.retry_count, 6);
  EXPECT_EQ(flags.config.endpoint.verbs.mtu, 2048);
  EXPECT_EQ(flags.config.endpoint.inline_limit, 128);
  EXPECT_EQ(flags.config.endpoint.service, transport::Service::uc);
  EXPECT_EQ(flags.port, 18600);
  EXPECT_TRUE(flags.both_ways);
  EXPECT_TRUE(flags.gigabits);
  EXPECT_EQ(flags.limit_bandwidth, 95.5);
  EXPECT_EQ(flags.limit_message_rate, 1.5);
  EXPECT_EQ(flags.host, "node2");
}

TEST(CommandLine, LettersMayBeBundledAndTheLastOfTwoCounts) {
  const Flags flags = parsed("ib_write_bw", {"-Fabs8", "node2", "-s", "16"});
  EXPECT_TRUE(flags.all_sizes);
  EXPECT_TRUE(flags.both_ways);
  EXPECT_EQ(flags.size, 16U);
  EXPECT_EQ(flags.host, "node2");
  EXPECT_TRUE(parsed("ib_write_bw", {"-b", "-b"}).both_ways);
}

TEST(CommandLine, ABeginningThatIsClearWillDo) {
  EXPECT_EQ(parsed("ib_write_bw", {"--iter=7"}).iterations, 7U);
  EXPECT_EQ(parsed("ib_write_bw", {"--tx", "7"}).config.traffic.depth, 7U);
  EXPECT_EQ(parsed("ib_write_bw", {"--mmap=x"}).file, "x") << "a whole name, though one is longer";
  EXPECT_THAT(refused("ib_write_bw", {"--rate=5"}),
              AllOf(HasSubstr("--rate_limit or "), HasSubstr("--rate_units")));
}

TEST(CommandLine, AnUnknownWordNamesTheNearest) {
  EXPECT_THAT(refused("ib_write_bw", {"--sise", "8"}), HasSubstr("Did you mean --size?"));
  EXPECT_THAT(refused("ib_write_bw", {"--report-gbits"}), HasSubstr("--report_gbits"));
  EXPECT_THAT(refused("ib_write_bw", {"--com_rdma_cm"}), HasSubstr("--comm_rdma_cm"))
      << "as 4.5's own help spells it";
  EXPECT_THAT(refused("ib_write_bw", {"one", "two"}), HasSubstr("two"));
  EXPECT_THAT(refused("ib_write_bw", {"-s"}), HasSubstr("--size"));
}

TEST(CommandLine, ANumberWithATailIsNoNumber) {
  EXPECT_EQ(parsed("ib_write_bw", {"-s", "3G"}).size, std::uint64_t{3} << 30);
  EXPECT_EQ(parsed("ib_write_bw", {"-s", "0x1000"}).size, 4096U);
  EXPECT_THAT(refused("ib_write_bw", {"-s", "3Q"}), AllOf(HasSubstr("-s"), HasSubstr("'3Q'")));
  EXPECT_THAT(refused("ib_write_bw", {"-s", "0x1g"}), HasSubstr("'0x1g'"));
  EXPECT_THAT(refused("ib_write_bw", {"-n", "1e6"}), HasSubstr("'1e6'"));
  EXPECT_THAT(refused("ib_write_bw", {"-w", "9,5"}), HasSubstr("'9,5'"));
  EXPECT_THAT(refused("ib_write_bw", {"-w=-1"}), HasSubstr("-w"));
  EXPECT_THAT(refused("ib_write_bw", {"--limit_bw=nan"}), HasSubstr("'nan'"));
  EXPECT_THAT(refused("ib_write_bw", {"-D", "fast"}), HasSubstr("'fast'"));
}

TEST(CommandLine, ValuesOutOfRangeNameTheRange) {
  EXPECT_THAT(refused("ib_write_bw", {"-S", "16"}), AllOf(HasSubstr("-S 16"), HasSubstr("15")));
  EXPECT_THAT(refused("ib_write_bw", {"-p", "65536"}), HasSubstr("65535"));
  EXPECT_THAT(refused("ib_write_bw", {"--tclass=256"}), HasSubstr("--tclass 256"));
  EXPECT_THAT(refused("ib_write_bw", {"-n", "0"}), HasSubstr("-n 0"));
  EXPECT_THAT(refused("ib_write_bw", {"--rate_limit=0"}), HasSubstr("above 0"));
}

TEST(CommandLine, WordsThatAreNoneOfThoseNameThem) {
  EXPECT_THAT(refused("ib_send_bw", {"-c", "rc"}), HasSubstr("RC, UC, UD, XRC, DC or SRD"));
  EXPECT_THAT(refused("ib_atomic_bw", {"-A", "FAA"}), HasSubstr("CMP_AND_SWAP"));
  EXPECT_THAT(refused("ib_write_bw", {"--rate_limit_type=HW"}), HasSubstr("SW"));
  EXPECT_THAT(refused("ib_write_bw", {"--rate_units=G"}), HasSubstr("g (Gb/s)"));
  EXPECT_THAT(refused("ib_write_bw", {"--output=all"}), HasSubstr("message_rate"));
}

TEST(CommandLine, WhatDoesNotGoTogether) {
  EXPECT_THAT(refused("ib_atomic_bw", {"-s", "16"}), HasSubstr("8 bytes"));
  EXPECT_THAT(refused("ib_write_bw", {"-i", "2"}), HasSubstr("-d NAME"));
  EXPECT_THAT(refused("ib_write_bw", {"-f", "2"}), HasSubstr("-f without -D"));
  EXPECT_THAT(refused("ib_write_bw", {"-D", "4", "-f", "2"}), HasSubstr("smaller margin"));
  EXPECT_THAT(refused("ib_write_lat", {"--output=bandwidth"}), HasSubstr("latency"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_hugepages", "--mmap=x"}), HasSubstr("one of them"));
  EXPECT_THAT(refused("ib_write_bw", {"--mmap-offset=4096"}), HasSubstr("--mmap"));
  EXPECT_THAT(refused("ib_write_bw", {"-b", "--rate_limit=1"}), HasSubstr("-b"));
}

TEST(CommandLine, AGpuIsNamedByNumberOrByAddress) {
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0000:1b:00.0"}), HasSubstr("--use_cuda"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0,vmm"}), HasSubstr("'0,vmm'"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=auto"}), HasSubstr("'auto'"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=-1"}), HasSubstr("'-1'"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda_bus_id=3"}), HasSubstr("PCI address"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda_bus_id=zz:00.0"}), HasSubstr("zz:00.0"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0", "--use_cuda_bus_id=1b:00.0"}),
              HasSubstr("one of them"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0", "--use_hugepages"}),
              HasSubstr("one of them"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda_dmabuf"}), HasSubstr("--use_cuda=0"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0", "--use_cuda_pcie_mapping"}),
              HasSubstr("--use_cuda_pcie_mapping without --use_cuda_dmabuf"));
  EXPECT_THAT(refused("ib_write_bw", {"--use_cuda=0", "--use_data_direct"}),
              HasSubstr("--use_data_direct without --use_cuda_dmabuf"));
}

TEST(CommandLine, AWriteThatIsPolledForLandsInNoGpu) {
  for (const char* flag : {"--use_cuda=0", "--use_cuda_bus_id=0000:1b:00.0"}) {
    EXPECT_THAT(refused("ib_write_lat", {flag, "h"}),
                AllOf(HasSubstr("ib_write_lat"), HasSubstr("--use_cuda"),
                      HasSubstr("--write_with_imm"), HasSubstr("ib_send_lat")));
    EXPECT_EQ(parsed("ib_write_lat", {flag, "--write_with_imm", "h"}).host, "h");
    for (const char* tool : {"ib_write_bw", "ib_send_lat", "ib_read_lat", "ib_atomic_lat"}) {
      EXPECT_TRUE(parsed(tool, {flag, "h"}).notes.empty()) << tool;
    }
  }
}

TEST(CommandLine, AGpuOfTheServersOwnIsNotTakenAndThatIsSaid) {
  for (const char* flag : {"--use_cuda=3", "--use_cuda_bus_id=0000:1b:00.0"}) {
    EXPECT_THAT(parsed("ib_write_bw", {flag}).notes,
                ElementsAre(AllOf(HasSubstr("--use_cuda"), HasSubstr("the client decides"),
                                  HasSubstr("the GPU nearest to its NIC"))));
  }
}

TEST(CommandLine, AFlagWithoutEffectIsNoted) {
  EXPECT_THAT(parsed("ib_write_bw", {"-z", "h"}).notes, ElementsAre(HasSubstr("-z has no effect")));
  EXPECT_TRUE(parsed("ib_write_bw", {"-F", "--perform_warm_up", "h"}).notes.empty());
}

TEST(CommandLine, WithoutAHostItIsTheServersWhichChecksItsFlagsToo) {
  EXPECT_EQ(parsed("ib_write_bw", {"-d", "mlx5_0", "-a"}).host, "");
  EXPECT_THAT(refused("ib_write_bw", {"-n", "many"}), HasSubstr("'many'"));
}

TEST(CommandLine, HelpShowsWhatIsTakenOnly) {
  const std::string help = parse(*find_tool_in(tools(), "ib_write_lat"), {"--help"}).answer;
  EXPECT_THAT(help, AllOf(HasSubstr("--iters"), HasSubstr("ib_write_lat")));
  EXPECT_THAT(help, HasSubstr("--use_cuda_dmabuf"));
  EXPECT_EQ(help.find("--use_rocm"), std::string::npos);
  EXPECT_EQ(help.find("--qp "), std::string::npos);
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest
