// What is made of the findings: peers, and the three formats.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "../complaint.h"
#include "../has_all.h"
#include "fixture.h"
#include "health/peers.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Each of another host.
Peer peer(const std::string& observed, const std::string& check = "software.kernel") {
  static int hosts = 0;
  return {"host" + std::to_string(++hosts), {{check, "node", observed}}};
}

Peer named(const std::string& host, const std::string& observed) {
  return {host, {{"software.kernel", "node", observed}}};
}

Finding compared(Status status, const std::string& observed, const std::vector<Peer>& peers,
                 const std::string& check = "software.kernel") {
  Diagnosis diagnosis;
  diagnosis.host = "self";
  diagnosis.findings = {{check, "node", status, "why", observed, "", Source::none, "", {}}};
  compare_with_peers(diagnosis, peers);
  return diagnosis.findings[0];
}

TEST(Peers, TellByTheirMajority) {
  const std::vector<Peer> peers{peer("6.8"), peer("6.8"), peer("6.1")};
  const Finding alike = compared(Status::skip, "6.8", peers);
  EXPECT_EQ(alike.status, Status::pass);
  EXPECT_EQ(alike.source, Source::peers);
  EXPECT_EQ(alike.expected, "6.8, as 2 of 3 peers have");
  EXPECT_EQ(alike.reason, "");
  const Finding odd = compared(Status::skip, "6.1", peers);
  EXPECT_EQ(odd.status, Status::warn);
  EXPECT_NE(odd.remedy, "");
  EXPECT_EQ(compared(Status::pass, "6.1", peers).status, Status::warn);
}

TEST(Peers, NeitherMakeWorseNorBetterWhatIsWrongAlready) {
  const std::vector<Peer> peers{peer("6.8"), peer("6.8")};
  EXPECT_EQ(compared(Status::fail, "6.1", peers).status, Status::fail);
  EXPECT_EQ(compared(Status::warn, "6.8", peers).status, Status::warn);
  EXPECT_EQ(compared(Status::error, "6.8", peers).status, Status::error);
}

TEST(Peers, SayNothingWithoutAMajority) {
  EXPECT_EQ(compared(Status::skip, "6.8", {peer("6.8")}).status, Status::skip);
  EXPECT_EQ(compared(Status::skip, "6.8", {peer("6.8"), peer("6.1")}).status, Status::skip);
  EXPECT_EQ(compared(Status::skip, "", {peer("6.8"), peer("6.8")}).status, Status::skip);
  EXPECT_EQ(compared(Status::skip, "6.8", {peer("", "x"), peer("")}).status, Status::skip);
  Peer twice = peer("6.8");
  twice.observations.push_back(twice.observations[0]);
  EXPECT_EQ(compared(Status::skip, "6.8", {twice}).status, Status::skip);
}

TEST(Peers, AreOtherHosts) {
  const Peer other = named("a", "6.8");
  EXPECT_EQ(compared(Status::skip, "6.8", {named("self", "6.8"), other}).status, Status::skip)
      << "its own document agrees with it whatever it says";
  EXPECT_EQ(compared(Status::skip, "6.1",
                     {named("self", "6.1"), named("self", "6.1"), other, named("b", "6.8")})
                .status,
            Status::warn);
  EXPECT_EQ(compared(Status::skip, "6.8", {named("", "6.8"), named("", "6.8"), other}).status,
            Status::skip);
  EXPECT_THAT(rdmabench::complaint([&] {
                compared(Status::skip, "6.8", {other, named("b", "6.1"), other});
              }).what(),
              HasSubstr("two documents of the peer 'a'"));
}

TEST(Peers, AreNotAskedForWhatMayDiffer) {
  const std::vector<Peer> peers{peer("1", "os.swap"), peer("1", "os.swap")};
  EXPECT_EQ(compared(Status::pass, "2", peers, "os.swap").status, Status::pass);
}

/// A node that has these; "node" is the subject of each.
Peer node_with(const std::string& host,
               const std::vector<std::pair<std::string, std::string>>& observed) {
  Peer node{host, {}};
  for (const auto& [check, value] : observed) node.observations.push_back({check, "node", value});
  return node;
}

