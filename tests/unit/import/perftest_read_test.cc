// perftest's own output, read as documents.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "../complaint.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"

namespace rdmabench::inline v1::import {
namespace {

using report::Document;
using report::kRunSchema;
using report::parse_documents;
using report::read_documents;

using ::testing::HasSubstr;

constexpr const char* kBandwidth =
    "                    RDMA_Write BW Test\n"
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
    " Number of qps   : 4\t\tTransport type : IB\n"
    " Connection type : RC\t\tUsing SRQ      : OFF\n"
    " TX depth        : 64\n"
    " Mtu             : 4096[B]\n"
    "----\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    " 65536      5000             0.00               392.5   \t\t   0.748634\n"
    "----\n";

nlohmann::ordered_json only(const std::string& text) {
  const std::vector<Document> documents = parse_documents(text, "ib.txt");
  EXPECT_EQ(documents.size(), 1);
  EXPECT_EQ(documents.at(0).schema, kRunSchema);
  return json_of(documents.at(0));
}

std::string refusal_of(const std::string& text) {
  return complaint([&] { parse_documents(text, "ib.txt"); }, Fault::usage);
}

TEST(PerftestRead, TakesWhatTheTextSaysAndNothingElse) {
  const auto body = only(kBandwidth);
  EXPECT_EQ(body["test"], "bandwidth");
  EXPECT_EQ(body["error"], nullptr);
  EXPECT_EQ(body["resolved"]["transport"], "rc");
  EXPECT_EQ(body["resolved"]["details"]["mtu"], "4096");
  EXPECT_EQ(body["resolved"]["details"]["queue_pairs"], "4");
  const auto& row = body["results"][0];
  EXPECT_EQ(row["operation"], "write");
  EXPECT_EQ(row["device"], "mlx5_0");
  EXPECT_EQ(row["size_bytes"], 65536);
  EXPECT_EQ(row["iterations"], 5000);
  EXPECT_EQ(row["depth"], 64);
  EXPECT_DOUBLE_EQ(row["bits_per_s"], 392.5e9);
  EXPECT_EQ(row["peak_bits_per_s"], nullptr);  // 0.00: it was not taken
  EXPECT_EQ(row["warmup_iterations"], nullptr);
  EXPECT_EQ(row["bits_per_s_low"], nullptr);
}

TEST(PerftestRead, TakesEveryTextThatPerftestWrote) {
  int texts = 0;
  for (const auto& file : std::filesystem::directory_iterator(PERFTEST_REAL)) {
    const std::vector<Document> documents = read_documents(file.path());
    ASSERT_EQ(documents.size(), 1) << file.path();
    const auto& body = json_of(documents[0]);
    const bool latency = file.path().string().find("lat") != std::string::npos;
    EXPECT_EQ(body["test"], latency ? "latency" : "bandwidth") << file.path();
    ASSERT_EQ(body["results"].size(), 1) << file.path();
    const auto& row = body["results"][0];
    if (latency) {
      if (file.path().filename() == "ib_write_lat_D.txt") {
        EXPECT_DOUBLE_EQ(row["mean_ns"], 79800);
      }
      EXPECT_GT(row["mean_ns"], 1000) << file.path();
      continue;
    }
    ++texts;
    // MB are MiB: only so do the rates agree.
    const double bits = row["messages_per_s"].get<double>() * row["size_bytes"].get<double>() * 8;
    EXPECT_NEAR(row["bits_per_s"].get<double>() / bits, 1, 0.03) << file.path();
  }
  EXPECT_GT(texts, 10);
}

TEST(PerftestRead, TakesTagsSeveralRunsAndColumnsOfOldReleases) {
  std::string tagged;
  const std::string text = kBandwidth;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    tagged += "node1: " + text.substr(begin, end - begin) + "\r\n";
    begin = end + 1;
  }
  EXPECT_EQ(only(tagged)["results"], only(kBandwidth)["results"]);
  const std::string old =
      "                    Send Bidirectional BW Test\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
      " 2          1000             1.50               1.00\n"
      " 4          1000             3.00               2.00\n";
  const std::vector<Document> both = parse_documents(old + kBandwidth, "ib.txt");
  ASSERT_EQ(both.size(), 2);
  EXPECT_EQ(both[0].source, "ib.txt#1");
  EXPECT_EQ(json_of(both[0])["results"].size(), 2);
  EXPECT_EQ(json_of(both[0])["results"][1]["direction"], "both_ways");
  EXPECT_DOUBLE_EQ(json_of(both[0])["results"][1]["bits_per_s"], 2 * 1024 * 1024 * 8);
  EXPECT_EQ(json_of(both[0])["results"][1]["messages_per_s"], nullptr);
}

TEST(PerftestRead, ARowWithAWordTooManyIsAnErrorAndNoRow) {
  const auto body = only(
      "                    Send Bidirectional BW Test\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
      " 2          1000             1.50               1.00\n"
      " 4          1000             3.00      7        2.00\n");
  EXPECT_THAT(body["error"], has_all("line 4: ", "5 columns", "heading of 4"));
  EXPECT_EQ(body["results"].size(), 1U);
}

TEST(PerftestRead, TakesWhatAMailQuotes) {
  const auto body = only(
      "> > [root@node3 bin]# ib_read_bw -d hns_2 -n 5 192.168.10.110\n"
      "> > ---------------------------------------------------------------------\n"
      "> >                     RDMA_Read BW Test\n"
      "> >  Dual-port       : OFF\t\tDevice         : hns_2\n"
      "> > ---------------------------------------------------------------------\n"
      "> >  #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      "> >  65536      5                9044.77            9044.77\t\t   0.144716\n"
      "> > ---------------------------------------------------------------------\n"
      ">\n"
      "> It is slow.\n");
  EXPECT_EQ(body["error"], nullptr);
  ASSERT_EQ(body["results"].size(), 1U);
  EXPECT_EQ(body["results"][0]["operation"], "read");
  EXPECT_EQ(body["results"][0]["device"], "hns_2");
}

TEST(PerftestRead, TakesTheBackEndThatOurOwnFormatNames) {
  std::string text = kBandwidth;
  EXPECT_EQ(only(text)["resolved"]["backend"], "verbs");
  text.replace(text.find("IB\n"), 2, "ofi");
  EXPECT_EQ(only(text)["resolved"]["backend"], "ofi");
}

TEST(PerftestRead, TakesTheHeadingsOfMlx4sTime) {
  const auto latency = only(
      "                    RDMA_Read Latency Test\n"
      " Dual-port       : OFF          Device         : mlx4_0\n"
      " Number of qps   : 1            Transport type : IB\n"
      " Connection type : RC           Using SRQ      : OFF\n"
      " TX depth        : 1\n"
      " Mtu             : 2048[B]\n"
      " Outstand reads  : 16\n"
      "------------------------------------------------------------------\n"
      " local address: LID 0x01 QPN 0x0264 PSN 0xb41e9e OUT 0x10 RKey 0x98011302 VAddr 0x7faf\n"
      " remote address: LID 0x07 QPN 0x0262 PSN 0xcf7035 OUT 0x10 RKey 0xd8011314 VAddr 0x7fb5\n"
      "------------------------------------------------------------------\n"
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
      "Conflicting CPU frequency values detected: 1600.000000 != 3301.000000\n"
      " 2       1000          2.25           15.75        2.50\n"
      " 4       1000          2.25           7.50         2.50\n"
      "------------------------------------------------------------------\n");
  ASSERT_EQ(latency["results"].size(), 2U);
  EXPECT_EQ(latency["error"], nullptr);
  const auto& row = latency["results"][0];
  EXPECT_EQ(row["operation"], "read");
  EXPECT_EQ(row["min_ns"], 2250);
  EXPECT_EQ(row["p50_ns"], 2500);
  EXPECT_EQ(row["max_ns"], 15750);
  EXPECT_EQ(row["mean_ns"], nullptr);
  EXPECT_EQ(row["p99_ns"], nullptr);

  const auto bandwidth = only(
      "                    RDMA_Write BW Test\n"
      " Number of qps   : 1\n"
      " Connection type : RC\n"
      " TX depth        : 300\n"
      " CQ Moderation   : 50\n"
      " Link type       : IB\n"
      " Mtu             : 2048\n"
      " Inline data is used up to 0 bytes message\n"
      " local address: LID 0x0b QPN 0x1c0407 PSN 0x48ad9e RKey 0xd86a0051 VAddr 0x2ae3\n"
      "------------------------------------------------------------------\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
      " 65536     5000           0.00               3000.00\n");
  EXPECT_EQ(bandwidth["resolved"]["details"]["mtu"], "2048");
  EXPECT_DOUBLE_EQ(bandwidth["results"][0]["bits_per_s"], 3000.0 * 1024 * 1024 * 8);
  EXPECT_EQ(bandwidth["results"][0]["depth"], 300);
}

TEST(PerftestRead, TakesMebibytesByTheirName) {
  const auto body = only(
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
      " ibv_wr* API     : ON\t\tUsing Enhanced Reorder      : OFF\n"
      " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             11008.00            11000.00\t\t     0.176000\n");
  const auto& row = body["results"][0];
  EXPECT_DOUBLE_EQ(row["bits_per_s"], 11000.0 * 1024 * 1024 * 8);
  EXPECT_DOUBLE_EQ(row["peak_bits_per_s"], 11008.0 * 1024 * 1024 * 8);
  EXPECT_DOUBLE_EQ(row["messages_per_s"], 176000);
}

TEST(PerftestRead, ATableThatWasCutWithinARowKeepsTheRest) {
  const std::string rows =
      "                    Send BW Test\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
      " 2          1000             1.50               1.00\n"
      " 4          1000             3.";
  const auto cut = only(rows);
  EXPECT_EQ(cut["results"].size(), 1);
  EXPECT_EQ(cut["error"], "its table ends within a row");
}

TEST(PerftestRead, BothSidesOutputInOneFileIsOneRun) {
  const auto side = [](const std::string& time, const std::string& local,
                       const std::string& remote) {
    return "                    RDMA_Write Latency Test\n"
           " local address: LID 0000 QPN " +
           local +
           " PSN 0x1\n"
           " remote address: LID 0000 QPN " +
           remote +
           " PSN 0x1\n"
           " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
           " 2       1000          1.50           9.00         " +
           time + "           1.80\n";
  };
  const std::string waits = "************\n* Waiting for client to connect... *\n************\n";
  const std::string server = waits + side("1.70", "0x17", "0x18");
  const std::string client = side("1.60", "0x18", "0x17");
  for (const std::string& both : {server + client, client + server}) {
    EXPECT_EQ(only(both)["results"][0]["p50_ns"], 1600);
  }
  EXPECT_EQ(only(server)["results"][0]["p50_ns"], 1700) << "of a server's output alone";
  const std::string failed = server + " Failed status 12: wr_id 0\n" + client;
  EXPECT_EQ(parse_documents(failed, "x").size(), 2U) << "what a server says of a failure stays";
  EXPECT_EQ(parse_documents(server + side("1.60", "0x19", "0x20"), "x").size(), 2U)
      << "a client of another server";
}

// As manuals print expected outputs: tables of several programs, without what stood before them.
TEST(PerftestRead, TablesWithoutTitlesAreRunsOfTheirOwn) {
  const std::string dashes = "---------------------------------------------------------\n";
  const auto documents = parse_documents(
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
      "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n"
      " 2       1000          5.35           11.78        5.49               5.50           0.18     "
      "       5.74                   11.78\n" +
          dashes +
          " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
          " 65536      5000             189.63             185.13             0.353108\n" +
          dashes +
          " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
          " 65536      5000             11555.13           11554.28\t\t   0.184868\n" +
          dashes,
      "x");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(json_of(documents[0])["test"], "latency");
  const auto& latency = json_of(documents[0])["results"].at(0);
  EXPECT_DOUBLE_EQ(latency["p50_ns"], 5490);
  EXPECT_EQ(latency["kind"], "unknown") << "of a read it is a completion, else half a round trip";
  const auto& gigabits = json_of(documents[1])["results"].at(0);
  EXPECT_DOUBLE_EQ(gigabits["bits_per_s"], 185.13e9) << "not by the unit of the next table";
  EXPECT_EQ(gigabits["operation"], "unknown");
  EXPECT_EQ(gigabits["direction"], "unknown");
  EXPECT_DOUBLE_EQ(json_of(documents[2])["results"].at(0)["bits_per_s"],
                   11554.28 * 1024 * 1024 * 8);
}

TEST(PerftestRead, TheProgramOfATableWithoutTitleMayBeNamed) {
  const std::string table =
      "host send to local-dpu\n"
      "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps]\n"
      " 1          10000000         0.00               3.16   \t\t   3.312819\n";
  const auto operation = [&](const std::string& source, const std::string& program) {
    return json_of(parse_documents(table, source, program).at(0))["results"].at(0)["operation"];
  };
  EXPECT_EQ(operation("x.txt", ""), "unknown");
  EXPECT_EQ(operation("x.txt", "ib_send_bw"), "send");
  EXPECT_EQ(operation("logs/ib_send_bw_MSG_SIZE.txt", ""), "send");
  EXPECT_EQ(operation("x.txt", "ib_send_lat"), "unknown") << "its columns are not those of times";
  EXPECT_EQ(
      json_of(parse_documents(kBandwidth, "x", "ib_read_bw").at(0))["results"].at(0)["operation"],
      "write")
      << "the text says it";
}

TEST(PerftestRead, TakesFactsWhoseTabsBecameBlanks) {
  const auto body = only(
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF          Device         : rocep4s0f0\n"
      " Number of qps   : 2            Transport type : IB\n"
      " Connection type : RC           Using SRQ      : OFF\n"
      " PCIe relax order: ON           Lock-free      : OFF\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 65536      403504           0.00               42.31                0.080701\n"
      "----\n");
  EXPECT_EQ(body["resolved"]["device"], "rocep4s0f0");
  EXPECT_EQ(body["resolved"]["transport"], "rc");
  EXPECT_EQ(body["resolved"]["details"]["queue_pairs"], "2");
}

TEST(PerftestRead, TakesFactsWhoseBlanksAPageMadeOne) {
  const auto document = only(
      "RDMA_Write BW Test\n"
      "Dual-port : OFF Device : mlx5_0\n"
      "Number of qps : 4 Transport type : IB\n"
      "Connection type : RC Using SRQ : OFF\n"
      "PCIe relax order: ON Lock-free : OFF\n"
      "ibv_wr* API : ON Using DDP : OFF\n"
      "TX depth : 128 Using Enhanced Reorder : OFF\n"
      "Mtu : 4096[B]\n"
      "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n"
      "65536 5000 368.67 368.48 0.702829\n"
      "----------------\n");
  EXPECT_EQ(document["resolved"]["device"], "mlx5_0");
  EXPECT_EQ(document["resolved"]["transport"], "rc");
  EXPECT_EQ(document["resolved"]["details"]["queue_pairs"], "4");
  EXPECT_THAT(document.dump(), testing::Not(HasSubstr("Transport type")));
}

TEST(PerftestRead, TheCommandBeforeATableWithoutTitleNamesItsOperation) {
  const std::string bandwidth =
      "#bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
      " 65536      5000             3293.63            3293.56             0.052697\n";
  const std::string latency =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
      " 2       1000          1.10           2.05         1.11     \t       1.12\n";
  const auto both =
      parse_documents("$ ib_write_bw\n$ ib_read_bw 192.168.100.1\n" + bandwidth +
                          "and the latency:\n$ ./ib_write_lat 192.168.100.1\n" + latency,
                      "x");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(json_of(both[0])["results"][0]["operation"], "read");
  EXPECT_EQ(json_of(both[1])["results"][0]["operation"], "write");
  for (const auto& [command, direction] :
       {std::pair{"ib_send_bw -d mlx5_0 -b 10.0.0.1", "both_ways"},
        std::pair{"[root@n1 ~]#ib_send_bw  n2  -a -F", "one_way"},
        std::pair{"n1# taskset -c 3 ib_send_bw -F n2", "one_way"}}) {
    const auto row = only(std::string(command) + "\n" + bandwidth)["results"][0];
    EXPECT_EQ(row["operation"], "send") << command;
    EXPECT_EQ(row["direction"], direction) << command;
  }
  EXPECT_EQ(only("the ib_send_bw of node 2\n" + bandwidth)["results"][0]["operation"], "unknown");
  EXPECT_EQ(only("$ ib_send_lat n2\n" + bandwidth)["results"][0]["operation"], "unknown");
}

TEST(PerftestRead, TakesATableWithinComments) {
  const auto row = only(
      "ib_write_bw -d mlx5_0 -x 3 -s 65536 -D 30 -b 10.0.0.1\n"
      "#  #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
      "#  65536      279928           0.00               5830.79               0.093293\n"
      "#\n")["results"][0];
  EXPECT_EQ(row["operation"], "write");
  EXPECT_EQ(row["direction"], "both_ways");
  EXPECT_EQ(row["iterations"], 279928);
}

TEST(PerftestRead, TakesAHeadingThatLostItsSecondMark) {
  const auto row = only(
      "                    RDMA_Read BW Test\n"
      " #bytes     iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 4          1000             9.72               9.71               2.546339\n")["results"]
                                                                                      [0];
  EXPECT_EQ(row["size_bytes"], 4);
  EXPECT_EQ(row["iterations"], 1000);
}

TEST(PerftestRead, TakesTheTitlesOfItsFirstReleases) {
  EXPECT_EQ(
      only("                    RDMA Write Latency Test\n"
           "Inline data is used up to 400 bytes message\n"
           "Connection type : RC\n"
           "------------------------------------------------------------------\n"
           " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
           "      2        1000           3.36          12.51             3.49\n"
           "------------------------------------------------------------------\n")["results"][0]
                                                                                  ["operation"],
      "write");
}

TEST(PerftestRead, BothSidesThatTellTheirAddressesAreOneRun) {
  const auto side = [](const std::string& device, const std::string& depth,
                       const std::string& local, const std::string& remote) {
    return "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : " +
           device + "\n" + depth + " local address: LID 0000 QPN " + local +
           " PSN 0x1\n remote address: LID 0000 QPN " + remote +
           " PSN 0x1\n"
           " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n"
           " 65536      5000             11030.78            11030.45\t\t     0.176487\n"
           "-----------------------------------------------------------\n";
  };
  const std::string client = side("mlx5_0", " TX depth        : 128\n", "0x9b", "0x146");
  const std::string server = side("mlx5_1", "", "0x146", "0x9b");
  for (const std::string& both : {client + server, server + client}) {
    EXPECT_EQ(only(both)["resolved"]["device"], "mlx5_0");
  }
  EXPECT_EQ(parse_documents(client + side("mlx5_1", "", "0x147", "0x9b"), "x").size(), 2U);
}

TEST(PerftestRead, RefusesWhatNestsBehindItsOwnQuotes) {
  const std::string deep =
      "{\ntest_info: {\nk: \\\",\nx: 1\n},\n\"results\": " + std::string(200000, '[') +
      std::string(200000, ']') + "\n}\n";
  EXPECT_THROW(parse_documents(deep, "x"), Error);
}

TEST(PerftestRead, SaysWhatHasNoRow) {
  const std::string heading =
      " #bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
  EXPECT_THAT(only("RDMA_Write BW Test\n" + heading)["error"], HasSubstr("no row"));
  const auto failed = only("RDMA_Write BW Test\n" + heading +
                           " 8          1000             1.50               1.00     0.1\n"
                           " Completion with error at client\n"
                           " Failed status 12: wr_id 0\n");
  EXPECT_EQ(failed["error"], "Completion with error at client: Failed status 12: wr_id 0");
  EXPECT_EQ(failed["results"].size(), 1);
  // Of a client and a server in one file the empty table is the server's.
  EXPECT_EQ(only("RDMA_Write BW Test\n" + heading + kBandwidth)["results"].size(), 1);
}

/// A run of the newest release up to the heading, and a row.
const std::string kHead =
    "----\n"
    "                    RDMA_Read BW Test\n"
    " Connection type : RC\t\tUsing SRQ      : OFF\n"
    "----\n"
    " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
const std::string kRow = " 32768      5000             96.63             96.58 \t\t   0.174943\n";

TEST(PerftestRead, ATableWithoutItsLastLineIsOfARunThatWasAborted) {
  EXPECT_EQ(only(kHead + kRow + "----\n")["error"], nullptr);
  const auto killed = only(kHead + " 2 " + kRow.substr(7));
  EXPECT_THAT(killed["error"].dump(), has_all("last line", "aborted"));
  EXPECT_EQ(killed["results"].size(), 1U);
  EXPECT_EQ(only(kHead + kRow)["error"], nullptr)
      << "one size, or the first row of --run_infinitely";
  std::string next = kRow;
  next.replace(next.find("32768"), 5, "65536");
  EXPECT_THAT(only(kHead + kRow + next)["error"].dump(), has_all("last line", "aborted"));
  EXPECT_EQ(only(kHead + kRow + kRow)["error"], nullptr) << "--run_infinitely prints no last line";
  const std::string endless = kHead + kRow + kRow + kRow.substr(0, kRow.size() - 1);
  EXPECT_EQ(only(endless)["error"], nullptr) << "nor ends its last row before the next";
  EXPECT_EQ(only(kHead + kRow + kRow + "srun: error: node1: task 0: Terminated\n")["error"],
            nullptr);
  const auto hung = parse_documents(kHead + kRow + "----\n" + kHead, "x");
  ASSERT_EQ(hung.size(), 2U);
  EXPECT_THAT(json_of(hung[1])["error"].dump(), HasSubstr("no row"));
  const auto within = only(kHead + kRow + next.substr(0, next.find("0.174943") + 4));
  EXPECT_EQ(within["error"], "its table ends within a row");
  EXPECT_EQ(within["results"].size(), 1U) << "0.17 is not what it wrote";
}

TEST(PerftestRead, ItsOwnWordsAndAKillAreTheError) {
  for (const std::string words :
       {"Failed to complete run_iter_bw function successfully", "Problems with warm up",
        "Error occurred while running infinitely! aborting ...", "Terminated",
        "Couldn't post send: qp 0 scnt=1", "poll CQ failed -1",
        "VALIDATION: FAILED - 2 error(s), 3 bytes", "srun: error: node1: task 0: Killed",
        "Error: BW result is below bw limit"}) {
    const auto error = only(kHead + kRow + words + "\n")["error"].dump();
    EXPECT_THAT(words, HasSubstr(error.substr(1, error.size() - 2)));
  }
  const std::string whole = kHead + kRow + "----\n";
  EXPECT_EQ(only(whole + "Error: BW result is below bw limit\n")["error"],
            "Error: BW result is below bw limit");
  EXPECT_EQ(only(whole + "Terminated\n")["error"], nullptr) << "its server was, behind it";
  EXPECT_THAT(only(kHead + kRow +
                   "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2025-11-25T10:00:00 DUE "
                   "TO TIME LIMIT ***\n")["error"]
                  .dump(),
              HasSubstr("TIME LIMIT"));
}

TEST(PerftestRead, WhatFailedBeforeTheTitleIsOfItsRun) {
  const std::string words =
      " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n";
  const auto body = only(words + kHead);
  EXPECT_EQ(body["error"],
            "Completion with error at client: Failed status 12: wr_id 0 syndrom 0x81");
  EXPECT_EQ(
      parse_documents("Couldn't connect to node2:18515\n" + kHead + kRow + "----\n", "x").size(),
      2U)
      << "the next try is another run";
}

TEST(PerftestRead, AServerWhoseOwnWordsTellWhyIsNotOneWithoutAClient) {
  const auto body = only(
      "************************************\n* Waiting for client to connect... *\n"
      "************************************\n"
      "Unable to create QP.\nFailed to create QP.\nCouldn't create IB resources\n");
  EXPECT_EQ(body["error"], "Unable to create QP.");
  EXPECT_EQ(only("RDMA CM event error:\nEvent: RDMA_CM_EVENT_REJECTED; error: -111.\n\n"
                 "ERRNO: No such file or directory.\nFailed to handle RDMA CM event.\n")["error"],
            "Failed to handle RDMA CM event.");
}

// A server in the background and its client in one terminal.
TEST(PerftestRead, BothSidesThatPrintAtOnceAreOneRun) {
  const auto body = only(
      "************************************\n* Waiting for client to connect... *\n"
      "************************************\n"
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : ib0\n"
      "----\n"
      "                    RDMA_Write BW Test\n"
      " Dual-port       : OFF\t\tDevice         : ib0\n"
      " TX depth        : 128\n"
      "----\n"
      " CQ Moderation   : 100\n"
      "----\n"
      " local address: LID 0xd06 QPN 0x092f PSN 0x3ff1bc RKey 0x080329 VAddr 0x007fc97ff50000\n"
      " local address: LID 0xd06 QPN 0x092e PSN 0x3eb82d RKey 0x080228 VAddr 0x007f19adcbf000\n"
      "----\n----\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 2          2000             5.32               5.30   \t\t   2.778732\n"
      " 8388608    2000             23240.68           23240.68\t\t   0.002905\n"
      "----\n"
      " 8388608    2000             23240.68           23240.68\t\t   0.002905\n"
      "----\n");
  EXPECT_EQ(body["error"], nullptr);
  EXPECT_EQ(body["results"].size(), 2U);
}

TEST(PerftestRead, WhatMlx5DumpsOfACompletionIsNoRow) {
  const std::string dump =
      "mlx5: node1: got completion with error:\n"
      "00000000 00000000 00000000 00000000\n"
      "00000000 00008813 0800004a 000000d2\n";
  const auto first = only(kHead + dump + " Problems with warm up\n");
  EXPECT_EQ(first["error"], "Problems with warm up");
  EXPECT_EQ(first["results"].size(), 0U);
  const auto mid = only(kHead + kRow + dump + " Completion with error at client\n");
  EXPECT_EQ(mid["error"], "Completion with error at client");
  EXPECT_EQ(mid["results"].size(), 1U);
}

TEST(PerftestRead, ACutRowIsAnErrorWhichItsOwnWordsReplace) {
  for (const std::string cut :
       {" 65536      5000             196.63             19", " 65536   50", " 65536   50\n"}) {
    const auto body = only(kHead + cut);
    EXPECT_EQ(body["error"], "its table ends within a row") << cut;
    EXPECT_EQ(body["results"].size(), 0U);
  }
  EXPECT_EQ(only(kHead + kRow + " 65536   50\n Failed status 13: wr_id 0 syndrom 0x88\n")["error"],
            "Failed status 13: wr_id 0 syndrom 0x88");
}

TEST(PerftestRead, SamplesOfUAndHAreNoRows) {
  const std::string heading =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n";
  const auto body =
      only("                    Send Latency Test\n" + heading +
           "#, usec\n1, 1.70\n2, 1.71\n----\n" + heading +
           " 2       1000          1.71           5.42         1.75     \t       1.76\n----\n");
  EXPECT_EQ(body["error"], nullptr);
  ASSERT_EQ(body["results"].size(), 1U);
  EXPECT_EQ(body["results"][0]["p50_ns"], 1750);
}

TEST(PerftestRead, ARunThatDidNotComeToItsTableIsADocument) {
  EXPECT_EQ(
      only("Couldn't connect to node2:18515\n Unable to init the socket connection\n")["error"],
      "Couldn't connect to node2:18515");
  EXPECT_EQ(only("\n****\n* Waiting for client to connect... *\n****\n")["error"],
            "a server to which no client came");
  const std::string title = kHead.substr(0, kHead.find(" #bytes"));
  EXPECT_THAT(only(title)["error"].dump(), HasSubstr("no row"));
  const auto documents = parse_documents(title + kBandwidth, "x");
  ASSERT_EQ(documents.size(), 2U) << "not only a server";
  EXPECT_THAT(json_of(documents[0])["error"].dump(), HasSubstr("no row"));
  EXPECT_EQ(json_of(documents[1])["error"], nullptr);
}

TEST(PerftestRead, RefusesWhatMakesNoSense) {
  const std::string heading =
      " #bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
  EXPECT_THAT(refusal_of(heading + " 8  1000  1.5\n"),
              has_all("line 2: ", "3 columns", "heading of 5"));
  const auto other = only(
      " #bytes     #iterations    BW min[Gb/sec]    BW peak[Gb/sec]    BW average[Gb/sec]   "
      "MsgRate[Mpps]\n 8  1000  1.1 1.5 1.4 0.1\n")["results"][0];
  EXPECT_DOUBLE_EQ(other["bits_per_s"], 1.4e9) << "a column that is not known keeps its place";
  EXPECT_DOUBLE_EQ(other["peak_bits_per_s"], 1.5e9);
  const auto negative = only(heading + " 8  1000  0.00 -1.5 0.1\n")["results"][0];
  EXPECT_EQ(negative["bits_per_s"], nullptr);
  EXPECT_EQ(negative["messages_per_s"], 100000);
  EXPECT_THAT(refusal_of(heading + " 8  1000  1.5 many 1\n"), HasSubstr("'many' is not a number"));
  EXPECT_THAT(refusal_of(heading + " 0  1000  1.5 1.5 1\n"), HasSubstr("a message of no bytes"));
}

TEST(PerftestRead, AUnitThatPerftestDoesNotPrintIsAnErrorAndNoNumber) {
  for (const std::string heading :
       {" #bytes #iterations    BW peak[GB/s]    BW average[GB/s]   MsgRate[Mpps]\n",
        " #bytes #iterations    BW peak[GiB/sec]    BW average[GiB/sec]   MsgRate[Mpps]\n",
        " #bytes #iterations    BW peak[Mb/sec]    BW average[Mb/sec]   MsgRate[Mpps]\n",
        " #bytes #iterations    t_min[cycles]    t_max[cycles]   t_typical[cycles]\n"}) {
    const auto both =
        parse_documents(kBandwidth + heading + "65536  1000  12.41  12.38  0.19\n", "x");
    ASSERT_EQ(both.size(), 2U) << heading;
    EXPECT_EQ(json_of(both[0])["error"], nullptr);
    const auto body = json_of(both[1]);
    const std::size_t unit = heading.find('[') + 1;
    EXPECT_THAT(body["error"],
                has_all("line 11", heading.substr(unit, heading.find(']') - unit), "MiB/sec"));
    EXPECT_EQ(body["results"].size(), 0U);
  }
}

TEST(PerftestRead, TakesATableWithinAProgramsComment) {
  for (const std::string mark : {" * ", "// ", "# "}) {
    const auto body = only("/*\n" + mark + "ib_write_bw\n" + mark + "-----------\n" + mark +
                           " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n" +
                           mark + "1048576    10000           3248.10            3247.94\n" + mark +
                           "\n" + mark + "Send perf: 3240.72MB/s\n */\n");
    EXPECT_EQ(body["error"], nullptr) << mark;
    ASSERT_EQ(body["results"].size(), 1U) << mark;
    EXPECT_EQ(body["results"][0]["operation"], "write") << mark;
    EXPECT_EQ(body["results"][0]["size_bytes"], 1048576) << mark;
  }
}

TEST(PerftestRead, ACommandThatFailedBeforeItsBannerIsAFailedRun) {
  const std::string command = "root@pod:~# ib_write_bw -d mlx5_0 -F -R --use_cuda=0 10.0.0.1\n";
  const auto body = only(command +
                         "initializing CUDA\ncuMemAlloc() of a 262144 bytes GPU buffer\n"
                         "Couldn't allocate MR\nfailed to create mr\nFailed to create MR\n");
  EXPECT_EQ(body["error"], "Couldn't allocate MR");
  EXPECT_EQ(body["config"]["test"], "RDMA_Write BW");
  EXPECT_EQ(only("$ ib_atomic_bw -d x n2\n Unable to create QP.\n")["error"],
            "Unable to create QP.");
}

TEST(PerftestRead, WhatPeopleWriteBehindATableIsNoErrorOfIt) {
  const auto body = only("```\n" + std::string(kBandwidth) + "```\nFailed runs look like this:\n" +
                         "```\n$ nvidia-smi\nFailed to initialize NVML: no driver\n```\n");
  EXPECT_EQ(body["error"], nullptr);
}

TEST(PerftestRead, ASideWithoutATableIsThatOfItsClient) {
  const auto side = [](const std::string& local, const std::string& remote) {
    return "                    RDMA_Read Latency Test\n local address: LID 0000 QPN " + local +
           " PSN 0x1\n remote address: LID 0000 QPN " + remote + " PSN 0x1\n-----\n";
  };
  const std::string table =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
      " 2       1000          4.70           13.20        4.83             4.82\n----\n";
  const std::string client = side("0x236", "0x234") + table;
  EXPECT_EQ(
      only("* Waiting for client to connect... *\n" + client + side("0x234", "0x236"))["error"],
      nullptr);
  EXPECT_EQ(parse_documents(client + side("0x235", "0x236"), "x").size(), 2U);
}

TEST(PerftestRead, SaysWhereTheTwoSidesDiffer) {
  const auto side = [](const std::string& average, const std::string& local,
                       const std::string& remote) {
    return "                    Send BW Test\n local address: LID 0000 QPN " + local +
           " PSN 0x1\n remote address: LID 0000 QPN " + remote +
           " PSN 0x1\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n"
           " 65536      1000             0.00               " +
           average + "\n----\n";
  };
  const auto notes = [&](const std::string& other) {
    return only(side("1000.00", "0x1", "0x2") + side(other, "0x2", "0x1"))["notes"].dump();
  };
  EXPECT_THAT(notes("1001.00"), HasSubstr("one of the two was left out.\""));
  EXPECT_THAT(notes("1100.00"),
              HasSubstr("At 65536 bytes it says 9.227 Gb/s, and this one 8.389."));
}

TEST(PerftestRead, TakesMarkdownsEmphasisOffNumbers) {
  EXPECT_DOUBLE_EQ(
      only("#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
           "1024       1000             0.00               **5544.28**   `5.677340`\n")
          ["results"][0]["bits_per_s"],
      5544.28 * 1024 * 1024 * 8);
}

TEST(PerftestRead, WhatMakesItsNumbersDoubtfulIsASuspicion) {
  const std::string heading =
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n";
  const auto uneven = only(heading +
                           " 2          5000           0.142947            0.012281      "
                           "      0.767588\n 4 5000 0.28 0.26 8.255475\n----\n");
  EXPECT_EQ(uneven["suspect"], true);
  EXPECT_THAT(uneven["suspicions"].dump(), has_all("uneven", "at 1 size, 2 bytes"));
  const auto clock = only(heading +
                          "Conflicting CPU frequency values detected: 1500.0 != 3100.0. CPU "
                          "Frequency is not max.\n 4 5000 0.28 0.26 8.255475\n----\n");
  ASSERT_EQ(clock["suspicions"].size(), 1U);
  EXPECT_EQ(clock["suspicions"][0]["code"], "clock");
  EXPECT_THAT(clock["suspicions"][0]["text"], HasSubstr("1500.0 != 3100.0"));
  EXPECT_EQ(only(kBandwidth)["suspect"], false) << "no peak was taken";
}

TEST(PerftestRead, AGpusMemoryIsALabelOfItsRow) {
  const std::string command = "$ ib_write_bw -d mlx5_0 --use_cuda=0 10.0.0.1\n";
  const auto gpu = parse_documents(command + kBandwidth + "$ ib_write_bw n2\n" + kBandwidth, "x");
  ASSERT_EQ(gpu.size(), 2U);
  EXPECT_EQ(json_of(gpu[0])["results"][0]["memory"], "cuda");
  EXPECT_FALSE(json_of(gpu[1])["results"][0].contains("memory"));
  EXPECT_EQ(only("cuMemAlloc() of a 131072 bytes GPU buffer\n" +
                 std::string(kBandwidth))["results"][0]["memory"],
            "cuda");
}

TEST(PerftestRead, NumbersAreThoseOfTheirDecimals) {
  const auto row = only(
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]\n"
      " 2       1000          2.01           16.24        8.29             2049.70\n")["results"]
                                                                                      [0];
  EXPECT_EQ(row["min_ns"].dump(), "2010.0");
  EXPECT_EQ(row["max_ns"].dump(), "16240.0");
  EXPECT_EQ(row["mean_ns"].dump(), "2049700.0");
}

