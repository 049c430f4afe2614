// Topologies: the formats, the ways through them, and links and switches that
// are named by the pairs that cross them. The fat tree is what ibnetdiscover
// and dump_fts printed of 2 spines, 4 leaves and 16 hosts under ibsim, with the
// tables of OpenSM's ftree.
#include "rdmabench/fabric/matrix.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "../complaint.h"
#include "fabric/attribution_judge.h"
#include "fabric/paths.h"
#include "rdmabench/base/error.h"
#include "synthetic_fabric.h"

namespace rdmabench::inline v1::fabric {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Topology fat_tree(bool tables = true) {
  const std::string folder = RDMABENCH_FIXTURES "/topology/fat_tree.";
  std::vector<std::string> files{folder + "ibnetdiscover"};
  if (tables) files.push_back(folder + "dump_fts");
  return read_topology(files);
}

Topology parsed(const std::string& text, const std::string& name = "file") {
  return parse_topology({{name, text}});
}

std::string refusal(const std::string& text) {
  return rdmabench::complaint([&] { parsed(text); }).what();
}

std::vector<Node> hosts(std::uint32_t count) {
  std::vector<Node> nodes;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    nodes.push_back(
        {.rank = rank, .host = fmt::format("node{:02}.cluster", rank + 1), .rails = {}});
  }
  return nodes;
}

/// The way of a pair: "leaf1 port 33 to spine1 port 1; ..."
std::string way(const Paths& paths, std::uint32_t sender, std::uint32_t receiver) {
  std::string text;
  for (const Crossing& one : paths.between(sender, receiver, 0)) {
    text += fmt::format("{}{} x {:.2f}", text.empty() ? "" : "; ",
                        paths.name(one.link, one.forward), one.share);
  }
  return text;
}

TEST(Topology, ReadsWhatIbnetdiscoverAndDumpFtsPrint) {
  const Topology tree = fat_tree();
  EXPECT_THAT(tree.points, SizeIs(22));
  EXPECT_THAT(tree.links, SizeIs(24)) << "each cable once, though both ends list it";
  const std::vector<Node> nodes = hosts(16);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 1),
            "node01 port 1 to leaf1 port 1 x 1.00; leaf1 "
            "port 2 to node02 port 1 x 1.00");
  // Line 0x0002 of leaf4's table: to node01 by port 33, that is by spine1.
  EXPECT_EQ(way(paths, 15, 0),
            "node16 port 1 to leaf4 port 4 x 1.00; leaf4 "
            "port 33 to spine1 port 4 x 1.00; "
            "spine1 port 1 to leaf1 port 33 x 1.00; leaf1 "
            "port 1 to node01 port 1 x 1.00");
}

TEST(Topology, WithoutTablesEveryShortestPathIsPossible) {
  const Topology tree = fat_tree(false);
  const std::vector<Node> nodes = hosts(16);
  const Paths paths(tree, nodes, 1);
  EXPECT_THAT(way(paths, 15, 0), HasSubstr("leaf4 port 33 to spine1 port 4 x 0.50"));
  EXPECT_THAT(way(paths, 15, 0), HasSubstr("leaf4 port 34 to spine2 port 4 x 0.50"));
  EXPECT_THAT(way(paths, 15, 0), HasSubstr("leaf1 port 1 to node01 port 1 x 1.00"));
}

TEST(Topology, ReadsSlurms) {
  const Topology tree = parsed(
      "# made by hand\n"
      "SwitchName=leaf1 Nodes=node[01-02],node03 LinkSpeed=100\n"
      "switchname=leaf2 nodes=node[04-05,07]\n"
      "SwitchName=spine \\\n Switches=leaf[1-2]\n");
  EXPECT_THAT(tree.points, SizeIs(9));
  EXPECT_THAT(tree.links, SizeIs(8));
  const std::vector<Node> nodes = hosts(4);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 3),
            "node01 to leaf1 x 1.00; leaf1 to spine x 1.00; spine to leaf2 x 1.00; "
            "leaf2 to node04 x 1.00");
}

TEST(Topology, ReadsSlurmsBlocksAndTabs) {
  const Topology tree = parsed(
      "BlockSizes=2,4\n"
      "BlockName=b1\tNodes=node[01-02]\r\n"
      "BlockName=b2\tNodes=node[03-04]\r\n");
  EXPECT_THAT(tree.points, SizeIs(6));
  const std::vector<Node> nodes = hosts(4);
  EXPECT_EQ(way(Paths(tree, nodes, 1), 2, 3), "node03 to b2 x 1.00; b2 to node04 x 1.00");
}

