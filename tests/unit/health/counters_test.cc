#include "health/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "../has_all.h"
#include "tree.h"

namespace rdmabench::inline v1::health {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kMost32 = 0xffffffff;

/// The counter of that device and name; the first of several.
std::optional<report::Counter> find(const std::vector<report::Counter>& counters,
                                    const std::string& device, const std::string& name) {
  for (const report::Counter& counter : counters) {
    if (counter.device == device && counter.name == name) return counter;
  }
  return std::nullopt;
}

std::uint64_t change(const std::vector<report::Counter>& counters, const std::string& device,
                     const std::string& name) {
  const auto counter = find(counters, device, name);
  if (!counter) {
    ADD_FAILURE() << "no " << name << " of " << device;
    return 0;
  }
  EXPECT_TRUE(counter->change.has_value()) << name;
  return counter->change.value_or(0);
}

struct Counters : ::testing::Test {
  Tree tree;

  Snapshot read(const std::vector<std::string>& devices) const {
    return read_counters(devices, tree.root());
  }
};

/// A run over RDMA that fell back to TCP: what the adapter did not count is told, too.
TEST_F(Counters, OfBytesAreToldWhereNothingMoved) {
  tree.rdma_device("mlx5_0", "mlx5_core");
  tree.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data";
  const std::string interface = "sys/class/net/eth0/statistics/tx_bytes";
  tree.write(port, "1000\n");
  tree.write(interface, "500\n");
  tree.write("sys/class/net/eth0/statistics/tx_packets", "5\n");
  std::vector<std::string> devices = rdma_devices(tree.root());
  EXPECT_THAT(devices, ElementsAre("mlx5_0"));
  for (const std::string& one : network_devices(tree.root())) devices.push_back(one);
  EXPECT_THAT(devices, ElementsAre("mlx5_0", "eth0"));
  const Snapshot before = read(devices);
  tree.write(interface, "7500\n");
  tree.write("sys/class/net/eth0/statistics/tx_packets", "9\n");
  auto counters = byte_counters(before, read(devices));
  EXPECT_THAT(counters, SizeIs(2));
  EXPECT_EQ(change(counters, "mlx5_0:1", "port_sent_bytes"), 0U);
  EXPECT_EQ(change(counters, "eth0", "interface_sent_bytes"), 7000U);
  tree.write(port, "2000\n");
  counters = byte_counters(before, read(devices));
  EXPECT_EQ(change(counters, "mlx5_0:1", "port_sent_bytes"), 4000U) << "in words of four bytes";
  EXPECT_EQ(counted_as("mlx5_0:1", tree.root()), "mlx5_0");
  EXPECT_EQ(counted_as("mlx5_0-rdm", tree.root()), "mlx5_0");
  EXPECT_EQ(counted_as("shm", tree.root()), "shm");
}

TEST_F(Counters, OfMlx5) {
  tree.rdma_device("mlx5_0", "mlx5_core");
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  tree.write_lines(port + "hw_counters",
                   "duplicate_request\nimplied_nak_seq_err\nlifespan\nlocal_ack_timeout_err\n"
                   "np_cnp_sent\nnp_ecn_marked_roce_packets\nout_of_buffer\nout_of_sequence\n"
                   "packet_seq_err\nreq_cqe_error\nreq_cqe_flush_error\nrnr_nak_retry_err\n"
                   "roce_adp_retrans\nroce_slow_restart\nrp_cnp_handled\nrp_cnp_ignored\n"
                   "rx_icrc_encapsulated\nrx_read_requests\nrx_write_requests\n",
                   10);
  tree.write_lines(port + "counters", "port_xmit_data\nport_rcv_packets\nsymbol_error\n", 1000);
  const Snapshot before = read({"mlx5_0:1"});
  EXPECT_THAT(before.notes, IsEmpty());
  tree.write(port + "hw_counters/local_ack_timeout_err", "22\n");
  tree.write(port + "hw_counters/rx_icrc_encapsulated", "11\n");
  tree.write(port + "hw_counters/rx_write_requests", "1010\n");
  tree.write(port + "counters/port_xmit_data", "3000\n");
  const auto counters = difference(before, read({"mlx5_0:1"}));

  EXPECT_EQ(change(counters, "mlx5_0:1", "ack_timeouts"), 12U);
  EXPECT_EQ(find(counters, "mlx5_0:1", "ack_timeouts")->kind, "retransmission");
  EXPECT_EQ(find(counters, "mlx5_0:1", "ack_timeouts")->source,
            "hw_counters/local_ack_timeout_err");
  EXPECT_EQ(change(counters, "mlx5_0:1", "icrc_errors"), 1U);
  EXPECT_EQ(find(counters, "mlx5_0:1", "icrc_errors")->kind, "error");
  EXPECT_EQ(change(counters, "mlx5_0:1", "received_writes"), 1000U);
  EXPECT_EQ(change(counters, "mlx5_0:1", "port_sent_bytes"), 8000U) << "words of four octets";
  // Those that could betray a loss are there though they stood still, others are not.
  EXPECT_EQ(change(counters, "mlx5_0:1", "sequence_naks_received"), 0U);
  EXPECT_EQ(change(counters, "mlx5_0:1", "receive_buffer_missing"), 0U);
  EXPECT_EQ(change(counters, "mlx5_0:1", "cnps_sent"), 0U);
  EXPECT_FALSE(find(counters, "mlx5_0:1", "received_reads"));
  EXPECT_FALSE(find(counters, "mlx5_0:1", "symbol_errors"));
  EXPECT_FALSE(find(counters, "mlx5_0:1", "lifespan"));
}

TEST_F(Counters, OfBnxtWithItsOldAndItsNewNames) {
  tree.rdma_device("bnxt_re0", "bnxt_en");
  const std::string folder = "sys/class/infiniband/bnxt_re0/ports/1/hw_counters";
  constexpr std::string_view kNames =
      "active_qps\nrx_bytes\nto_retransmits\nseq_err_naks_rcvd\nrnr_naks_rcvd\nmissing_resp\n"
      "dup_req\noos_drop_count\nrx_roce_discards\nrx_out_of_buffer\nrx_cnp_pkts\n"
      "res_rx_invalid_rkey\nmax_retry_exceeded\npacket_seq_err\n";
  tree.write_lines(folder, kNames, 5);
  const Snapshot before = read({"bnxt_re0"});
  tree.write_lines(folder, kNames, 7);
  const auto counters = difference(before, read({"bnxt_re0"}));
  for (const char* name : {"received_bytes", "ack_timeouts", "sequence_naks_received",
                           "rnr_naks_received", "implied_naks", "duplicate_requests_received",
                           "out_of_sequence_received", "receive_discards", "receive_buffer_missing",
                           "cnps_received", "responder_errors", "ack_retries_exceeded"}) {
    EXPECT_EQ(change(counters, "bnxt_re0:1", name), 2U) << name;
  }
  EXPECT_FALSE(find(counters, "bnxt_re0:1", "level")) << "active_qps is no count";
  EXPECT_THAT(counters, SizeIs(13));
}

TEST_F(Counters, OfEfaByTheDomainOfLibfabric) {
  tree.rdma_device("rdmap0s6", "efa");
  const std::string folder = "sys/class/infiniband/rdmap0s6/";
  constexpr std::string_view kNames =
      "tx_bytes\nrx_drops\nsend_wrs\nrdma_read_bytes\nrdma_write_recv_bytes\nretrans_pkts\n"
      "retrans_bytes\nretrans_timeout_events\nunresponsive_remote_events\n"
      "impaired_remote_conn_events\n";
  tree.write_lines(folder + "ports/1/hw_counters", kNames, 0);
  tree.write_lines(folder + "hw_counters", "submitted_cmds\nlifespan\n", 40);
  const Snapshot before = read({"rdmap0s6-rdm"});
  tree.write_lines(folder + "ports/1/hw_counters", kNames, 9);
  tree.write_lines(folder + "hw_counters", "submitted_cmds\n", 41);
  const auto counters = difference(before, read({"rdmap0s6-rdm"}));
  for (const char* name : {"sent_bytes", "receive_discards", "sent_sends", "read_bytes",
                           "received_write_bytes", "retransmitted_packets", "retransmitted_bytes",
                           "ack_timeouts", "unresponsive_peers", "impaired_connections"}) {
    EXPECT_EQ(change(counters, "rdmap0s6:1", name), 9U) << name;
  }
  // What the table does not know keeps its own name, and is of the device here, not of a port.
  EXPECT_EQ(change(counters, "rdmap0s6", "submitted_cmds"), 1U);
  EXPECT_EQ(find(counters, "rdmap0s6", "submitted_cmds")->kind, "other");
  EXPECT_EQ(lifespan({"rdmap0s6-rdm"}, tree.root()).count(), 40);
}

TEST_F(Counters, OfIrdmaWhoseNamesHaveSpaces) {
  tree.rdma_device("irdma0", "ice");
  const std::string folder = "sys/class/infiniband/irdma0/ports/1/hw_counters";
  constexpr std::string_view kNames =
      "ip4InDiscards\nip4OutOctets\ntcpRetransSegs\niwInRdmaWrites\ncnpHandled\nRxECNMrkd\n"
      "RNR received\nNak Sequence Error\nRTO\nRcvd Out of order packets\nCRC errors\n";
  tree.write_lines(folder, kNames, 1);
  const Snapshot before = read({"irdma0"});
  tree.write_lines(folder, kNames, 4);
  const auto counters = difference(before, read({"irdma0"}));
  for (const char* name :
       {"receive_discards", "sent_bytes", "retransmitted_packets", "received_writes",
        "cnps_received", "ecn_marked_received", "rnr_naks_received", "sequence_naks_received",
        "ack_timeouts", "out_of_sequence_received", "icrc_errors"}) {
    EXPECT_EQ(change(counters, "irdma0:1", name), 3U) << name;
  }
}

TEST_F(Counters, OfManaOfThePortAndOfTheDevice) {
  tree.rdma_device("mana_0", "mana");
  const std::string folder = "sys/class/infiniband/mana_0/";
  constexpr std::string_view kPort =
      "requester_timeout\nrequester_oos_nak\nresponder_rnr_nak\nresponder_oos\n"
      "requester_retries_exceeded\nreceived_cnps\ncurrent_rate\nnum_qps_congested\ntx_packets\n";
  tree.write_lines(folder + "ports/1/hw_counters", kPort, 3);
  tree.write_lines(folder + "hw_counters", "sent_cnps\nqp_congested_events\nlifespan\n", 10);
  const Snapshot before = read({"mana_0"});
  tree.write_lines(folder + "ports/1/hw_counters", kPort, 8);
  tree.write_lines(folder + "hw_counters", "sent_cnps\nqp_congested_events\n", 15);
  const auto counters = difference(before, read({"mana_0"}));
  for (const char* name :
       {"ack_timeouts", "sequence_naks_received", "rnr_naks_sent", "out_of_sequence_received",
        "ack_retries_exceeded", "cnps_received", "sent_packets"}) {
    EXPECT_EQ(change(counters, "mana_0:1", name), 5U) << name;
  }
  EXPECT_EQ(change(counters, "mana_0", "cnps_sent"), 5U);
  EXPECT_EQ(change(counters, "mana_0", "congestion_events"), 5U);
  EXPECT_THAT(counters, SizeIs(9)) << "neither current_rate nor num_qps_congested is a count";
}

TEST_F(Counters, OfHnsErdmaAndIonic) {
  struct Case {
    const char* device;
    const char* driver;
    std::string_view files;
    std::vector<std::string> names;
  };
  const std::vector<Case> cases{
      {"hns_0",
       "hns3",
       "rx_pkt\ntx_pkt\nrx_err_pkt\ntx_err_pkt\nrx_cnp_pkt\ntx_cnp_pkt\n",
       {"received_packets", "sent_packets", "receive_errors", "transmit_errors", "cnps_received",
        "cnps_sent"}},
      {"erdma_0",
       "erdma",
       "tx_bytes_cnt\nrx_packets_cnt\ntx_pps_limit_drop_cnt\nrx_disable_drop_cnt\n",
       {"sent_bytes", "received_packets", "transmit_discards", "receive_discards"}},
      {"ionic_0",
       "ionic",
       "tx_rdma_ucast_bytes\ntx_rdma_ack_timeout\nreq_rx_pkt_seq_err\nresp_rx_outof_buf\n"
       "rx_rdma_ecn_pkts\nreq_tx_retry_excd_err\n",
       {"sent_bytes", "ack_timeouts", "sequence_naks_received", "receive_buffer_missing",
        "ecn_marked_received", "ack_retries_exceeded"}}};
  for (const Case& one : cases) {
    tree.rdma_device(one.device, one.driver);
    const std::string folder =
        std::string("sys/class/infiniband/") + one.device + "/ports/1/hw_counters";
    tree.write_lines(folder, one.files, 2);
    const Snapshot before = read({one.device});
    EXPECT_THAT(before.notes, IsEmpty());
    tree.write_lines(folder, one.files, 5);
    const auto counters = difference(before, read({one.device}));
    for (const std::string& name : one.names) {
      EXPECT_EQ(change(counters, std::string(one.device) + ":1", name), 3U) << name;
    }
  }
}

TEST_F(Counters, ThatNobodyKnowsAreNoted) {
  tree.rdma_device("new_0", "new_rdma");
  const std::string port = "sys/class/infiniband/new_0/ports/1/";
  tree.write_lines(port + "hw_counters", "resent\nlifespan\n", 1);
  tree.write_lines(port + "counters", "symbol_error\n", 1);  // of the kernel, and known
  EXPECT_THAT(read({"new_0"}).notes,
              ElementsAre(has_all("None of the 1 hw_counters", "new_0 (driver new_rdma)")));
  tree.write_lines(port + "hw_counters", "out_of_sequence\n", 1);
  EXPECT_THAT(read({"new_0"}).notes, IsEmpty());
}

struct Bond : Counters {
  /// One RDMA device for both of its ports, as mlx5 has it; eth2 is bonded too, and has its own.
  Bond() {
    tree.rdma_device("mlx5_bond_0", "mlx5_core");
    tree.write(port + "link_layer", "Ethernet\n");
    tree.write(port + "hw_counters/out_of_sequence", "0\n");
    tree.write("sys/class/net/bond0/bonding/slaves", "eth0 eth1 eth2\n");
    tree.write("sys/class/net/eth0/device/infiniband/mlx5_bond_0/node_desc", "\n");
    tree.write("sys/class/net/eth2/device/infiniband/mlx5_2/node_desc", "\n");
    for (const char* one : {"eth0", "eth1", "eth2"}) {
      tree.link(std::string("sys/class/net/") + one + "/master", "../bond0");
    }
    count(0);
  }
  void count(std::uint64_t value) const {
    for (const char* one : {"eth0", "eth1", "eth2", "bond0"}) {
      tree.write_lines(std::string("sys/class/net/") + one + "/statistics", "rx_crc_errors\n",
                       value);
    }
  }
  std::vector<std::string> counted() const {
    const Snapshot before = read({"mlx5_bond_0"});
    count(5);
    std::vector<std::string> devices;
    for (const report::Counter& one : difference(before, read({"mlx5_bond_0"}))) {
      if (one.name == "interface_receive_crc_errors") devices.push_back(one.device);
    }
    return devices;
  }
  std::string port = "sys/class/infiniband/mlx5_bond_0/ports/1/";
};

TEST_F(Bond, HasTheCountersOfBothOfItsPorts) {
  tree.write(port + "gid_attrs/ndevs/0", "bond0\n");
  EXPECT_THAT(counted(), ElementsAre("eth0", "eth1"));
}

TEST_F(Bond, IsFoundByTheFirstOfItsPorts) {
  tree.write(port + "gid_attrs/ndevs/0", "eth0\n");
  EXPECT_THAT(counted(), ElementsAre("eth0", "eth1"));
}

/// Soft-RoCE on eth1, a device without PCI.
void add_rxe(const Tree& tree) {
  const std::string folder = "sys/class/infiniband/rxe0/";
  tree.write(folder + "parent", "eth1\n");
  tree.write(folder + "ports/1/link_layer", "Ethernet\n");
  tree.write(folder + "ports/1/gid_attrs/ndevs/0", "eth1\n");
  tree.write_lines(folder + "ports/1/hw_counters",
                   "ack_deferred\ncompleter_retry_err\nduplicate_request\nlink_downed\n"
                   "out_of_seq_request\nrcvd_pkts\nrcvd_rnr_err\nrcvd_seq_err\nrdma_recvs\n"
                   "rdma_sends\nretry_exceeded_err\nretry_rnr_exceeded_err\nsend_err\n"
                   "send_rnr_err\nsent_pkts\n",
                   0);
  tree.write(folder + "ports/1/hw_counters/lifespan", "10\n");
  tree.write_lines("sys/class/net/eth1/statistics",
                   "rx_dropped\nrx_crc_errors\ntx_bytes\ncollisions\n", 0);
}

TEST_F(Counters, OfSoftRoceAndItsNetworkDevice) {
  add_rxe(tree);
  const Snapshot before = read({"rxe0:1"});
  const std::string folder = "sys/class/infiniband/rxe0/ports/1/hw_counters/";
  tree.write(folder + "sent_pkts", "600\n");
  tree.write(folder + "rcvd_seq_err", "3\n");
  tree.write(folder + "completer_retry_err", "2\n");
  tree.write("sys/class/net/eth1/statistics/rx_dropped", "5\n");
  const auto counters = difference(before, read({"rxe0:1"}));
  EXPECT_EQ(change(counters, "rxe0:1", "sent_packets"), 600U);
  EXPECT_EQ(change(counters, "rxe0:1", "sequence_naks_received"), 3U);
  EXPECT_EQ(change(counters, "rxe0:1", "retry_rounds"), 2U);
  EXPECT_EQ(change(counters, "rxe0:1", "rnr_naks_received"), 0U);
  EXPECT_EQ(change(counters, "eth1", "interface_receive_drops"), 5U);
  EXPECT_FALSE(find(counters, "eth1", "collisions"));
  EXPECT_EQ(lifespan({"rxe0"}, tree.root()).count(), 10);
}

TEST_F(Counters, DropsOfAnInterfaceAreNotThoseOfARealNic) {
  tree.rdma_device("mlx5_0", "mlx5_core");
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  tree.write(port + "link_layer", "Ethernet\n");
  tree.write(port + "gid_attrs/ndevs/0", "eth1\n");
  tree.write(port + "hw_counters/out_of_sequence", "0\n");
  tree.write_lines("sys/class/net/eth1/statistics", "rx_dropped\nrx_crc_errors\n", 0);
  const Snapshot before = read({"mlx5_0"});
  tree.write_lines("sys/class/net/eth1/statistics", "rx_dropped\nrx_crc_errors\n", 5);
  const auto counters = difference(before, read({"mlx5_0"}));
  EXPECT_FALSE(find(counters, "eth1", "interface_receive_drops"));
  EXPECT_EQ(change(counters, "eth1", "interface_receive_crc_errors"), 5U);
}

void write_protocols(const Tree& tree, int retransmitted, int timeouts) {
  tree.write("proc/net/snmp",
             "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
             "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 100 200 " +
                 std::to_string(retransmitted) +
                 "\nUdp: InDatagrams RcvbufErrors\nUdp: 1 0\nUdp: broken\n");
  tree.write("proc/net/netstat",
             "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 " + std::to_string(timeouts) + "\n");
}

TEST_F(Counters, OfAPlainInterfaceAndTheMachinesTcp) {
  tree.write_lines("sys/class/net/eth0/statistics", "tx_bytes\nrx_dropped\n", 1);
  write_protocols(tree, 7, 1);
  const Snapshot before = read({"eth0", "eth0"});
  tree.write("sys/class/net/eth0/statistics/tx_bytes", "501\n");
  write_protocols(tree, 19, 2);
  const auto counters = difference(before, read({"eth0"}));
  EXPECT_EQ(change(counters, "eth0", "interface_sent_bytes"), 500U);
  EXPECT_EQ(change(counters, "machine", "tcp_retransmitted_segments"), 12U);
  EXPECT_EQ(find(counters, "machine", "tcp_retransmitted_segments")->source,
            "snmp/Tcp RetransSegs");
  EXPECT_EQ(change(counters, "machine", "tcp_timeouts"), 1U);
  EXPECT_FALSE(find(counters, "machine", "tcp_sent_segments")) << "did not change";
  EXPECT_EQ(lifespan({"eth0"}, tree.root()).count(), 0);
}

TEST_F(Counters, AreNotedWhereThereAreNone) {
  EXPECT_THAT(read({"memory"}).notes, ElementsAre(HasSubstr("'memory'")));
  EXPECT_THAT(read({"../../etc"}).notes, ElementsAre(HasSubstr("neither an RDMA")));
  EXPECT_THAT(read({""}).notes, SizeIs(1));
  tree.rdma_device("siw0", "siw");
  EXPECT_THAT(read({"siw0"}).notes, ElementsAre(HasSubstr("no counters of siw0")));
  EXPECT_THAT(read({"siw0:9"}).notes, ElementsAre(HasSubstr("no counters of siw0")));
}

TEST_F(Counters, AreNotedWhereTheyCannotBeRead) {
  if (geteuid() == 0) {
    // Root may read anything; a folder in place of a file fails for it too.
    std::filesystem::create_directories(tree.root() +
                                        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/a");
    std::filesystem::create_directories(tree.root() +
                                        "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/b");
  } else {
    tree.write_lines("sys/class/infiniband/mlx5_0/ports/1/hw_counters", "a\nb\n", 1);
    for (const char* file : {"a", "b"}) {
      std::filesystem::permissions(
          tree.root() + "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/" + file,
          std::filesystem::perms::none);
    }
  }
  tree.write("sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "4\n");
  const Snapshot snapshot = read({"mlx5_0"});
  EXPECT_THAT(snapshot.notes, ElementsAre(HasSubstr("could not be read"))) << "one for a folder";
  EXPECT_THAT(snapshot.readings, SizeIs(1)) << "the others count all the same";
}

TEST_F(Counters, ThatHoldNoNumberAreNone) {
  tree.rdma_device("mlx5_0", "mlx5_core");
  const std::string folder = "sys/class/infiniband/mlx5_0/ports/1/counters/";
  tree.write(folder + "symbol_error", "N/A (no PMA)\n");
  tree.write(folder + "link_downed", "");
  tree.write(folder + "port_rcv_errors", "-1\n");
  tree.write(folder + "VL15_dropped", "99999999999999999999999\n");
  EXPECT_THAT(read({"mlx5_0"}).readings, IsEmpty());
}

TEST_F(Counters, InOneSnapshotOnlyAreLeftOut) {
  tree.rdma_device("mlx5_0", "mlx5_core");
  const std::string folder = "sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
  tree.write(folder + "out_of_sequence", "1\n");
  const Snapshot before = read({"mlx5_0"});
  tree.write(folder + "packet_seq_err", "700\n");
  EXPECT_THAT(difference(before, read({"mlx5_0"})), SizeIs(1));
  EXPECT_THAT(difference(before, Snapshot{}), IsEmpty());
}

/// The change of one counter.
report::Counter changed(std::string_view driver, std::string_view file, std::uint64_t before,
                        std::uint64_t after) {
  const CounterFile* const row = find_counter(driver, file);
  return difference(Reading{"d", "f/x", row, before}, Reading{"d", "f/x", row, after});
}

TEST(CounterDifference, WrapsAt32Bits) {
  EXPECT_EQ(changed("mlx5", "out_of_sequence", kMost32 - 4, 5).change, 10U);
  EXPECT_EQ(changed("mlx5", "out_of_sequence", 1U << 31, 0).change, std::nullopt);
  EXPECT_EQ(changed("mlx5", "out_of_sequence", 1000, 3).change, std::nullopt) << "was reset";
  EXPECT_EQ(changed("mlx5", "out_of_sequence", std::uint64_t{1} << 40, 3).change, std::nullopt);
}

TEST(CounterDifference, WrapsAt64Bits) {
  EXPECT_EQ(changed("rxe", "sent_pkts", ~std::uint64_t{0} - 1, 3).change, 5U);
  EXPECT_EQ(changed("rxe", "sent_pkts", 1000, 3).change, std::nullopt) << "not 2^64 - 997";
  EXPECT_EQ(changed("", "unheard_of", 10, 3).change, std::nullopt);
  EXPECT_EQ(changed("", "unheard_of", 10, 30).change, 20U);
}

TEST(CounterDifference, KnowsThatOldPortCountersStick) {
  EXPECT_EQ(changed("ib", "symbol_error", 65530, 65535).change, 5U);
  EXPECT_TRUE(changed("ib", "symbol_error", 65530, 65535).at_least);
  EXPECT_FALSE(changed("ib", "symbol_error", 65530, 65534).at_least);
  EXPECT_EQ(changed("ib", "symbol_error", 65535, 0).change, std::nullopt) << "cleared, not wrapped";
  EXPECT_TRUE(changed("ib", "link_downed", 3, 255).at_least);
  EXPECT_TRUE(changed("ib", "excessive_buffer_overrun_errors", 3, 15).at_least);
  const report::Counter data = changed("ib", "port_xmit_data", kMost32 - 10, kMost32);
  EXPECT_EQ(data.change, 40U);
  EXPECT_TRUE(data.at_least);
  // A device with extended counters has the same file with 64 bits.
  EXPECT_EQ(changed("ib", "port_xmit_data", kMost32, kMost32 + 100).change, 400U);
  EXPECT_FALSE(changed("ib", "port_xmit_data", kMost32, kMost32 + 100).at_least);
}

}  // namespace
}  // namespace rdmabench::inline v1::health