TEST(PerftestRead, ADepthThatIsNotToldIsNull) {
  EXPECT_EQ(
      only("#bytes #iterations BW peak[MB/sec] BW average[MB/sec]\n8 1 1.0 1.0\n")["results"][0]
                                                                                  ["depth"],
      nullptr);
}

/// As the newest release writes it: without a unit, and here and there no JSON.
std::string json(double average, const std::string& tail) {
  return fmt::format(
      "{{\n\"test_info\": {{\n\"test\": \"RDMA_Write_BW_Test\",\n\"Device\": \"mlx5_0\",\n"
      "\"Number_of_qps\": 1,\n\"Connection_type\": \"RC\",\n\"TX_depth\": 128,\n\"Mtu\": 4096\n}},\n"
      "\"results\": {{\n{}\"MsgSize\": 65536,\n\"n_iterations\": 5000,\n\"BW_peak\": 0,\n"
      "\"BW_average\": {},\n\"MsgRate\": 0.748634{}\n}}\n}}\n",
      tail == "sl" ? "sl: 0,\n" : "", average, tail == "," ? "," : "");
}

TEST(PerftestRead, TakesJsonAndTellsItsUnitByTheMessageRate) {
  for (const std::string tail : {"", ",", "sl"}) {
    EXPECT_NEAR(only(json(392.5, tail))["results"][0]["bits_per_s"].get<double>(), 392.5e9, 1);
  }
  const auto mebi = only(json(46789.6, ""));
  EXPECT_NEAR(mebi["results"][0]["bits_per_s"].get<double>() / 392.5e9, 1, 0.001);
  EXPECT_EQ(mebi["results"][0]["operation"], "write");
  EXPECT_EQ(mebi["results"][0]["depth"], 128);
  const auto unknown = only(json(1, ""));
  EXPECT_EQ(unknown["results"][0]["bits_per_s"], nullptr);
  EXPECT_THAT(unknown["notes"].dump(), HasSubstr("unit of its rates"));
}