TEST(Topology, ReadsWhatScontrolShows) {
  const std::vector<Node> nodes = hosts(4);
  const Topology tree = parsed(
      "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[01-02]\n"
      "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node[03-04]\n"
      "SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[01-04] Switches=leaf[1-2]\n");
  EXPECT_EQ(way(Paths(tree, nodes, 1), 0, 3),
            "node01 to leaf1 x 1.00; leaf1 to spine x 1.00; spine to leaf2 x 1.00; "
            "leaf2 to node04 x 1.00");
  const Topology blocks = parsed(
      "BlockName=b1 BlockIndex=0 Nodes=node[01-02] BlockSize=2\n"
      "BlockName=b2 BlockIndex=1 Nodes=node[03-04] BlockSize=2\n"
      "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=node[01-04] BlockSize=4\n");
  EXPECT_THAT(blocks.points, SizeIs(6));
  EXPECT_EQ(way(Paths(blocks, nodes, 1), 2, 3), "node03 to b2 x 1.00; b2 to node04 x 1.00");
}

TEST(Topology, ReadsSeveralOfScontrolsLinesInOne) {
  const Topology tree = parsed(
      "SwitchName=spine Level=1 LinkSpeed=1 Switches=leaf1,leaf2\n\n"
      "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[01-02] SwitchName=leaf2 Level=0 LinkSpeed=1 "
      "Nodes=node[03-04]\n");
  EXPECT_THAT(tree.points, SizeIs(7));
  EXPECT_THAT(tree.links, SizeIs(6));
}

TEST(Topology, ReadsSlurmsYaml) {
  const std::vector<Node> nodes = hosts(4);
  const std::string tree =
      "- topology: topo1\n"
      "  cluster_default: true\n"
      "  tree:\n"
      "    switches:\n"
      "      - switch: root  # both\n"
      "        children: s[1-2]\n"
      "      - nodes: \"node[01-02]\"\n"
      "        switch: s1\n"
      "      - switch: s2\n"
      "        nodes: node03,\n"
      "          node04\n";
  const std::string blocks =
      "- topology: topo2\n"
      "  cluster_default: false\n"
      "  block:\n"
      "    block_sizes:\n"
      "      - 4\n"
      "      - 16\n"
      "    blocks:\n"
      "      - block: b1\n"
      "        nodes: node[01-02]\n"
      "      - block: b2\n"
      "        nodes: node[03-04]\n";
  const std::string flat = "- topology: topo3\n  cluster_default: false\n  flat: true\n";
  const std::string through =
      "node01 to s1 x 1.00; s1 to root x 1.00; root to s2 x 1.00; s2 to node04 x 1.00";
  // The same nodes are arranged once, as the cluster's default has them.
  for (const std::string& text : {tree, "---\n" + tree + blocks + flat, blocks + flat + tree}) {
    const Topology topology = parsed(text);
    EXPECT_THAT(topology.points, SizeIs(7)) << text;
    EXPECT_EQ(way(Paths(topology, nodes, 1), 0, 3), through) << text;
  }
  EXPECT_EQ(way(Paths(parsed(blocks), nodes, 1), 2, 3), "node03 to b2 x 1.00; b2 to node04 x 1.00");
}

TEST(Topology, ReadsEachOfSlurmsTopologiesOfOtherNodes) {
  const auto block = [](const std::string& name, const std::string& nodes) {
    return "- topology: " + name +
           "\n  block:\n    blocks:\n      - block: unknown\n        nodes: " + nodes + "\n";
  };
  const Topology both = parsed(block("gpu", "node[01-02]") + block("cpu", "node[03-04]"));
  const std::vector<Node> nodes = hosts(4);
  const Paths paths(both, nodes, 1);
  EXPECT_EQ(way(paths, 0, 1), "node01 to gpu unknown x 1.00; gpu unknown to node02 x 1.00");
  EXPECT_EQ(way(paths, 2, 3), "node03 to cpu unknown x 1.00; cpu unknown to node04 x 1.00");
}

TEST(Topology, RefusesYamlWithoutSwitches) {
  EXPECT_THAT(refusal("---\n- topology: a\n  flat: true\n"),
              HasSubstr("no topology with switches or blocks"));
  EXPECT_THAT(refusal("- topology: a\n  tree:\n    switches:\n      - children: s[1-2]\n"),
              HasSubstr("line 4: a switch or block without a name"));
}

TEST(Topology, ReadsACsvOfASpreadsheet) {
  const Topology tree = parsed(
      "\xEF\xBB\xBF\"node\",\"leaf\"\r\n"
      "\"node01\",\"row 7, \"\"A\"\"\"\r\n"
      "node02, \"row 7, \"\"A\"\"\" \r\n");
  const std::vector<Node> nodes = hosts(2);
  EXPECT_EQ(way(Paths(tree, nodes, 1), 0, 1),
            "node01 to leaf row 7, \"A\" x 1.00; leaf row 7, \"A\" to node02 x 1.00");
}

TEST(Topology, ReadsACsvOfLevels) {
  const Topology tree = parsed("node,leaf,pod\nnode01,1,1\nnode02,1,1\nnode03,2,1\n");
  const std::vector<Node> nodes = hosts(3);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 2),
            "node01 to leaf 1 x 1.00; leaf 1 to pod 1 x "
            "1.00; pod 1 to leaf 2 x 1.00; "
            "leaf 2 to node03 x 1.00");
}