TEST(Peers, OfAnotherModelDoNotCount) {
  const auto status = [](const char* own, const char* theirs) {
    Diagnosis diagnosis;
    diagnosis.host = "self";
    for (const auto& [check, observed] :
         {std::pair{"software.product", own}, std::pair{"gpu.count", "4"}}) {
      Finding& finding = diagnosis.findings.emplace_back();
      finding.id = check;
      finding.subject = "node";
      finding.observed = observed;
      finding.status = Status::pass;
    }
    std::vector<Peer> peers;
    for (const char* const host : {"a", "b", "c"}) {
      peers.push_back(node_with(host, {{"software.product", theirs}, {"gpu.count", "8"}}));
    }
    compare_with_peers(diagnosis, peers);
    return diagnosis.findings.back().status;
  };
  EXPECT_EQ(status("A", "A"), Status::fail);
  EXPECT_EQ(status("A", "B"), Status::pass);
  EXPECT_EQ(status("", "B"), Status::fail) << "it may be the same";
}

TEST(Nodes, WithLessThanMostOfTheirModelFail) {
  const std::vector<std::pair<std::string, std::string>> usual{
      {"software.product", "A"},
      {"device.count", "8"},
      {"device.ports", "8 ports in use"},
      {"gpu.count", "8"},
      {"numa.memory", "node0 512 GiB, node1 512 GiB"},
      {"software.kernel", "6.8"}};
  std::vector<Peer> nodes;
  for (const char* const host : {"a", "b", "c", "d"}) nodes.push_back(node_with(host, usual));
  EXPECT_TRUE(compare_nodes(nodes).differences.empty());
  nodes[2].observations[1].observed = "7";
  nodes[2].observations[2].observed = "7 ports in use";
  nodes[2].observations[3].observed = "9";                             // more
  nodes[0].observations[4].observed = "node0 512 GiB, node1 511 GiB";  // the kernel's share
  nodes[1].observations[4].observed = "node0 512 GiB, node1 448 GiB";
  nodes[3].observations[5].observed = "6.1";
  const NodeComparison found = compare_nodes(nodes);
  EXPECT_EQ(std::ranges::count_if(found.alike,
                                  [](const auto& one) { return one.finding.id == "gpu.count"; }),
            3);
  std::vector<std::string> said;
  for (const auto& [node, finding] : found.differences) {
    said.push_back(fmt::format("{} {} {}", nodes[node].host, finding.id, name(finding.status)));
    EXPECT_EQ(finding.source, Source::peers);
    EXPECT_NE(finding.remedy, "");
  }
  // Of the memory of "b" two of three others have the same text.
  EXPECT_EQ(said, (std::vector<std::string>{"b numa.memory FAIL", "c device.count FAIL",
                                            "c device.ports FAIL", "c gpu.count WARN",
                                            "d software.kernel WARN"}));
}

TEST(Nodes, AreComparedWithOthersOfTheirModelAlone) {
  std::vector<Peer> nodes;
  for (const char* const host : {"a", "b", "c"}) {
    nodes.push_back(node_with(host, {{"software.product", "A"}, {"gpu.count", "8"}}));
  }
  for (const char* const host : {"x", "y"}) {
    nodes.push_back(node_with(host, {{"software.product", "B"}, {"gpu.count", "0"}}));
  }
  nodes.push_back(node_with("a", {{"software.product", "A"}, {"gpu.count", "1"}}));  // again
  nodes.push_back(node_with("", {{"software.product", "A"}, {"gpu.count", "1"}}));
  const NodeComparison found = compare_nodes(nodes);
  EXPECT_TRUE(found.differences.empty());
  EXPECT_THAT(found.words, has_all("3 of A", "2 of B (too few to compare)"));
  EXPECT_EQ(compare_nodes(std::span(nodes).first(2)).words, "");
}

TEST(Nodes, AreAskedForWhatMostOfTheirDevicesHave) {
  const std::vector<Peer::Observation> seen =
      compared_observations(FileTree(std::make_shared<MemoryStore>(load("mlx5-infiniband"))));
  const auto of = [&](const std::string& id) {
    const auto found =
        std::find_if(seen.begin(), seen.end(), [&](const auto& one) { return one.id == id; });
    return found == seen.end() ? "none" : found->observed;
  };
  EXPECT_EQ(of("device.count"), "2");
  EXPECT_EQ(of("port.link_layer"), "InfiniBand");
  EXPECT_EQ(of("software.product"), "Vendor GPU Server");
  EXPECT_EQ(of("limit.ports"), "none");
}