TEST(PerftestRead, TakesJsonWithNumbersThatAreNone) {
  for (const std::string none : {"inf", "-nan"}) {
    std::string text = json(392.5, "");
    text.replace(text.find("\"BW_peak\": 0") + 11, 1, none);
    const auto row = only(text)["results"][0];
    EXPECT_EQ(row["peak_bits_per_s"], nullptr) << none;
    EXPECT_NEAR(row["bits_per_s"].get<double>(), 392.5e9, 1) << none;
  }
}

TEST(PerftestRead, TakesJsonBehindJsonAndWhatWasCut) {
  const std::string one = json(392.5, "");
  const auto both = parse_documents(one + json(392.4, ""), "x.json");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NEAR(json_of(both[1])["results"][0]["bits_per_s"].get<double>(), 392.4e9, 1);
  const auto cut = only(one.substr(0, one.find("\"BW_average\"")));
  EXPECT_THAT(cut["error"].dump(), HasSubstr("not written to its end"));
  EXPECT_EQ(cut["results"].size(), 0U);
}

/// What perftest 4.5 wrote with --out_json over Soft-RoCE.
constexpr std::string_view kJsonOf45 = R"({
test_info: {
test: Send_Bidirectional_BW_Test,
Dual_port: OFF,
Device: "rxe0",
Number_of_qps: 1,
Transport_type: IB,
Connection_type: RC,
Using_SRQ: OFF,
PCIe_relax_order: ON,
ibv_wr_API: OFF,
TX_depth : 128,
RX_depth: 200,
CQ_Moderation: 100,
Mtu: 4096,
Link_type: Ethernet,
GID_index: 1,
Max_inline_data: 0,
rdma_cm_QPs: OFF,
Data_ex_method: Ethernet,
},
results: {
MsgSize: 4096,
n_iterations: 200,
BW_peak: 0.41,
BW_average: 0.38,
MsgRate: 0.011598,
},
})";