TEST(Topology, ALeafOfACsvIsToldByAllAboveIt) {
  const Topology tree =
      parsed("node,leaf,pod\nnode01,0,0\nnode02,1,0\nnode03,0,1\nnode04,2,1\nnode01,0,0\n");
  const std::vector<Node> nodes = hosts(4);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 1),
            "node01 to pod 0 leaf 0 x 1.00; pod 0 leaf 0 to pod 0 x 1.00; pod 0 to leaf 1 x 1.00; "
            "leaf 1 to node02 x 1.00");
  EXPECT_THAT(way(paths, 2, 3), HasSubstr("node03 to pod 1 leaf 0 x 1.00"));
}

TEST(Topology, SwitchesOfOneDescriptionGetTheirGuid) {
  const Topology tree = parsed(
      "switchguid=0xb8599f0300fc6de4(b8599f0300fc6de4)\n"
      "Switch\t41 \"S-b8599f0300fc6de4\"\t# \"Quantum\" base port 0 lid 1 lmc 0\n"
      "[21]\t\"S-b8599f0300fc7777\"[1]\t# \"Quantum\" lid 2 4xHDR\n"
      "Switch\t41 \"S-b8599f0300fc7777\"\t# \"Quantum\" base port 0 lid 2 lmc 0\n"
      "Switch\t41 \"S-b8599f0300fc8888\"\t# \"spine\" base port 0 lid 3 lmc 0\n");
  ASSERT_THAT(tree.points, SizeIs(3));
  EXPECT_EQ(tree.points[0].name, "Quantum 0xb8599f0300fc6de4");
  EXPECT_EQ(tree.points[1].name, "Quantum 0xb8599f0300fc7777");
  EXPECT_EQ(tree.points[2].name, "spine");
}

TEST(Topology, ChassisOfOneNameGetTheirId) {
  const auto file = [](int id) {
    return fmt::format(
        R"({{"lldp": {{"interface": {{"eth0": {{"chassis": {{"sonic": {{"id": {{"type": "mac", "value": "00:{}"}}}}}},
            "port": {{"id": {{"value": "Ethernet{}"}}}}}}}}}}}})",
        id, id);
  };
  const Topology tree = parse_topology({{"node01.json", file(1)}, {"node02.json", file(2)}});
  ASSERT_THAT(tree.points, SizeIs(4));
  std::vector<std::string> names;
  for (const TopologyPoint& point : tree.points) names.push_back(point.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("node01 eth0", "node02 eth0", "sonic 00:1",
                                                   "sonic 00:2"));
}

TEST(Topology, ReadsLldpctlsJsonOfEachHost) {
  const std::string one =
      R"({"lldp": {"interface": {"eth0": {"via": "LLDP", "chassis": {"tor1": {"mgmt-ip": "10.0.0.1"}},
          "port": {"id": {"type": "ifname", "value": "Ethernet1"}}}}}})";
  const std::string two =
      R"({"lldp": {"interface": [{"eth0": {"chassis": {"tor1": {}}, "port": {"id": {"value": "Ethernet2"}}}},
                                 {"eth1": {"chassis": {"id": {"type": "mac", "value": "00:11:22"}},
                                           "port": {"id": {"value": "Ethernet2"}}}}]}})";
  const Topology tree = parse_topology({{"lldp/node01.json", one}, {"lldp/node02.json", two}});
  std::vector<Node> nodes = hosts(2);
  for (Node& node : nodes) node.rails = {"eth0"};
  const Paths paths(tree, nodes, 1);
  const auto named = [](const auto& point) { return point.name == "00:11:22"; };
  EXPECT_TRUE(std::any_of(tree.points.begin(), tree.points.end(), named)) << "it has no name";
  EXPECT_EQ(way(paths, 0, 1),
            "node01 eth0 port eth0 to tor1 port Ethernet1 x 1.00; "
            "tor1 port Ethernet2 to node02 eth0 port eth0 x 1.00");
}

TEST(Topology, AHostWithoutLldpNeighboursHasNoLeaf) {
  const Topology tree = parse_topology({{"lldp/node01.json", R"({"lldp": {}})"}});
  ASSERT_THAT(tree.points, SizeIs(1));
  EXPECT_EQ(tree.points[0].name, "node01");
  EXPECT_THAT(tree.links, IsEmpty());
}