TEST(Texts, SayLastThatANodeHasNoRdmaDevice) {
  Diagnosis diagnosis;
  diagnosis.host = "self";
  EXPECT_EQ(to_text(diagnosis, false).find("no RDMA device"), std::string::npos);
  diagnosis.devices = 0;
  EXPECT_TRUE(to_text(diagnosis, false).ends_with("; this node has no RDMA device\n"));
  EXPECT_TRUE(to_line(diagnosis).ends_with("; this node has no RDMA device\n"));
}

TEST(Peers, AreReadFromWhatADoctorWrote) {
  const Peer one = read_peer(to_json(judge(load("roce"))), "roce.json");
  EXPECT_EQ(one.host, "roce");
  const auto kernel = std::find_if(one.observations.begin(), one.observations.end(),
                                   [](const auto& seen) { return seen.id == "software.kernel"; });
  ASSERT_NE(kernel, one.observations.end());
  EXPECT_EQ(kernel->observed, "6.8.0-60-generic");
}

TEST(Peers, OfWrongDocumentsAreRefused) {
  std::string keys = R"({"schema": "rdmabench-doctor/1", "findings": [], "x": {"0": 0)";
  for (int i = 1; i < 300; ++i) keys += fmt::format(R"(, "{}": 0)", i);
  for (const std::string& text : std::vector<std::string>{
           "", "{", "[]", "{}", R"({"schema": "rdmabench/1", "findings": []})",
           R"({"schema": "rdmabench-doctor/1"})",
           R"({"schema": "rdmabench-doctor/1", "findings": {}})", keys + "}}"}) {
    EXPECT_THROW(read_peer(text, "peer.json"), Error) << text;
  }
  EXPECT_EQ(read_peer(R"({"schema":"rdmabench-doctor/1","findings":[1,{"id":2}]})", "p")
                .observations.size(),
            1U);
}

TEST(Doctor, RunsOnlyWhatIsAskedFor) {
  DoctorOptions options;
  options.only = {"limit", "port.state"};
  for (const Finding& finding : judge(load("roce"), options).findings) {
    EXPECT_TRUE(finding.id.starts_with("limit.") || finding.id == "port.state") << finding.id;
  }
  options.only = {"limits"};
  const std::string said =
      rdmabench::complaint([&] { judge(load("roce"), options); }, Fault::usage);
  EXPECT_THAT(said, has_all("'limits'", "device, port, counter, address",
                            "docs/doctor.md has the checks."));
  for (const CheckInfo& check : checks()) {
    const std::string group = " " + std::string(check.group());
    std::size_t times = 0;
    for (const std::string_view end : {",", ";"}) {
      for (std::size_t at = 0; (at = said.find(group + std::string(end), at)) != said.npos; ++at) {
        ++times;
      }
    }
    EXPECT_EQ(times, 1U) << group;
  }
}

const char* const kPort =
    "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/infiniband/mlx5_0/ports/1/";

/// What `check` says of mlx5_0:1.
std::string reason_of(const Diagnosis& diagnosis, std::string_view check) {
  for (const Finding& finding : diagnosis.findings) {
    if (finding.id == check && finding.subject == "mlx5_0:1" && finding.status == Status::skip)
      return finding.reason;
  }
  return "";
}

TEST(Doctor, FindsOneFaultOfAPortThatIsDown) {
  MemoryStore store = load("roce");
  store.add_file(std::string(kPort) + "state", "1: DOWN\n");
  store.add_file(std::string(kPort) + "phys_state", "2: Polling\n");
  store.add_file(std::string(kPort) + "rate", "2.5 Gb/sec (1X SDR)\n");
  store.remove(std::string(kPort) + "gids");
  const Diagnosis diagnosis = judge(store);
  EXPECT_EQ(diagnosis.tally().fail, 1U);
  for (const char* const check :
       {"port.phys_state", "port.rate", "address.gid", "address.roce_v2", "counter.symbol_error"}) {
    EXPECT_EQ(reason_of(diagnosis, check), "port mlx5_0:1 is down") << check;
  }
  DoctorOptions options;
  options.only = {"port.rate"};
  EXPECT_EQ(judge(std::move(store), options).tally().fail, 1U) << "the cause has to be told";
}