constexpr std::string_view kLatencyJsonOf45 = R"({
test_info: {
test: RDMA_Write_Latency_Test,
Dual_port: OFF,
Device: "rxe0",
Number_of_qps: 1,
Transport_type: IB,
Connection_type: RC,
Using_SRQ: OFF,
PCIe_relax_order: OFF,
ibv_wr_API: OFF,
TX_depth : 1,
Mtu: 4096,
Link_type: Ethernet,
GID_index: 1,
Max_inline_data: 0,
rdma_cm_QPs: OFF,
Data_ex_method: Ethernet,
},
results: {
MsgSize: 4096,
n_iterations: 200,
t_min: 77.43,
t_max: 248.73,
t_typical: 88.20,
t_avg: 94.56,
t_stdev: 25.84,
percentile_99: 235.40,
percentile_99.9: 248.73,
},
})";

TEST(PerftestRead, TakesTheJsonOf45WhichQuotesNeitherKeysNorWords) {
  const auto document = only(std::string(kJsonOf45));
  const auto row = document["results"][0];
  EXPECT_EQ(row["operation"], "send");
  EXPECT_EQ(row["direction"], "both_ways");
  EXPECT_EQ(row["size_bytes"], 4096);
  EXPECT_EQ(row["iterations"], 200);
  EXPECT_NEAR(row["bits_per_s"].get<double>(), 0.38e9, 1);
  EXPECT_EQ(row["device"], "rxe0");
  const auto latency = only(std::string(kLatencyJsonOf45))["results"][0];
  EXPECT_EQ(latency["p99_ns"], 235400);
  EXPECT_EQ(latency["p999_ns"], 248730);
}

}  // namespace
}  // namespace rdmabench::inline v1::import