TEST(Topology, RefusesWhatItCannotRead) {
  EXPECT_THAT(refusal(""), HasSubstr("no line but comments"));
  EXPECT_THAT(refusal("hello\n"), HasSubstr("file, line 1: it is not ibnetdiscover's"));
  EXPECT_THAT(refusal("node,leaf\na,1\nb\n"), HasSubstr("line 3: 1 cells, but the heading has 2"));
  EXPECT_THAT(refusal("Hostname,Switch,Type,Speed\na,1,ACCESS,1G\na,1,TRUNK,25G\n"),
              HasSubstr("'Type' is no level of switches"));
  EXPECT_THAT(refusal("Hostname,Speed,Switch\na,1G,1\n"), HasSubstr("'Speed' is no level"));
  EXPECT_THAT(refusal("node,leaf,pod\na,1,1\nb,1,2\na,1,2\n"),
              has_all("line 4: a ", "pod 2 leaf 1", "pod 1 leaf 1 in line 2 of file"));
  EXPECT_THAT(refusal("SwitchName=a Nodes=n[1-x]\n"), HasSubstr("invalid range '1-x'"));
  EXPECT_THAT(refusal("SwitchName=a Nodes=n[3-0]\n"), HasSubstr("range '3-0' runs backwards"));
  EXPECT_THAT(refusal("SwitchName=a Nodes=n[1-999999999]\n"), HasSubstr("more than 1000000 names"));
  EXPECT_THAT(refusal("SwitchName=a Nodes=n[1-600000],m[1-600000]\n"),
              HasSubstr("more than 1000000 names"));
  for (const char* text :
       {"{\"lldp\": 1}", "{\"lldp\": []}", "{\"lldp\": {\"interface\": [1]}}", "{"}) {
    EXPECT_THAT(refusal(text), HasSubstr("not what `lldpctl -f json` prints"));
    EXPECT_THAT(refusal(text), Not(HasSubstr("json.exception")));
  }
  EXPECT_THAT(refusal(R"({"lldp": {"interface": {"eth0": {"chassis": {}}}}})"),
              HasSubstr("an interface without a chassis"));
  EXPECT_THAT(refusal("switchguid=0x1(1)\nSwitch 2 \"S-1\" # \"a\"\n[1] nonsense\n"),
              has_all("line 3: invalid port", "'[1] nonsense'"));
  EXPECT_THAT(refusal("switchguid=0x1(1)\nSwitch 2 S-1\n[1] \"S-2\"[1]\n"),
              has_all("line 2: invalid heading", "'Switch 2 S-1'"));
  EXPECT_THAT(refusal("switchguid=0x1(1)\nSwitch 2 \"S-1\" # \"a" + std::string(1, '\0') + "\"\n"),
              HasSubstr("line 2: a byte of 0"));
  EXPECT_LT(refusal("switchguid=0x1(1)\n[1]" + std::string(4000, 'x') + "\n").size(), 500U);
  EXPECT_THAT(refusal("Unicast lids [0x0-0x1] of switch Lid 1 guid 0x0000000000200005 "
                      "(leaf4):\n"
                      "0x0001 033 : (Switch portguid 0x0000000000200000: 'spine1')\n"),
              HasSubstr("which no file links"));
  EXPECT_THAT(refusal("switchguid=0x1(1)\nSwitch " + std::string(1 << 20, '1') + "\n"),
              HasSubstr("line 2: more than 4096 characters"));
  EXPECT_THROW(read_topology({"/no such file"}), Error);
  const Topology tree = fat_tree();
  const std::vector<Node> nodes = hosts(17);
  EXPECT_THROW(Paths(tree, nodes, 1), Error) << "node17 is not in it";
}

TEST(Topology, RefusesWhatWouldBeAnotherGraph) {
  EXPECT_THAT(refusal("SwitchName=a Nodes=n[1-2]\nSwitchName=s Swtches=a\n"),
              HasSubstr("unknown key 'swtches'"));
  EXPECT_THAT(refusal("instance,nn1,nn2,nn3\ni1,top,m,b1\ni2,top,m,b2\n"),
              HasSubstr("line 1: each 'nn3' has one 'nn2'"));
  EXPECT_THAT(refusal("SwitchName=a Nodes=\"n1, n2\"\n"), HasSubstr("unknown key 'n2\"'"));
  parsed("node,leaf,pod\nn1,leaf0,podA\nn2,leaf0,podB\n");
  parsed("node,leaf,pod,core\nn1,,podA,c\nn2,,podB,c\n");
  const Topology quoted = parsed("SwitchName=\"a\" Nodes=\"n[1-2]\"\n");
  EXPECT_THAT(quoted.points, SizeIs(3));
}

TEST(Topology, CellsThatShareAnEndCrossNothing) {
  const Topology tree = fat_tree();
  Matrix matrix;
  matrix.nodes = hosts(16);
  matrix.measurements.push_back({.sender = 0, .receiver = 1, .value = 1});  // of one leaf
  for (std::uint32_t rank = 1; rank < 16; ++rank) {
    matrix.measurements.push_back(
        {.pattern = "one-to-many", .sender = 0, .receiver = rank, .rail = rank % 2, .value = 1});
  }
  const Attribution found = attribute(matrix, &tree);
  EXPECT_EQ(found.crossed->crossed, 0U);
  EXPECT_THAT(found.not_judged, testing::Contains(HasSubstr("15 measurements of one-to-many")));
}