TEST(Doctor, JudgesNothingThatRestsOnWhatItDoesNotKnow) {
  MemoryStore store = load("roce");
  store.add_unreadable(std::string(kPort) + "state", EACCES);
  EXPECT_EQ(reason_of(judge(std::move(store)), "port.rate"),
            "port.state of port mlx5_0:1 is unknown");
}

TEST(Doctor, NamesTheSlotThatIsTooNarrow) {
  MemoryStore store = load("mlx5-infiniband");
  for (const std::string most : {"current", "max"}) {
    const std::string slot =
        "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0/0000:99:00.0/" + most + "_link_";
    store.add_file(slot + "width", "8\n");
    store.add_file(slot + "speed", "16.0 GT/s PCIe\n");
  }
  DoctorOptions options;
  options.only = {"pcie.path"};
  const Diagnosis diagnosis = judge(std::move(store), options);
  ASSERT_EQ(diagnosis.findings.size(), 2U);
  EXPECT_EQ(diagnosis.findings[0].status, Status::pass);
  EXPECT_EQ(diagnosis.findings[1].status, Status::fail);
  EXPECT_EQ(diagnosis.findings[1].observed, "126 Gb/s: PCIe 16 GT/s x8 at 0000:99:00.0");
  EXPECT_THAT(diagnosis.findings[1].expected, StartsWith("at least 400 Gb/s"));
  const std::string line = to_line(diagnosis);
  EXPECT_THAT(line, StartsWith("FAIL pcie.path mlx5_1, reseat: " + diagnosis.findings[1].observed +
                               ", expected " + diagnosis.findings[1].expected + "; "));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(Formats, OfALineHaveTheFirstFaultAndTheNumberOfOthers) {
  Diagnosis diagnosis;
  const auto add = [&](const char* check, const char* subject, Status status) -> Finding& {
    Finding& finding = diagnosis.findings.emplace_back();
    finding.id = check;
    finding.subject = subject;
    finding.status = status;
    return finding;
  };
  add("port.rate", "a", Status::error).reason = "no\x1b[2J number";
  add("port.mtu", "a", Status::warn);
  Finding& down = add("port.state", "b", Status::fail);
  down.observed = "1: DOWN";
  down.remedy = "Bring it up.";
  EXPECT_EQ(to_line(diagnosis),
            "FAIL port.state b, change setting: 1: DOWN; Bring it up. And 1 more\n");
  diagnosis.findings.pop_back();
  EXPECT_EQ(to_line(diagnosis), "ERROR port.rate a: no?[2J number\n");
  diagnosis.findings.clear();
  add("port.rate", "a", Status::pass);
  add("port.mtu", "a", Status::skip);
  add("port.state", "a", Status::skip);
  EXPECT_EQ(to_line(diagnosis), "1 checks passed, 2 skipped, none failed\n");
  add("port.width", "a", Status::warn);
  EXPECT_EQ(to_line(diagnosis), "1 checks passed, 1 WARN, 2 skipped, none failed\n");
}

TEST(Formats, OfALineFitInNodeProblemDetectors240Bytes) {
  Diagnosis diagnosis;
  for (int i = 0; i < 12; ++i) {
    Finding& finding = diagnosis.findings.emplace_back();
    finding.id = "log.mlx5";
    finding.subject = "node";
    finding.status = Status::fail;
    finding.observed = std::string(300, 'o');
    finding.expected = std::string(300, 'e');
    finding.remedy = "Reboot; if it comes again, reseat the card.";
  }
  const std::string line = to_line(diagnosis);
  EXPECT_EQ(line.size(), 240U);
  EXPECT_THAT(line, StartsWith("FAIL log.mlx5 node, change setting: ooo"));
  EXPECT_THAT(line, HasSubstr("ooo...; Reboot; if it comes again, reseat the card. And 11 more\n"));
  diagnosis.findings[0].remedy = std::string(300, 'r');
  EXPECT_THAT(to_line(diagnosis), HasSubstr("rrr... And 11 more\n"));
  EXPECT_LE(to_line(diagnosis).size(), 240U);
}

TEST(Doctor, WhatIsExpectedOfDevicesFailsANodeWithoutAny) {
  DoctorOptions options;
  options.only = {"device.count", "port.rate"};
  options.expectations.add_profile(R"({"rate_gbps": 800})", "connectx-8.json");
  const Diagnosis diagnosis = judge(load("virtual-machine"), options);
  ASSERT_FALSE(diagnosis.findings.empty());
  const Finding& count = diagnosis.findings[0];
  EXPECT_EQ(count.status, Status::fail);
  EXPECT_EQ(count.observed, "0");
  EXPECT_EQ(count.expected, "1 or more, because of rate_gbps=800");
  EXPECT_EQ(count.source, Source::profile);
  EXPECT_THAT(count.remedy, HasSubstr("lspci"));
  EXPECT_EQ(to_line(diagnosis),
            "FAIL device.count node, reseat: 0, expected 1 or more, because of rate_gbps=800; " +
                count.remedy + "\n");
}

TEST(Doctor, SaysOneActionForWhatFails) {
  const auto action = [](std::string_view check, Status status) {
    Finding finding;
    finding.id = check;
    finding.status = status;
    return action_of(finding);
  };
  EXPECT_EQ(action("counter.symbol_error", Status::fail), "replace cable");
  EXPECT_EQ(action("pcie.width", Status::warn), "reseat");
  EXPECT_EQ(action("cpu.throttled", Status::warn), "ask vendor");
  EXPECT_EQ(action("limit.memlock", Status::fail), "change setting");
  EXPECT_EQ(action("limit.memlock", Status::pass), "");
  EXPECT_EQ(action("limit.memlock", Status::error), "");
}

TEST(Doctor, ActsAsTheRemedySays) {
  for (const CheckInfo& check : checks()) {
    const auto begins = [&](auto... words) { return (check.remedy.starts_with(words) || ...); };
    Finding finding;
    finding.id = check.id;
    finding.status = Status::warn;
    const std::string_view action = action_of(finding);
    const std::string text = fmt::format("{}: {}: {}", check.id, action, check.remedy);
    EXPECT_EQ(action == "reseat", begins("Reseat", "Move the card", "Look for the missing device"))
        << text;
    EXPECT_EQ(action == "update software", begins("Install", "Update", "Bring all", "Load ib_umad"))
        << text;
    EXPECT_TRUE(!begins("Restart the node") || action == "reboot") << text;
    EXPECT_TRUE(!begins("The link is bad") || action == "replace cable") << text;
    EXPECT_TRUE(!begins("Do not compare", "Look for what", "This node is not") ||
                action == "investigate")
        << text;
  }
}

TEST(Doctor, SaysTheActionOfTheKernelsLine) {
  const auto finding = [](const std::string& line) {
    MemoryStore store = load("roce");
    store.add_file("rdmabench/kernel_log", line + "\n");
    for (const Finding& one : judge(std::move(store)).findings) {
      if (one.id.starts_with("log.") && !action_of(one).empty()) return one;
    }
    return Finding();
  };
  const auto cable =
      finding("mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, Bus stuck");
  EXPECT_THAT(cable.remedy, HasSubstr("Reseat the cable"));
  EXPECT_EQ(action_of(cable), "reseat");
  EXPECT_EQ(action_of(finding("NVRM: Xid (PCI:0000:2b:00): 31, pid=7, MMU Fault")), "restart job");
  EXPECT_EQ(action_of(finding("NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.")),
            "reboot");
  EXPECT_EQ(action_of(finding("NVRM: Xid (PCI:0000:2b:00): 999, new")), "ask vendor");
  const auto pci =
      finding("mlx5_core 0000:1b:00.0: poll_health:825:(pid 0): Fatal error 1 detected");
  EXPECT_THAT(pci.observed, has_all("PCIe", "1 line, last: "));
  EXPECT_EQ(action_of(pci), "reboot");
}

TEST(Doctor, DoesNotBlameANodeForPacketsDamagedElsewhere) {
  MemoryStore store = load("roce");
  store.add_file(
      "sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/infiniband/mlx5_0/ports/1/counters/"
      "port_rcv_remote_physical_errors",
      "999999\n");
  const Diagnosis diagnosis = judge(std::move(store));
  EXPECT_EQ(diagnosis.tally().fail, 0U);
  EXPECT_EQ(diagnosis.tally().warn, 1U);
  EXPECT_THAT(to_text(diagnosis, false),
              HasSubstr("      action    investigate\n      remedy    This node"));
}

TEST(Formats, AreHarmlessWhateverAFileHeld) {
  MemoryStore store = load("roce");
  store.add_file("etc/os-release", "PRETTY_NAME=\"evil\x1b[2J\xff,\"\n");
  store.add_file("proc/sys/kernel/hostname", "a\x1b[31m,b\n");
  const Diagnosis diagnosis = judge(std::move(store));
  EXPECT_THAT(to_text(diagnosis, true), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_json(diagnosis), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_csv(diagnosis), StartsWith("host,id,group,title,subject,status"));
}

const char* const kGolden[]{
    "bnxt",       "efa",         "foreign-devices", "irdma", "iwarp",       "mlx5-infiniband",
    "no-bnxt-re", "no-mlx4-ib",  "no-mlx5-ib",      "roce",  "roce-faults", "uncabled-port",
    "vf-down",    "vf-down-pod", "virtual-machine"};

TEST(Doctor, AsksForNoSubnetManagerWhereTheHostsPortHasOne) {
  MemoryStore store = load("vf-down");
  store.add_file("sys/devices/pci0000:60/0000:60:01.0/0000:61:00.1/infiniband/mlx5_1/ports/1/state",
                 "2: INIT\n");
  for (const Finding& finding : judge(std::move(store)).findings) {
    if (finding.id != "port.state" || finding.subject != "mlx5_1:1") continue;
    EXPECT_EQ(finding.status, Status::fail);
    EXPECT_THAT(finding.remedy, HasSubstr("It is a virtual function"));
  }
}

TEST(Doctor, TellsOneFaultOfACause) {
  for (const char* const name : kGolden) {
    std::map<std::string, std::string> told;  // by port or device
    for (const Finding& finding : judge(load(name)).findings) {
      if (finding.status != Status::fail || finding.subject == "node") continue;
      const auto [at, first] = told.emplace(finding.subject, finding.id);
      EXPECT_TRUE(first) << name << ": " << finding.subject << " has " << at->second << " and "
                         << finding.id;
    }
  }
}

TEST(Formats, OfTheTableFitAScreenOnAHealthyNode) {
  for (const char* const name : {"efa", "mlx5-infiniband", "roce", "uncabled-port"}) {
    const std::string text = to_text(judge(load(name)), false);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24) << name << "\n" << text;
  }
}

