#include "control/launch.h"

#include <map>

#include "peers.h"

namespace rdmabench::inline v1::control {
namespace {

using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Environment of(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Launch read(const Variables& variables, const RendezvousOptions& options = {}, bool pmix = true) {
  return read_launch(options, of(variables), [pmix] { return pmix; });
}

std::string refusal(const Variables& variables, const RendezvousOptions& options = {}) {
  return complaint([&] { read(variables, options); });
}

const Variables kPmix{
    {"PMIX_NAMESPACE", "1"}, {"PMIX_RANK", "2"}, {"PMIX_SERVER_URI41", "tcp4://"}};
const Variables kSlurm{{"SLURM_PROCID", "3"},
                       {"SLURM_NTASKS", "8"},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NODELIST", "rack[02-04]n[8,11],m1"}};

Variables both(Variables first, const Variables& second) {
  first.insert(second.begin(), second.end());
  return first;
}

TEST(Launch, TakesTheNamesOfTorchrun) {
  const Launch launch =
      read({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(launch.source, Launch::Source::tcp);
  EXPECT_EQ(launch.place.rank, 3U);
  EXPECT_EQ(launch.place.size, 8U);
  EXPECT_EQ(launch.place.source, "RANK and WORLD_SIZE (torchrun)");
  EXPECT_FALSE(launch.place.host.empty());
  EXPECT_EQ(launch.address, (Address{"n1", 29500}));
}

TEST(Launch, KnowsTheHostsOfSlurmsTasksWhereEachHasOne) {
  Variables slurm = kSlurm;
  EXPECT_TRUE(read(slurm).hosts.empty());  // of 8 tasks on 7 nodes
  slurm["SLURM_NTASKS"] = "7";
  const std::vector<std::string> hosts = read(slurm).hosts;
  ASSERT_EQ(hosts.size(), 7);
  EXPECT_EQ(hosts[0], "rack02n8");
  EXPECT_EQ(hosts[6], "m1");
  slurm["SLURM_STEP_NODELIST"] = "n[1-";
  slurm["RDMABENCH_RENDEZVOUS"] = "n1:18515";  // the list is not needed
  EXPECT_TRUE(read(slurm).hosts.empty());
}

TEST(Launch, OfRanksThatTalkAlreadyNeedsNumbersAndNoAddress) {
  const auto talk = [](const std::string& text) { return text; };
  const Launch launch =
      read(both(kPmix, {{"MASTER_ADDR", "n1"}}), {.rank = 1, .size = 2, .broadcast = talk});
  EXPECT_EQ(launch.source, Launch::Source::tcp);
  EXPECT_EQ(launch.place.rank, 1U);
  EXPECT_THAT(refusal(kPmix, {.broadcast = talk}), HasSubstr("without `rank` and `size`"));
  EXPECT_THAT(refusal({}, {.rank = 1, .size = 2, .address = "n1:7", .broadcast = talk}),
              HasSubstr("beside an `address`"));
}

TEST(Launch, LeavesThePortToTheAgentOfTorchrunThatListensOnIt) {
  const Launch launch = read({{"RANK", "0"},
                              {"WORLD_SIZE", "2"},
                              {"MASTER_ADDR", "n1"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(launch.address.port, 29501);
}

TEST(Launch, TakesTheNamesOfEveryLauncher) {
  const char* names[][2] = {{"RDMABENCH_RANK", "RDMABENCH_SIZE"},
                            {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                            {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                            {"PMI_RANK", "PMI_SIZE"},
                            {"PALS_RANKID", "PALS_SIZE"},
                            {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"}};
  for (const auto& name : names) {
    const Launch launch =
        read({{name[0], "1"}, {name[1], "4"}, {"RDMABENCH_RENDEZVOUS", "[::1]:7000"}});
    EXPECT_EQ(launch.place.rank, 1U) << name[0];
    EXPECT_EQ(launch.place.size, 4U);
    EXPECT_THAT(launch.place.source, HasSubstr(name[0]));
    EXPECT_EQ(launch.address, (Address{"::1", 7000}));
    EXPECT_THAT(refusal({{name[0], "1"}}), HasSubstr(std::string(name[1]) + " is not"));
    EXPECT_THAT(refusal({{name[1], "4"}}), HasSubstr(std::string(name[0]) + " is not"));
  }
}

TEST(Launch, FindsRankZeroOfSlurmOnTheFirstNode) {
  const Launch launch = read(kSlurm);
  EXPECT_EQ(launch.place.rank, 3U);
  EXPECT_EQ(launch.address, (Address{"rack02n8", kRendezvousPort}));
}

TEST(Launch, LooksAtTheInnermostLauncherFirst) {
  const Variables mpirun{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const Variables torchrun{
      {"RANK", "5"}, {"WORLD_SIZE", "9"}, {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "1"}};
  EXPECT_EQ(read(both(both(mpirun, kSlurm), kPmix)).source, Launch::Source::pmix);
  EXPECT_EQ(read(both(both(torchrun, kSlurm), kPmix)).place.rank, 5U);
  EXPECT_THAT(refusal(both(mpirun, kSlurm)), HasSubstr("nothing says where rank 0 is"));
  const Variables ours{{"RDMABENCH_RANK", "7"}, {"RDMABENCH_SIZE", "8"}};
  EXPECT_EQ(read(both(ours, torchrun)).place.rank, 7U);
  const RendezvousOptions options{.rank = 2, .size = 3, .address = "n9:1"};
  EXPECT_EQ(read(both(ours, torchrun), options).place.rank, 2U);
  EXPECT_EQ(read(both(ours, torchrun), options).address, (Address{"n9", 1}));
}

TEST(Launch, GoesRoundPmixWithAnAddressOfItsOwn) {
  const Launch launch = read(both(kPmix, kSlurm), {.address = "n1:7000"});
  EXPECT_EQ(launch.source, Launch::Source::tcp);
  EXPECT_EQ(launch.place.rank, 3U);
  EXPECT_EQ(launch.address, (Address{"n1", 7000}));
}

TEST(Launch, WithoutPmixFallsBackOrSaysWhatIsMissing) {
  EXPECT_EQ(read(both(kPmix, kSlurm), {}, false).place.rank, 3U);
  EXPECT_THAT(complaint([] { read(kPmix, {}, false); }), HasSubstr("Install libpmix"));
  // What another program's PMIx left in the environment is no server.
  EXPECT_THAT(refusal({{"PMIX_RANK", "0"}}), HasSubstr("no launcher found"));
}

TEST(Launch, OfOneRankNeedsNoAddress) {
  EXPECT_EQ(read({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}).address, (Address{"127.0.0.1", 0}));
}

TEST(Launch, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({}),
              has_all("no launcher", "mpirun or srun", "RDMABENCH_RANK, RDMABENCH_SIZE",
                      "RDMABENCH_RENDEZVOUS=HOST:PORT"));
  EXPECT_THAT(refusal({{"RANK", "3"}}),
              has_all("RANK is set to '3'", "WORLD_SIZE is not", "both or neither"));
  EXPECT_THAT(refusal({{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}),
              has_all("rank 4 of 4", "PMI_RANK and PMI_SIZE (MPICH)", "0 to 3"));
  EXPECT_THAT(refusal({{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}),
              HasSubstr("invalid number of ranks 0 from PMI_RANK"));
  for (const char* rank : {"-1", "x", "1x", " 1", "99999", "4294967296"}) {
    EXPECT_THAT(refusal({{"PMI_RANK", rank}, {"PMI_SIZE", "4"}}),
                HasSubstr("PMI_RANK is '" + std::string(rank) + "'. It has to be a whole number"));
  }
  EXPECT_THAT(refusal({{"PMI_RANK", "1"}, {"PMI_SIZE", "8"}}),
              has_all("8 ranks by PMI_RANK and PMI_SIZE (MPICH)", "nothing says where rank 0 is",
                      "RDMABENCH_RENDEZVOUS"));
  EXPECT_THAT(refusal({{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n1"}}),
              has_all("MASTER_ADDR is set", "MASTER_PORT is not"));
  EXPECT_THAT(refusal({{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_PORT", "1"}}),
              has_all("MASTER_PORT is set", "MASTER_ADDR is not"));
  EXPECT_THAT(
      refusal({{"RANK", "1"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "n"}, {"MASTER_PORT", "70000"}}),
      HasSubstr("MASTER_PORT is '70000'"));
  EXPECT_THAT(refusal({}, {.rank = 1}), HasSubstr("a rank without a size"));
  EXPECT_THAT(refusal({}, {.rank = 1, .size = 1}), HasSubstr("invalid rank 1 of 1 from options"));
}

TEST(Launch, SaysThatABatchScriptIsNoTask) {
  EXPECT_THAT(refusal({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}),
              has_all("not as one of its tasks", "srun"));
}

TEST(ParseAddress, TakesNamesAndAddressesWithAPort) {
  EXPECT_EQ(parse_address("n1.cluster:1", "x"), (Address{"n1.cluster", 1}));
  EXPECT_EQ(parse_address("10.0.0.1:65535", "x"), (Address{"10.0.0.1", 65535}));
  EXPECT_EQ(parse_address("[fe80::1%eth0]:80", "x"), (Address{"fe80::1%eth0", 80}));
  for (const char* text : {"", "n1", ":1", "::1:80", "[]:80", "n1:", "n1:0", "n1:65536", "n1:8x"}) {
    EXPECT_THAT(complaint([&] { parse_address(text, "RDMABENCH_RENDEZVOUS"); }),
                HasSubstr("RDMABENCH_RENDEZVOUS"))
        << text;
  }
}

TEST(SlurmHosts, AreReadInTheirOrder) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(slurm_hosts("n1"), Names{"n1"});
  EXPECT_EQ(slurm_hosts("n[01-03,7],m1"), (Names{"n01", "n02", "n03", "n7", "m1"}));
  EXPECT_EQ(slurm_hosts("rack[02-03]n[8,11]-ib"),
            (Names{"rack02n8-ib", "rack02n11-ib", "rack03n8-ib", "rack03n11-ib"}));
  for (const char* text :
       {"", ",n1", "n[", "n[1-", "n[]", "n]1", "n[2-1]", "n[0-99999]", "n[0-999]a[0-999]", "n1,"}) {
    EXPECT_THAT(complaint([&] { slurm_hosts(text); }), HasSubstr("Slurm's list of nodes")) << text;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::control