TEST(Topology, ReadsLldpsListsOfJson0) {
  const Topology tree = parse_topology({{"node01.json",
                                         R"({"lldp": [{"interface": [
          {"name": "eth0", "chassis": [{"id": [{"type": "mac", "value": "00:01"}], "name": [{"value": "tor1"}]}],
           "port": [{"id": [{"type": "ifname", "value": "Ethernet1"}]}]},
          {"name": "eth1", "chassis": [{"id": [{"type": "mac", "value": "00:02"}]}],
           "port": [{"id": [{"type": "ifname", "value": "Ethernet2"}]}]}]}]})"},
                                        {"node02.json", R"({"lldp": [{}]})"}});
  ASSERT_THAT(tree.points, SizeIs(5));
  std::string names;
  for (const TopologyPoint& point : tree.points) names += point.name + "; ";
  EXPECT_THAT(names, HasSubstr("node01 eth0; "));
  EXPECT_THAT(names, HasSubstr("tor1; "));
  EXPECT_THAT(names, HasSubstr("00:02; "));
  EXPECT_EQ(tree.links.at(1).b_port, "Ethernet2");
}

TEST(Topology, WithoutALinkIsRefused) {
  EXPECT_THAT(refusal("vendid=0x2c9\ncaguid=0x1\nCa\t1 \"H-01\"\t\t# \"n1 HCA-1\"\n"),
              HasSubstr("no link is in it"));
  EXPECT_THAT(refusal("#BlockName=b1 Nodes=n[1-18]\nBlockSizes=20\n"),
              HasSubstr("no link is in it"));
  EXPECT_THAT(refusal("SwitchName=s1 LinkSpeed=1\n"), HasSubstr("no link is in it"));
}

TEST(Topology, IbnetdiscoversListOfPortsIsNamed) {
  EXPECT_THAT(refusal("CA   134  1 0x7cfe 4x EDR - SW  1719 10 0x7cff ( 'n1 HCA-1' - 'leaf1' )\n"),
              HasSubstr("without -p"));
}

TEST(Topology, AHostnameHeadsAColumnOfHosts) {
  EXPECT_THAT(parsed("Hostname,Switch\na,s1\nb,s1\n").links, SizeIs(2));
}

TEST(Topology, OnlySwitchesWithoutAnotherAboveAreJoined) {
  const Topology tree = parsed(
      "SwitchName=r Switches=b,s\n"
      "SwitchName=b Switches=b0,b1\n"
      "SwitchName=b0 Nodes=node01\n"
      "SwitchName=b1 Nodes=node02\n"
      "SwitchName=s Nodes=node03\n"
      "SwitchName=q Switches=g\n"
      "SwitchName=g Nodes=node04\n");
  const std::vector<Node> nodes = hosts(4);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 3),
            "node01 to b0 x 1.00; b0 to b x 1.00; b to r x 1.00; r to what is above x 1.00; "
            "what is above to q x 1.00; q to g x 1.00; g to node04 x 1.00");
  EXPECT_THAT(paths.topology().links, SizeIs(tree.links.size() + 2));
}

/// 16 nodes below so many leaves, and nothing above these.
Topology leaves_only(std::uint32_t leaves) {
  std::string text = "node,leaf\n";
  for (std::uint32_t node = 0; node < 16; ++node) {
    text += fmt::format("node{:02},{}\n", node + 1, node * leaves / 16);
  }
  return parsed(text);
}

void expect_every_link_crossed(const Topology& tree, std::uint32_t directions) {
  const std::vector<Node> nodes = hosts(16);
  const Paths paths(tree, nodes, 1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Matrix matrix;
    matrix.nodes = nodes;
    for (const Round& round : covering(schedule(Pattern::full, 16, 0, seed), 5, paths, 1)) {
      for (const Step& step : round.steps) {
        for (const Pair& pair : step) {
          matrix.measurements.push_back({.sender = pair.sender, .receiver = pair.receiver});
        }
      }
    }
    Attribution out;
    const Crossed crossed = crossed_links(matrix, paths, out);
    EXPECT_EQ(crossed.directions, directions);
    EXPECT_EQ(crossed.crossed, directions) << seed;
    EXPECT_GE(crossed.fewest_pairs, 4U) << seed;
    EXPECT_EQ(crossed.leaves, 4U);
    EXPECT_EQ(crossed.within, 4U) << seed;
    EXPECT_THAT(out.not_judged, IsEmpty());
  }
}

TEST(Topology, RandomRoundsCrossEveryLink) {
  expect_every_link_crossed(fat_tree(), 16);
}

TEST(Topology, RandomRoundsCrossWhatIsAboveTheLeaves) {
  expect_every_link_crossed(leaves_only(4), 8);
}