TEST(Formats, OfTheTableSayWhatIsNotJudgedAndWhy) {
  const std::string text = to_text(judge(load("uncabled-port")), false);
  EXPECT_THAT(text, HasSubstr("device mlx5_0 is not judged: it is down, and mlx5_1:1 of the same "
                              "card is up: --expect ports=LIST or rails=N\n"));
  EXPECT_THAT(text, HasSubstr(" apply to this node; --all shows them\n"));
}

TEST(Formats, OfTheTableTellAlikeFaultsOnce) {
  MemoryStore store = load("roce");
  for (const char* const function : {"0000:00:01.1/0000:01:00.0/infiniband/mlx5_0",
                                     "0000:20:01.1/0000:21:00.0/infiniband/mlx5_1"}) {
    const std::string root = std::string(function).substr(5, 2);
    store.add_file("sys/devices/pci0000:" + root + "/" + function + "/ports/1/state", "1: DOWN\n");
  }
  const Diagnosis diagnosis = judge(std::move(store));
  EXPECT_EQ(diagnosis.tally().fail, 2U);
  EXPECT_THAT(to_text(diagnosis, false), HasSubstr("FAIL  port.state  mlx5_0:1, mlx5_1:1: "));
  EXPECT_THAT(to_text(diagnosis, true), HasSubstr("FAIL  port.state  mlx5_1:1: "));
}

TEST(Formats, OfTheTableSayWhatIsWrongInTheFirstLine) {
  const std::string text = to_text(judge(load("roce-faults")), false);
  EXPECT_THAT(text, HasSubstr("mlx5_1: Width of the link: x8, expected x16, which card and slot "
                              "could do (derived)\n      action "));
  EXPECT_THAT(text, HasSubstr("\n      expected  a RoCE v2 GID of an IP address (standard)\n"))
      << "what was observed is a sentence";
}

TEST(Formats, OfTheTableShowWhatPassesOnlyWhenAsked) {
  const Diagnosis diagnosis = judge(load("roce"));
  EXPECT_THAT(to_text(diagnosis, false), Not(HasSubstr("PASS  port.state")));
  EXPECT_THAT(to_text(diagnosis, true), HasSubstr("PASS  port.state  mlx5_0:1: 4: ACTIVE\n"));
}

}  // namespace
}  // namespace rdmabench::inline v1::health