TEST(Topology, WhatIsAboveItsPartsIsOnePoint) {
  const Topology tree = parsed("node,leaf,pod\nnode01,0,0\nnode02,1,0\nnode03,2,1\nnode04,2,1\n");
  const std::vector<Node> nodes = hosts(4);
  const Paths paths(tree, nodes, 1);
  EXPECT_EQ(way(paths, 0, 2),
            "node01 to leaf 0 x 1.00; leaf 0 to pod 0 x 1.00; pod 0 to what is above x 1.00; "
            "what is above to pod 1 x 1.00; pod 1 to leaf 2 x 1.00; leaf 2 to node03 x 1.00");
  EXPECT_EQ(paths.apart(0, 2, 0),
            std::pair(paths.topology().links[0].b, paths.topology().links[4].b));
  EXPECT_EQ(way(paths, 0, 1),
            "node01 to leaf 0 x 1.00; leaf 0 to pod 0 x 1.00; pod 0 to leaf 1 x 1.00; "
            "leaf 1 to node02 x 1.00");
  EXPECT_FALSE(paths.apart(0, 1, 0));
}

TEST(Topology, PartsThatEachHaveOneRailAreNotJoined) {
  const Topology tree =
      parsed("node,leaf\nnode01 mlx5_0,0\nnode01 mlx5_1,1\nnode02 mlx5_0,0\nnode02 mlx5_1,1\n");
  const std::vector<Node> nodes = hosts(2);
  const Paths paths(tree, nodes, 2);
  EXPECT_EQ(paths.topology().points.size(), tree.points.size());
  EXPECT_THAT(paths.between(0, 1, 1), SizeIs(2));
}

TEST(Topology, PairsWithoutAWayAreADoubt) {
  const auto file = [](const char* port) {
    return fmt::format(R"({{"lldp": {{"interface": {{"eth0": {{"chassis": {{"tor1": {{}}}},
                           "port": {{"id": {{"value": "{}"}}}}}}}}}}}})",
                       port);
  };
  const Topology tree = parse_topology(
      {{"node01.json", file("1")}, {"node02.json", file("2")}, {"node03.json", R"({"lldp": {}})"}});
  Matrix matrix;
  matrix.nodes = hosts(3);
  for (const auto& [sender, receiver] : {std::pair(0U, 1U), {0U, 2U}, {2U, 1U}}) {
    matrix.measurements.push_back({.sender = sender, .receiver = receiver, .value = 1});
  }
  const Attribution found = attribute(matrix, &tree);
  EXPECT_THAT(found.not_judged,
              testing::Contains(
                  has_all("2 measured pairs",
                          "node01.cluster to node03.cluster; node03.cluster to node02.cluster")));
  EXPECT_EQ(found.crossed->directions, 0U);
}

/// Each pair once, of the first rail.
Attribution attributed(const Topology& tree, const std::vector<Node>& nodes) {
  Matrix matrix;
  matrix.nodes = nodes;
  for (std::uint32_t sender = 0; sender < nodes.size(); ++sender) {
    for (std::uint32_t receiver = 0; receiver < nodes.size(); ++receiver) {
      if (sender == receiver) continue;
      matrix.measurements.push_back({.sender = sender, .receiver = receiver, .value = 1});
    }
  }
  return attribute(matrix, &tree);
}

TEST(Topology, OneOfSeveralCablesIsNotCrossedForSure) {
  const Attribution found =
      attributed(parsed("SwitchName=a Nodes=node[01-02]\nSwitchName=b Nodes=node[03-04]\n"
                        "SwitchName=s1 Switches=a,b\nSwitchName=s2 Switches=a,b\n"),
                 hosts(4));
  EXPECT_EQ(found.crossed->directions, 8U);
  EXPECT_EQ(found.crossed->crossed, 0U);
  EXPECT_THAT(found.not_judged, testing::Contains(has_all("8 of 8 directions", "several")));
}

TEST(Topology, AHostOfTwoLeavesCountsForBoth) {
  const Attribution found =
      attributed(parsed("SwitchName=a Nodes=node[01-02]\nSwitchName=b Nodes=node[02-03]\n"
                        "SwitchName=s Switches=a,b\n"),
                 hosts(3));
  EXPECT_EQ(found.crossed->leaves, 2U);
  EXPECT_EQ(found.crossed->within, 2U);
}

TEST(Topology, AnAdapterIsFoundByItsNetworkDeviceOrByTheOrderOfNames) {
  const Topology tree = parsed(
      "node,leaf\nnode01 eno1,m\nnode01 ens1,b\nnode01 ens0,a\nnode02 eno1,m\nnode02 ens1,b\n"
      "node02 ens0,a\n");
  std::vector<Node> nodes = hosts(2);
  for (Node& node : nodes) {
    node.rails = {"mlx5_1"};
    node.interfaces = {"ens1"};
  }
  EXPECT_THAT(way(Paths(tree, nodes, 1), 0, 1), HasSubstr("leaf b"));
  nodes[0].interfaces = nodes[1].interfaces = {""};
  EXPECT_THAT(rdmabench::complaint([&] { Paths(tree, nodes, 1); }).what(),
              HasSubstr("node01 has 3 adapters in the topology"));
  const Topology hcas =
      parsed("node,leaf\nnode01 HCA-2,b\nnode01 HCA-1,a\nnode02 HCA-2,b\nnode02 HCA-1,a\n");
  EXPECT_THAT(way(Paths(hcas, hosts(2), 2), 0, 1), HasSubstr("leaf a"));
}

/// A fabric over the tree: what crosses the slow part gets `kSlow` of the
/// bandwidth.
class PlantedLinks : public testing::Test {
 protected:
  explicit PlantedLinks(Topology tree = fat_tree()) : tree_(std::move(tree)) {}

  static constexpr double kSlow = 0.9;
  using Slow = std::function<bool(const Crossing&)>;

  double measure(std::uint32_t sender, std::uint32_t receiver) {
    double factor = 1;
    const std::vector<Crossing> path = paths_.between(sender, receiver, 0);
    for (const Crossing& one : path) {
      if (slow_(one)) factor = kSlow;
    }
    if (slow_pair_ && slow_pair_(sender, receiver)) factor = kSlow;
    if (path.size() > 2) factor *= far_;
    return 100e9 * factor * std::exp(noise_(random_));
  }

  void add(std::uint32_t round, std::uint32_t sender, std::uint32_t receiver, bool confirming) {
    matrix_.measurements.push_back({.round = round,
                                    .pattern = confirming ? "confirm" : "round-robin",
                                    .sender = sender,
                                    .receiver = receiver,
                                    .metric = Metric::bandwidth,
                                    .size_bytes = 1 << 20,
                                    .value = measure(sender, receiver),
                                    .confirming = confirming});
  }

  Attribution settle(std::uint64_t seed, Slow slow) {
    random_.seed(seed);
    slow_ = std::move(slow);
    matrix_ = {};
    matrix_.nodes = nodes_;
    std::uint32_t number = 0;
    for (const Round& round : covering(schedule(Pattern::full, 16, 0, seed), rounds_, paths_, 1)) {
      for (const Step& step : round.steps) {
        for (const Pair& pair : step) add(number, pair.sender, pair.receiver, false);
      }
      ++number;
    }
    Attribution found = attribute(matrix_, &tree_);
    if (once_settled_) once_settled_();
    for (auto plan = confirmations(found, matrix_); !plan.empty();
         plan = confirmations(found, matrix_)) {
      for (const Confirmation& one : plan) add(number + one.round, one.sender, one.receiver, true);
      number += plan.back().round + 1;
      found = attribute(matrix_, &tree_);
    }
    return found;
  }

  bool touches(const Crossing& one, const std::string& point) const {
    const Topology& tree = paths_.topology();
    const TopologyLink& link = tree.links[one.link];
    return tree.points[link.a].name == point || tree.points[link.b].name == point;
  }

  /// That part is found and confirmed in 95 % of the runs, of all rounds and of five, and nothing
  /// else in any.
  void expect_named(Part part, const std::string& element, const Slow& slow) {
    for (const std::uint32_t rounds : {15U, 5U}) {
      EXPECT_GE(named_in(rounds, part, element, slow), 95U) << rounds << " rounds";
    }
    EXPECT_THAT(innocents_, IsEmpty());
  }

  std::uint64_t named_in(std::uint32_t rounds, Part part, const std::string& element,
                         const Slow& slow) {
    rounds_ = rounds;
    std::uint64_t count = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Attribution found = settle(seed, slow);
      bool named = false;
      for (const Finding& finding : found.findings) {
        const std::string& name =
            finding.part == Part::node ? nodes_[finding.a].host : finding.element;
        const bool planted = finding.part == part && name == element;
        named = planted && finding.confirmed && found.findings.size() == 1;
        if (!planted) innocents_.push_back(finding.text);
      }
      count += named ? 1 : 0;
    }
    return 100 * count / kSeeds;
  }

  static constexpr std::uint64_t kSeeds = 4 * RDMABENCH_SEEDS;
  Topology tree_;
  std::vector<Node> nodes_ = hosts(16);
  Paths paths_{tree_, nodes_, 1};
  Matrix matrix_;
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_{0, 0.01};
  double far_ = 1;
  std::uint32_t rounds_ = 15;
  Slow slow_;
  std::function<bool(std::uint32_t sender, std::uint32_t receiver)> slow_pair_;
  std::function<void()> once_settled_;  ///< before the confirming rounds
  std::vector<std::string> innocents_;
};

TEST_F(PlantedLinks, NothingSlowNamesNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_THAT(settle(seed, [](const Crossing&) { return false; }).findings, IsEmpty()) << seed;
  }
}

TEST_F(PlantedLinks, ASlowUplinkIsNamedByItsPort) {
  const std::string name = "leaf2 port 34 to spine2 port 2";
  expect_named(Part::link, name,
               [&](const Crossing& one) { return paths_.name(one.link, one.forward) == name; });
}

TEST_F(PlantedLinks, ASlowCableIsNamedInBothDirections) {
  const std::string name = "leaf3 port 33 to spine1 port 3";
  expect_named(Part::cable, name, [&](const Crossing& one) {
    return paths_.name(one.link, true) == name || paths_.name(one.link, false) == name;
  });
}

TEST_F(PlantedLinks, ASlowLeafIsNamedAndNotItsNodes) {
  expect_named(Part::switch_point, "leaf4",
               [&](const Crossing& one) { return touches(one, "leaf4"); });
}

TEST_F(PlantedLinks, ASlowSpineIsNamed) {
  expect_named(Part::switch_point, "spine2",
               [&](const Crossing& one) { return touches(one, "spine2"); });
}

TEST_F(PlantedLinks, ASlowNodeIsStillANode) {
  expect_named(Part::node, "node06.cluster",
               [&](const Crossing& one) { return touches(one, "node06"); });
}

TEST_F(PlantedLinks, TheSquareTestMeasuresTheSameNodesBesideTheLink) {
  const std::string name = "leaf2 port 34 to spine2 port 2";
  const Attribution found =
      settle(1, [&](const Crossing& one) { return paths_.name(one.link, one.forward) == name; });
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_THAT(
      found.findings[0].evidence,
      testing::Contains(testing::ContainsRegex("not cross it [^;]*(0.9|1.0). in [0-9]+ meas")));
}

TEST_F(PlantedLinks, BothUplinksOfALeafAreNamed) {
  const auto uplink = [&](const Crossing& one) {
    const std::string name = paths_.name(one.link, one.forward);
    return name.starts_with("leaf2 port 33") || name.starts_with("leaf2 port 34");
  };
  const Attribution found = settle(1, uplink);
  ASSERT_EQ(found.findings.size(), 2U);
  for (const Finding& finding : found.findings) {
    EXPECT_TRUE(finding.confirmed) << finding.text;
    EXPECT_THAT(finding.element, HasSubstr("leaf2 port 3"));
  }
}

TEST_F(PlantedLinks, ALinkIsNotToBlameWhereItsNodesAreSlowBesideItToo) {
  const std::string name = "leaf2 port 34 to spine2 port 2";
  once_settled_ = [&] { slow_ = [](const Crossing&) { return true; }; };
  const Attribution found =
      settle(1, [&](const Crossing& one) { return paths_.name(one.link, one.forward) == name; });
  for (const Finding& finding : found.findings) EXPECT_FALSE(finding.confirmed) << finding.text;
  ASSERT_THAT(found.withdrawn, testing::Not(IsEmpty()));
  EXPECT_EQ(found.withdrawn[0].element, name);
}

TEST_F(PlantedLinks, AnOversubscribedLevelIsADoubtAndNoFinding) {
  far_ = 0.5;
  const Attribution found = settle(1, [](const Crossing&) { return false; });
  EXPECT_THAT(found.findings, IsEmpty());
  ASSERT_THAT(found.not_judged,
              testing::Contains(HasSubstr("pairs with 3 switches between them reach 0.50")));
}

class PlantedAboveTwo : public PlantedLinks {
 protected:
  PlantedAboveTwo() : PlantedLinks(leaves_only(2)) {}
};

class PlantedAboveFour : public PlantedLinks {
 protected:
  PlantedAboveFour() : PlantedLinks(leaves_only(4)) {}
};

TEST_F(PlantedAboveTwo, TheSlowDirectionIsNamed) {
  expect_named(Part::between, "leaf 0 and leaf 1 (towards leaf 1)", [&](const Crossing& one) {
    return paths_.name(one.link, one.forward) == "what is above to leaf 1";
  });
}

TEST_F(PlantedAboveTwo, BothDirectionsAreADoubt) {
  far_ = 0.6;
  const Attribution found = settle(1, [](const Crossing&) { return false; });
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_judged,
              testing::Contains(HasSubstr("pairs with 3 switches between them reach 0.60")));
}

TEST_F(PlantedAboveFour, NothingSlowNamesNothing) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_THAT(settle(seed, [](const Crossing&) { return false; }).findings, IsEmpty()) << seed;
  }
}

TEST_F(PlantedAboveFour, WhatLeavesALeafIsNamed) {
  const std::string name = "leaf 2 to what is above";
  expect_named(Part::link, name,
               [&](const Crossing& one) { return paths_.name(one.link, one.forward) == name; });
}

TEST_F(PlantedAboveFour, ALeafsUplinkIsNamedInBothDirections) {
  expect_named(Part::cable, "leaf 2 to what is above", [&](const Crossing& one) {
    return touches(one, "leaf 2") && touches(one, "what is above");
  });
}

TEST_F(PlantedAboveFour, AnOrderedPairOfLeavesIsNamed) {
  slow_pair_ = [](std::uint32_t sender, std::uint32_t receiver) {
    return sender < 4 && receiver >= 12;
  };
  EXPECT_GE(named_in(15, Part::between, "leaf 0 and leaf 3 (towards leaf 3)",
                     [](const Crossing&) { return false; }),
            95U);
  EXPECT_THAT(innocents_, IsEmpty());
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric
