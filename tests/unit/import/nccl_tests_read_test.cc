// Texts and JSON in the shapes of nccl-tests' releases; numbers, hosts and devices are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../complaint.h"
#include "import/nccl_cells.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"
#include "report/body.h"
#include "report/nccl_tests.h"

namespace rdmabench::inline v1::import {
namespace {

using report::Document;
using report::kCollSchema;
using report::parse_documents;
using report::to_nccl_tests;

using testing::Contains;
using testing::HasSubstr;

// 2.17 to 2.19.
constexpr const char* kNew =
    "# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809\n"
    "# Collective test starting: reduce_scatter_perf\n"
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 50 agg "
    "iters: 1 validation: 1 graph: 0 unalign: 0\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid  71001 on      alpha device  0 [0000:1b:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  71002 on       beta device  3 [0000:43:00] NVIDIA H100 80GB HBM3\n"
    "NCCL version 2.28.9+cuda12.8\n"
    "#\n"
    "#                                                              out-of-place                    "
    "   in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time "
    "  algbw   busbw  #wrong \n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us) "
    " (GB/s)  (GB/s)         \n"
    "        1024           128     float     sum      -1    10.50    0.10    0.05       0    10.25 "
    "   0.10    0.05       0\n"
    "        2048           256     float     sum      -1    11.00    0.19    0.09       2    11.50 "
    "   0.18    0.09     N/A\n"
    "# Out of bounds values : 2 FAILED\n"
    "# Avg bus bandwidth    : 0.07 \n"
    "#\n"
    "# Collective test concluded: reduce_scatter_perf\n";

std::vector<NcclTestsTable> parse_nccl_tests_text(std::string_view text, const char* source) {
  const Scan scan(text);
  return nccl_tests_text_tables(scan.lines(), {source, "", kNcclTests});
}

NcclTestsTable parse_nccl_tests_json(std::string_view text, const char* source) {
  return nccl_tests_json_tables(text, {source, "", kNcclTests}).front();
}

std::vector<NcclTestsTable> parse_rccl_json(std::string_view text, const char* source) {
  return rccl_json_tables(text, {source, "", kNcclTests});
}

TEST(NcclTestsRead, ANewText) {
  const NcclTestsTable table = parse_nccl_tests_text(kNew, "x").at(0);
  EXPECT_EQ(table.version, "2.19.6");
  EXPECT_EQ(table.library, "22809");
  EXPECT_EQ(table.program, "reduce_scatter_perf");
  EXPECT_EQ(table.warmup, 5U);
  EXPECT_EQ(table.iterations, 50U);
  EXPECT_TRUE(table.step_is_factor);
  ASSERT_EQ(table.ranks.size(), 2U);
  EXPECT_EQ(table.ranks[1].host, "beta");
  EXPECT_EQ(table.ranks[1].device, 3U);
  EXPECT_EQ(table.ranks[1].pci, "0000:43:00");
  EXPECT_EQ(table.ranks[1].gpu, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(table.size, 2U);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].reduction, "sum");
  EXPECT_EQ(table.rows[0].root, -1);
  EXPECT_EQ(table.rows[1].out_of_place->wrong, 2);
  EXPECT_FALSE(table.rows[1].in_place->wrong);
  EXPECT_EQ(table.rows[1].in_place->time_us, 11.5);
  EXPECT_EQ(table.out_of_bounds, 2U);
  EXPECT_EQ(table.average_bus_gb_per_s, 0.07);
}

// Before 2.13: no root, an error in place of #wrong, a short bus id, and no name of the program.
constexpr const char* kOld =
    "# nThread 1 nGpus 4 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 "
    "validation: 1 \n"
    "#\n"
    "# Using devices\n"
    "#   Rank  0 Pid  11811 on       gpu7 device  0 [0x1a] Tesla V100-SXM2-32GB\n"
    "#   Rank  3 Pid  11811 on       gpu7 device  3 [0x1f] Tesla V100-SXM2-32GB\n"
    "#\n"
    "#                                                     out-of-place                       "
    "in-place          \n"
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
    "busbw  error\n"
    "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)       \n"
    "           8             2   float     sum    30.50    0.00    0.00  1e-07    29.75    0.00    "
    "0.00  0e+00\n"
    "          16             4   float     sum    40.00    2.00    3.00  1e-07    29.75    0.00    "
    "0.00    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 0.0007 \n";

TEST(NcclTestsRead, AnOldTextWithoutRootsWhoseErrorsAreDifferences) {
  const NcclTestsTable table = parse_nccl_tests_text(kOld, "x").at(0);
  EXPECT_EQ(table.program, "");
  EXPECT_EQ(table.size, 4U);
  EXPECT_EQ(table.ranks[1].pci, "0x1f");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_FALSE(table.rows[0].root);
  EXPECT_EQ(table.rows[0].reduction, "sum");
  EXPECT_FALSE(table.rows[0].out_of_place->wrong);
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_THAT(table.notes[0], HasSubstr("largest difference"));
  EXPECT_EQ(nccl_tests_program(table, "run7.log"), "all_reduce_perf") << "by the factor 1.5";
}

TEST(NcclTestsRead, ColumnsOfBroadcastAndGatherOfOldReleases) {
  const auto read = [](const char* left) {
    const std::string text = "# size count type time algbw busbw error time algbw busbw error\n" +
                             std::string(left) + " 30.50 1.00 1.00 0e+00 29.75 1.00 1.00 0e+00\n";
    return parse_nccl_tests_text(text, "x").at(0).rows.at(0);
  };
  EXPECT_EQ(read("8 2 float 3").root, 3);
  EXPECT_EQ(read("8 2 float 3").reduction, "");
  EXPECT_EQ(read("8 2 float").type, "float");
  EXPECT_EQ(read("8 2 float sum 1").root, 1);
}

TEST(NcclTestsRead, TagsOfLaunchersAreCutOff) {
  for (const std::string tag : {"[1,0]<stdout>:",
                                "0: ",
                                "node-1: ",
                                "[node01] ",
                                "[0] ",
                                "[0]: ",
                                "[pod/launcher-x/main] ",
                                "2026-07-01T12:00:00.123456789Z ",
                                "2026-07-01 12:00:00 ",
                                "2026-07-01 12:00:00,123 [3] ",
                                "Jul  1 12:00:00 node1 slurm[77]: ",
                                "[1,0]<stderr>:",
                                "nccl-1  | ",
                                "node1| ",
                                "node1|",
                                " 0: ",
                                "> ",
                                "> > ",
                                "2026/07/01 12:00:00 ",
                                "2026-07-01T12:00:00.123456789Z stdout F ",
                                "(RayWorker pid=123, ip=10.0.0.1) ",
                                "(head, rank=0, pid=1234) ",
                                "2026-07-01 12:00:00,123 INFO ",
                                "2026-07-01 12:00:00,123 WARNING: ",
                                "2026-07-01 12:00:00,123 - root - INFO - ",
                                "2026-07-01T12:00:00+0000 node1 nccl[77]: ",
                                "   [1,0]<stdout>:",
                                "[pod/launcher-x/main] 2026-07-01T12:00:00Z [1,0]<stdout>:",
                                "\x1b[36mpod-1\x1b[0m: "}) {
    std::string text;
    std::string_view rest = kNew;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n') + 1;
      text += tag + std::string(rest.substr(0, end));
      rest.remove_prefix(end);
    }
    const Document document = parse_documents(text, "x").at(0);
    EXPECT_EQ(json_of(document)["results"].size(), 4U) << tag;
    EXPECT_THAT(json_of(document).dump(), HasSubstr("reduce_scatter_perf")) << tag;
  }
}

/// As Hydra and Open MPI pass on what nccl-tests writes in parts: a tag before each of them.
std::string labelled(const std::string& tag, const std::string& wrong) {
  const std::string head =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg "
      "iters: 1 validation: 1 graph: 0\n";
  const std::string columns =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n";
  const auto row = [&](const std::string& size, const std::string& count) {
    return tag + size + "  131072     float     sum      -1" + tag + "   366.5    1.43    2.74  " +
           count + tag + "   340.8    1.54    2.95      0\n";
  };
  return tag + "# Collective test starting: all_reduce_perf\n" + tag + head + tag + columns +
         row("  524288", wrong) + row(" 1048576", "0") + tag + "# Out of bounds values : 0 OK\n" +
         tag + "# Avg bus bandwidth    : 5.6172\n";
}

TEST(NcclTestsRead, ATagWithinARowIsCutOffToo) {
  for (const std::string tag : {"[0] ", "[12] ", "[1,0]<stdout>:", "[1,12]<stdout>: ", "0: "}) {
    const auto body = json_of(parse_documents(labelled(tag, "17"), "x").at(0));
    ASSERT_EQ(body["results"].size(), 4U) << tag;
    EXPECT_EQ(body["results"][0]["reduction"], "sum") << tag;
    EXPECT_EQ(body["results"][0]["wrong"]["wrong_elements"], 17) << tag;
    EXPECT_EQ(body["results"][1]["wrong"]["wrong_elements"], 0) << tag;
    EXPECT_EQ(body["results"][2]["wrong"]["wrong_elements"], 0) << tag;
    EXPECT_EQ(body["error"], nullptr) << tag;
  }
}

TEST(NcclTestsRead, AWordInNoColumnIsAnErrorAndNoPass) {
  const std::string head = "# size count type redop root time algbw busbw #wrong\n";
  const std::string good = " 16 4 float sum -1 1 1 1 0 1 1 1 0\n";
  for (const std::string row :
       {" 8 2 float sum -1 1 1 1 17[0] 1 1 1 0\n", " 8 2 float sum -1[0] 1 1 1 0 1 1 1 0\n",
        " 8 2 float sum -1 1 1 1 0 1 1 1 x\n", " 8 2 float sum -1 1 1 1 nan 1 1 1 0\n",
        " 8 2 float sum -1 1 1 1 -1 1 1 1 0\n", " 8 2 float sum -1 N/A 1 1 17 1 1 1 0\n",
        " 8 2 fl:oat sum -1 1 1 1 0 1 1 1 0\n", " 8 2 float sum -1 1 [0]1 1 0 1 1 1 0\n"}) {
    const NcclTestsTable table = parse_nccl_tests_text(head + good + row + good, "x").at(0);
    EXPECT_THAT(table.error, HasSubstr("line 3: a row with '")) << row;
    EXPECT_EQ(table.rows.size(), 2U) << row;
  }
  const std::string untimed = " 8 2 float sum -1 1 1 nan N/A N/A N/A N/A N/A\n";
  EXPECT_EQ(parse_nccl_tests_text(head + untimed + "# Avg bus bandwidth : 1\n", "x").at(0).error,
            "");
}

TEST(NcclTestsRead, WrongElementsOfJsonAreANumberOrNone) {
  const std::string item =
      R"({"name":"AllReduce","size":8,"count":2,"time":1,"algBw":1,"busBw":1,"inPlace":0,"wrong":)";
  EXPECT_EQ(parse_rccl_json(item + R"("N/A"})", "x").at(0).rows.at(0).out_of_place->wrong,
            std::nullopt);
  EXPECT_EQ(parse_rccl_json(item + R"("17"})", "x").at(0).rows.at(0).out_of_place->wrong, 17);
  EXPECT_THAT(usage_complaint([&] { parse_rccl_json(item + R"("17[0]"})", "f.json"); }),
              HasSubstr("is no number of wrong elements"));
}

TEST(NcclTestsRead, WordsOfOpenMpiWithinATableAreNoRow) {
  std::string text(kNew);
  text.insert(text.rfind("        2048"),
              "[node01:12345] 7 more processes have sent help message help-mpi-btl-openib.txt / no "
              "device params found\n");
  const NcclTestsTable table = parse_nccl_tests_text(text, "x").at(0);
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.error, "");
}

TEST(NcclTestsRead, TheLogOfNcclWithinATableIsNoRow) {
  const std::string whole = kNew;
  const std::size_t second = whole.rfind("        2048");
  std::string between = whole;
  between.insert(second, "10-4-3-3:97095:97196 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n");
  EXPECT_EQ(parse_nccl_tests_text(between, "x").at(0).rows.size(), 2U);
  EXPECT_EQ(parse_nccl_tests_text(between, "x").at(0).error, "");
  std::string within = whole;
  within.insert(whole.find("-1", second) + 2, "n1:1:2 [0] NCCL INFO Connected all rings\n");
  const NcclTestsTable table = parse_nccl_tests_text(within, "x").at(0);
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.error, "");
  EXPECT_THAT(table.notes, Contains(HasSubstr("NCCL's log broke")));
  const std::string cut = whole.substr(0, whole.rfind("     N/A"));
  EXPECT_EQ(parse_nccl_tests_text(cut + "\nn1: Test NCCL failure a.cu:3 'x'\n", "x").at(0).error,
            "n1: Test NCCL failure a.cu:3 'x'");
}

TEST(NcclTestsRead, ABlankLineWithinATableIsNoRow) {
  std::string text = kNew;
  text.insert(text.rfind("        2048"), "\r\n\t\n \t \r\n");
  EXPECT_EQ(parse_nccl_tests_text(text, "x").at(0).rows.size(), 2U);
}

TEST(NcclTestsRead, HeadsOfRanksWithoutMpiAreOneRun) {
  const std::string old = kOld;
  const std::string head = old.substr(0, old.find('\n') + 1);
  const auto tables = parse_nccl_tests_text(head + head + old, "x");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].rows.size(), 2U);
}

/// What `processes` printed that ran alone at once, each with `ranks`, where every line of one is
/// followed by that line of the others.
std::string mixed(unsigned processes, unsigned ranks) {
  const std::vector<std::string> rows{
      " 1024 256 float sum -1 10.5 0.1 0.0 0 0.51 263017.3 0.0 0\n",
      " 2048 512 float sum -1 11.5 0.2 0.0 0 0.31 428400.0 0.0 0\n"};
  std::string text;
  const auto all = [&](const std::string& line) {
    for (unsigned i = 0; i < processes; ++i) text += line;
  };
  all("# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 5 iters: 10\n");
  all("# Using devices\n");
  for (unsigned i = 0; i < processes; ++i) {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid " + std::to_string(900 + i) +
              " on node device  0 [0x19] H100\n";
    }
  }
  all("#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n");
  for (const std::string& row : rows) all(row);
  all("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0 \n");
  return text;
}

TEST(NcclTestsRead, ProcessesThatRanAloneAndMixedTheirTablesAreAnErrorWithoutRows) {
  for (const auto& [processes, ranks] : {std::pair{2U, 8U}, std::pair{16U, 1U}}) {
    const auto tables = parse_nccl_tests_text(mixed(processes, ranks), "x");
    ASSERT_EQ(tables.size(), 1U);
    EXPECT_EQ(tables[0].rows.size(), 0U);
    EXPECT_THAT(tables[0].error,
                HasSubstr(std::to_string(processes) + " processes ran alone at once"));
    EXPECT_THAT(tables[0].error, HasSubstr("MPI=1"));
  }
  // One ends before the other's last row.
  std::string text = mixed(2, 1);
  const std::string last = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0 \n";
  text.insert(text.rfind(" 2048"), last);
  EXPECT_THAT(parse_nccl_tests_text(text, "x").at(0).error, HasSubstr("2 processes"));
  // One prints its head when the other has a row.
  const std::string one = mixed(1, 1);
  const std::size_t second = one.rfind(" 2048");
  const std::string late = one.substr(0, second) + one.substr(0, second) +
                           one.substr(second, one.find('\n', second) + 1 - second) +
                           one.substr(second) + last;
  const auto tables = parse_nccl_tests_text(late, "x");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(tables[0].error, HasSubstr("2 processes"));
}

TEST(NcclTestsRead, RunsBehindOneAnotherAreNotMixed) {
  const std::string one = mixed(1, 2);
  EXPECT_EQ(parse_nccl_tests_text(one + one, "x").size(), 2U);
  // The first one was killed before its table, or within it.
  for (const std::string_view to : {"# Using", "#  size", " 1024 256", " 2048 512"}) {
    const auto tables = parse_nccl_tests_text(one.substr(0, one.find(to)) + one, "x");
    EXPECT_EQ(tables.back().error, "") << to;
    EXPECT_EQ(tables.back().rows.size(), 2U) << to;
    EXPECT_EQ(tables.back().size, 2U) << to;
  }
  // -N: the table again, in one run.
  std::string again = one;
  const std::size_t rows = one.find(" 1024 256");
  again.insert(rows, one.substr(rows, one.find("# Out") - rows));
  EXPECT_EQ(parse_nccl_tests_text(again, "x").at(0).error, "");
  // Behind one that was killed.
  for (const std::string_view to : {"#  size", " 1024 256", " 2048 512"}) {
    const auto tables = parse_nccl_tests_text(one.substr(0, one.find(to)) + again, "x");
    EXPECT_EQ(tables.back().error, "") << to;
    EXPECT_EQ(tables.back().rows.size(), 4U) << to;
  }
}

TEST(NcclTestsRead, ATableOfOneRankSaysThatNothingCrossedALink) {
  const auto body = json_of(parse_documents(mixed(1, 1), "all_reduce_perf.txt").at(0));
  EXPECT_THAT(body.dump(), HasSubstr("MPI=1"));
  EXPECT_EQ(body["results"].size(), 4U);
  const auto two = json_of(parse_documents(mixed(1, 2), "all_reduce_perf.txt").at(0));
  EXPECT_THAT(two.dump(), testing::Not(HasSubstr("MPI=1")));
}

TEST(NcclTestsRead, ATableThatWasCutWithinARowKeepsTheRest) {
  const std::string whole(kNew);
  const std::size_t last = whole.rfind("float");
  for (const std::size_t end : {last + 12, whole.rfind("     N/A")}) {
    const NcclTestsTable table = parse_nccl_tests_text(whole.substr(0, end), "x").at(0);
    EXPECT_EQ(table.rows.size(), 1U) << end;
    EXPECT_EQ(table.error, "its table ends within a row") << end;
  }
}

/// kNew up to its second row.
std::string first_row() {
  const std::string_view whole = kNew;
  return std::string(whole.substr(0, whole.rfind("        2048")));
}

TEST(NcclTestsRead, ARankThatGaveUpIsTheError) {
  const std::string nccl =
      "Test NCCL failure common.cu:303 'unhandled system error (run with NCCL_DEBUG=INFO for "
      "details) / '";
  const std::string behind = " .. n1 pid 71001: Test failure common.cu:400\n";
  const auto read = [&](const std::string& text) {
    NcclTestsTable table = parse_nccl_tests_text(first_row() + text + "\n" + behind, "x").at(0);
    EXPECT_EQ(table.rows.size(), 1U);
    return table.error;
  };
  EXPECT_EQ(read("n1: " + nccl), "n1: " + nccl);
  EXPECT_EQ(read("[1,3]<stdout>:n1: " + nccl + "\r"), "n1: " + nccl);
  EXPECT_EQ(read("3: n1: " + nccl), "n1: " + nccl);
  EXPECT_EQ(read("        2048           256     float     sum      -1n1: " + nccl), nccl);
  EXPECT_EQ(read("n1: Test CUDA failure common.cu:5 'no device'\nn2: " + nccl),
            "n1: Test CUDA failure common.cu:5 'no device'");
  EXPECT_EQ(read("n1: Test timeout (30s) common.cu:523"), "n1: Test timeout (30s) common.cu:523");
}

TEST(NcclTestsRead, ATableWithoutItsLastLinesIsAnError) {
  const NcclTestsTable table = parse_nccl_tests_text(first_row(), "x").at(0);
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_THAT(table.error, has_all("last line", "aborted"));
  const std::string whole = kNew;
  for (const char* kept : {"# Avg bus bandwidth", "#\n# Collective test concluded"}) {
    const auto cut = whole.substr(0, whole.find(kept));
    EXPECT_EQ(parse_nccl_tests_text(cut, "x").at(0).error, "") << "its rows are all there";
  }
}

TEST(NcclTestsRead, ARunWithoutARowIsADocumentWithAnError) {
  const std::string whole = kNew;
  const std::string heading = whole.substr(0, whole.find("        1024"));
  const std::string init = whole.substr(0, whole.find("NCCL version")) +
                           "beta: Test NCCL failure common.cu:958 'unhandled system error / '\n";
  const auto alone = parse_documents(heading, "x.txt");
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_THAT(json_of(alone[0])["error"].get<std::string>(), HasSubstr("has no row"));
  EXPECT_EQ(json_of(alone[0])["ranks"].size(), 2U);
  EXPECT_EQ(json_of(alone[0])["results"].size(), 0U);
  const auto documents = parse_documents(heading + init + kNew, "x.txt");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(json_of(documents[1])["error"],
            "beta: Test NCCL failure common.cu:958 'unhandled system error / '");
  EXPECT_TRUE(json_of(documents[2])["error"].is_null());
  // An old text does not say which program it is of.
  const std::string old = kOld;
  const auto nameless = parse_documents(old.substr(0, old.find("           8")) + kOld, "x.txt");
  ASSERT_EQ(nameless.size(), 2U);
  EXPECT_THAT(json_of(nameless[0])["error"].get<std::string>(), HasSubstr("has no row"));
  EXPECT_TRUE(json_of(nameless[1])["error"].is_null());
}

TEST(NcclTestsRead, ARowThatWasCutFirstIsAnError) {
  const std::string whole = kNew;
  const std::string heading = whole.substr(0, whole.find("        1024"));
  for (const std::string cut : {"           8             2     float     sum      -1   ",
                                "           8             2     float     sum      -1   \n",
                                "  8  2  float  sum  -1    33.20    0.00    0.00       0    3"}) {
    const auto documents = parse_documents(heading + cut, "x.txt");
    ASSERT_EQ(documents.size(), 1U) << cut;
    EXPECT_EQ(json_of(documents[0])["error"], "its table ends within a row") << cut;
    EXPECT_EQ(json_of(documents[0])["results"].size(), 0U) << cut;
  }
  // Without its end the last number may be another one.
  const std::string row = whole.substr(whole.rfind("        2048"));
  const auto last = parse_nccl_tests_text(first_row() + row.substr(0, row.find("N/A") - 9), "x");
  EXPECT_EQ(last.at(0).rows.size(), 1U);
  EXPECT_EQ(last.at(0).error, "its table ends within a row");
}

TEST(NcclTestsRead, OnlyItsFirstLineIsARunWithoutARow) {
  const std::string whole = kNew;
  const auto documents = parse_documents(whole.substr(0, whole.find('\n') + 1), "x.txt");
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_THAT(json_of(documents[0])["error"].dump(), HasSubstr("no row"));
}

TEST(NcclTestsRead, LastLinesThatFailedAreTheError) {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text = kNew;
    text.replace(text.find("       2    11.50"), 8, "       0");
    text.replace(text.find("values : 2 FAILED"), 17, "values : 0 OK");
    text.replace(text.find(from), from.size(), to);
    return json_of(parse_documents(text, "x.txt").at(0))["error"];
  };
  EXPECT_EQ(error_with("#\n", "#\n"), nullptr);
  EXPECT_THAT(error_with("values : 0 OK", "values : 4 FAILED"),
              HasSubstr("Out of bounds values: 4 FAILED"));
  EXPECT_THAT(error_with("bandwidth    : 0.07 ", "bandwidth    : 0.07 FAILED"),
              has_all("0.07 FAILED", "NCCL_TESTS_MIN_BW"));
  EXPECT_EQ(error_with("bandwidth    : 0.07 ", "bandwidth    : 0.07 OK"), nullptr);
  EXPECT_EQ(error_with("concluded: reduce_scatter_perf\n", "concluded\n# error: iommu=pt\n"),
            nullptr)
      << "NCCL's last warning, which a good run has too";
  EXPECT_EQ(error_with("# Out of bounds values : 0 OK\n", "# error: unhandled\n"), "unhandled");
}

TEST(NcclTestsRead, RcclInPlaceAlone) {
  const std::string text =
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 1 iters: 20 agg "
      "iters: 1 validation: 1 graph: 0\n"
      "#\n"
      "rccl-tests: Version develop:ae3e635\n"
      "#                                                              in-place          \n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       \n"
      "           8             2     float     sum        0    33.20    0.00    0.00       0\n"
      "          16             4     float     sum        0    34.20    0.00    0.00       3\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 0.00123 \n";
  const NcclTestsTable table = parse_nccl_tests_text(text, "x").at(0);
  EXPECT_EQ(table.error, "");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_FALSE(table.rows[1].out_of_place);
  EXPECT_EQ(table.rows[1].in_place->time_us, 34.2);
  EXPECT_EQ(table.rows[1].in_place->wrong, 3);
  EXPECT_EQ(table.rows[1].root, 0);
}

// 2017 and 2018: milliseconds, and no "#" before the first and the last lines.
constexpr const char* kFirst =
    "nThread 1 nGpus 2 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 "
    "validation: 1 \n"
    "# NCCL Tests compiled with NCCL 2.0\n"
    "# Using devices\n"
    "#   Rank  0 on       gpu7 device  0 [0x06] Tesla P100-SXM2-16GB\n"
    "#   Rank  1 on       gpu7 device  1 [0x07] Tesla P100-SXM2-16GB\n"
    "\n"
    "#                                                 out-of-place                    in-place\n"
    "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
    "busbw      res\n"
    "        1024           256   float     sum    0.034   0.03   0.03    0e+00    0.033   0.03   "
    "0.03    0e+00\n"
    " Out of bounds values : 0 OK\n"
    " Avg bus bandwidth    : 0.03 \n"
    "\n";

TEST(NcclTestsRead, TheFirstReleasesTimesAreMilliseconds) {
  const auto tables = parse_nccl_tests_text(std::string(kFirst) + kFirst, "x");
  ASSERT_EQ(tables.size(), 2U);
  for (const NcclTestsTable& table : tables) {
    EXPECT_EQ(table.error, "");
    EXPECT_EQ(table.iterations, 20U);
    EXPECT_EQ(table.size, 2U);
    ASSERT_EQ(table.rows.size(), 1U);
    EXPECT_DOUBLE_EQ(table.rows[0].out_of_place->time_us, 34);
    EXPECT_EQ(table.average_bus_gb_per_s, 0.03);
  }
}

TEST(NcclTestsRead, SpreadAndTimeOfDay) {
  const std::string text =
      "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw "
      "#wrong i_min i_max i_p99 i_cv% timestamp\n"
      "8 2 float sum -1 3.0 0.1 0.2 0 1.0 9.0 8.0 12.5 4.0 0.1 0.2 0 2.0 7.0 6.0 3.5 2026-07-01 "
      "12:00:00\n";
  const NcclTestsRow row = parse_nccl_tests_text(text, "x").at(0).rows.at(0);
  EXPECT_EQ(row.out_of_place->spread->max_us, 9);
  EXPECT_EQ(row.in_place->spread->cv_percent, 3.5);
}

TEST(NcclTestsRead, SeveralRunsInOneText) {
  const std::vector<NcclTestsTable> tables =
      parse_nccl_tests_text(std::string(kNew) + "some other line\n" + kOld + kOld, "x");
  ASSERT_EQ(tables.size(), 3U);
  for (const NcclTestsTable& table : tables) EXPECT_EQ(table.error, "");
  EXPECT_EQ(tables[0].rows.size(), 2U);
  EXPECT_EQ(tables[2].ranks.size(), 2U);
}

TEST(NcclTestsRead, ARowThatMakesNoSenseNamesItsLine) {
  const std::string head = "# size count type redop root time algbw busbw #wrong\n";
  EXPECT_THAT(usage_complaint([&] { parse_nccl_tests_text(head + " 8 2 float sum\n", "f.txt"); }),
              HasSubstr("'f.txt', line 2: a row of 4 columns"));
  EXPECT_THAT(usage_complaint([&] {
                parse_nccl_tests_text(head + " 8 x float sum -1 1 1 1 0 1 1 1 0\n", "f.txt");
              }),
              HasSubstr("invalid count of elements 'x'"));
  EXPECT_THAT(usage_complaint([&] {
                parse_nccl_tests_text(head + " 8 2 float sum -1 N/A 1 1 N/A N/A 1 1 N/A\n",
                                      "f.txt");
              }),
              HasSubstr("a row without a time"));
  const std::string timeless = R"({"name":"x","time":null,"algBw":0,"busBw":0,"inPlace":0})";
  EXPECT_THAT(usage_complaint([&] { parse_documents(timeless, "f.json"); }),
              HasSubstr("has no results"));
  const std::string deep = R"({"nccl_version": )" + std::string(300'000, '[');
  EXPECT_THAT(usage_complaint([&] { parse_nccl_tests_json(deep, "f.json"); }),
              HasSubstr("nested deeper"));
  EXPECT_THAT(usage_complaint([&] { parse_rccl_json(deep, "f.json"); }),
              HasSubstr("nested deeper"));
  EXPECT_THAT(usage_complaint([&] { parse_nccl_tests_text("", "f.txt"); }), HasSubstr("no table"));
}

constexpr const char* kJson = R"({
 "version": 3, "start_time": "2026-07-01 12:00:00",
 "args": ["/opt/bin/broadcast_perf", "-b", "8"],
 "env": ["PATH=/bin", "SECRET_TOKEN=do-not-read-me"],
 "nccl_version": 22809,
 "config": {"nthreads": 1, "ngpus": 2, "minimum_bytes": 8, "maximum_bytes": 8, "step_bytes": 8,
  "warmup_iters": 1, "iterations": 20, "aggregated_iterations": 1, "validation": 1, "graph": 0,
  "blocking_collectives": "false",
  "devices": [{"rank": 0, "group": 0, "pid": 5, "hostname": "alpha", "device": 0,
               "device_hex": "0000:1b:00", "device_info": "NVIDIA H100"},
              {"rank": 2, "group": 0, "pid": 6, "hostname": "beta", "device": 0,
               "device_hex": "0000:1b:00", "device_info": "NVIDIA H100"}]},
 "results": [{"size": 8, "count": 2, "type": "float", "redop": "none", "root": "     1",
   "out_of_place": {"time": 9.5, "alg_bw": 0.5, "bus_bw": "nan", "nwrong": 0},
   "out_of_place_per_iter": {"skipped_iterations": 0, "min_us": 9.0, "max_us": 12.0, "p99_us": 11.0,
                             "cv_pct": 4.5, "times_us": [9.0, 12.0]},
   "in_place": {"cpu_time": 9.25, "alg_bw": 0.5, "bus_bw": 0.5, "nwrong": null},
   "actual_iterations": 20, "experiment_name": ""}],
 "out_of_bounds": {"count": 0, "okay": "true"},
 "average_bus_bandwidth": {"bandwidth": 0.5, "okay": "unchecked"}, "errors": [], "end_time": "x"})";

TEST(NcclTestsRead, Json) {
  ASSERT_TRUE(is_nccl_tests_json(kJson));
  const NcclTestsTable table = parse_nccl_tests_json(kJson, "x");
  EXPECT_EQ(table.program, "broadcast_perf");
  EXPECT_EQ(table.size, 4U) << "two processes of two GPUs";
  ASSERT_EQ(table.rows.size(), 1U);
  const NcclTestsRow& row = table.rows[0];
  EXPECT_EQ(row.root, 1);
  EXPECT_FALSE(row.out_of_place->bus_gb_per_s) << "a text that says nan";
  EXPECT_EQ(row.out_of_place->wrong, 0);
  EXPECT_EQ(row.out_of_place->spread->p99_us, 11);
  EXPECT_EQ(row.in_place->time_us, 9.25);
  EXPECT_FALSE(row.in_place->wrong);
  EXPECT_THAT(to_nccl_tests(table), testing::Not(HasSubstr("do-not-read-me")));
}

TEST(NcclTestsRead, JsonThatIsNone) {
  EXPECT_THAT(usage_complaint([] { parse_nccl_tests_json("{\"args\": [", "f"); }),
              HasSubstr("not JSON"));
  EXPECT_THAT(usage_complaint([] { parse_nccl_tests_json("{}", "f"); }), HasSubstr("no results"));
  EXPECT_THAT(usage_complaint([] { parse_nccl_tests_json(R"({"results": [1]})", "f"); }),
              HasSubstr("not an object"));
  EXPECT_THAT(
      usage_complaint([] { parse_nccl_tests_json(R"({"results": [{"size": "x"}]})", "f"); }),
      HasSubstr("no results"));
}

std::string json_with(const std::string& from, const std::string& to) {
  std::string text = kJson;
  return text.replace(text.find(from), from.size(), to);
}

TEST(NcclTestsRead, JsonOfARunThatFailedHasAnError) {
  const auto error_of = [](const std::string& text) {
    const auto documents = parse_documents(text, "x.json");
    EXPECT_EQ(documents.size(), 1U);
    return json_of(documents.at(0))["error"].dump();
  };
  EXPECT_EQ(error_of(kJson), "null");
  const std::string whole = kJson;
  EXPECT_THAT(error_of(whole.substr(0, whole.find(",\n \"out_of_bounds\"")) + "}"),
              has_all("out_of_bounds", "aborted"));
  EXPECT_EQ(error_of(json_with("\"errors\": []", "\"errors\": [\"iommu=pt\"]")), "null")
      << "NCCL's last warning, which a good run has too";
  EXPECT_EQ(error_of(json_with("\"errors\": []", "\"errors\": [\"\"]")), "null");
  EXPECT_THAT(error_of(json_with("\"unchecked\"", "\"false\"")),
              HasSubstr("Avg bus bandwidth: 0.5 FAILED"));
  EXPECT_THAT(error_of(json_with("{\"count\": 0, \"okay\": \"true\"}",
                                 "{\"count\": 4, \"okay\": \"false\"}")),
              HasSubstr("Out of bounds values: 4 FAILED"));
  const std::size_t rows = whole.find("[{\"size\"");
  const std::string none = whole.substr(0, rows) + "[]" + whole.substr(whole.find(",\n \"out_of"));
  EXPECT_THAT(error_of(none), HasSubstr("no row"));
}

TEST(NcclTestsRead, JsonBehindJson) {
  const auto documents = parse_documents(kJson + std::string("\n") + kJson, "x.json");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(json_of(documents[1])["results"].size(), 2U);
}

TEST(NcclTestsRead, ANamedProgramIsOnlyOfWhatDoesNotSay) {
  const auto operation = [](const std::string& text, const std::string& program) {
    return json_of(parse_documents(text, "x", program).at(0))["results"][0]["operation"];
  };
  EXPECT_EQ(operation(kNew, "all_gather_perf"), "reduce-scatter");
  EXPECT_EQ(operation(kJson, "all_gather_perf"), "broadcast");
  EXPECT_EQ(operation(json_with("/opt/bin/broadcast_perf", "/tmp/a.out"), "broadcast_perf"),
            "broadcast");
  EXPECT_THAT(usage_complaint([&] {
                operation(json_with("/opt/bin/broadcast_perf", "/tmp/a.out"), "all_reduce_perf");
              }),
              HasSubstr("not those of all_reduce_perf, but of broadcast_perf"));
  EXPECT_THAT(usage_complaint([&] { operation(kOld, "sendrecv_perf"); }),
              HasSubstr("not those of sendrecv_perf, but of all_reduce_perf"))
      << "by the factor 1.5";
  const std::string rccl =
      R"({"name":"AllReduce","ranks":8,"size":1024,"type":"float","redop":"sum","inPlace":0,)"
      R"("time":20.5,"algBw":0.05,"busBw":0.0875,"wrong":0})";
  EXPECT_EQ(operation(rccl, "all_gather_perf"), "all-reduce");
}

TEST(NcclTestsRead, IsToldFromOtherTexts) {
  EXPECT_TRUE(is_nccl_tests_text(kNew));
  EXPECT_TRUE(is_nccl_tests_text(kOld));
  EXPECT_FALSE(is_nccl_tests_text("{\"schema\": \"rdmabench/1\"}"));
  EXPECT_FALSE(
      is_nccl_tests_json("{\"schema\": \"rdmabench-coll/1\", \"nccl_version\": 1, \"args\": 1}"));
}

// Of one terminal: several programs, one behind the other.
constexpr const char* kTerminal =
    "root@node1:~/nccl-tests/build# ./all_reduce_perf -b 64M -e 64M -g 2\n"
    "# nThread 1 nGpus 2 minBytes 67108864 maxBytes 67108864 step: 1048576(bytes) warmup iters: 5 "
    "iters: 20 validation: 1 \n"
    "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
    "busbw  error\n"
    "    67108864      16777216   float     sum   1568.3   42.80   42.80  0e+00   1560.9   43.00   "
    "43.00  0e+00\n"
    "# Avg bus bandwidth    : 42.9 \n"
    "root@node1:~/nccl-tests/build# NCCL_DEBUG=WARN mpirun -np 2 ./all_gather_perf -b 64M -e 64M\n"
    "# nThread 1 nGpus 2 minBytes 67108864 maxBytes 67108864 step: 1048576(bytes) warmup iters: 5 "
    "iters: 20 validation: 1 \n"
    "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  "
    "error\n"
    "    67108864       8388608   float   1568.3   42.80   21.40  0e+00   1560.9   43.00   21.50  "
    "0e+00\n"
    "# Avg bus bandwidth    : 21.45 \n";

TEST(NcclTestsRead, TheCommandBeforeARunNamesItsProgram) {
  const auto documents = parse_documents(kTerminal, "x.txt");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(json_of(documents[0])["results"][0]["operation"], "all-reduce");
  EXPECT_EQ(json_of(documents[1])["results"][0]["operation"], "all-gather");
  EXPECT_EQ(parse_documents(std::string("[root@node1 build]# ls\n") + kTerminal, "x").size(), 2U)
      << "a prompt is no list";
  const std::string built =
      "Linking  all_gather.o > ../build/all_gather_perf\nLinking  reduce.o > ../build/reduce_perf\n";
  const std::string text = kTerminal;
  EXPECT_THAT(usage_complaint([&] { parse_documents(built + text.substr(text.find('\n')), "x"); }),
              HasSubstr("all_reduce_perf or sendrecv_perf"))
      << "what was built has not run";
}

// As a page shows it that took the marks for its own.
TEST(NcclTestsRead, ATableThatLostItsMarksIsRead) {
  const auto table =
      parse_nccl_tests_text(
          "mpirun -np 8 all_reduce_perf -b 32 -f 2 -e 8G\n"
          " nThread 1 nGpus 1 minBytes 32 maxBytes 64 step: 2(factor) warmup iters: 5       iters: 20 "
          "validation: 1 single_test: 0 test_buffer_kind: 2\n\n"
          " Using devices\n"
          "   Rank  0 Pid 1821213 on AI-A100-01 device  0 [0x00] NVIDIA A100-SXM4-40GB\n"
          "   Rank  1 Pid 1821214 on AI-A100-01 device  1 [0x00] NVIDIA A100-SXM4-40GB\n\n"
          "                                                     out-of-place                       "
          "in-place\n"
          "       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
          "busbw  error\n"
          "        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
          "(GB/s)\n"
          "          32             8   float     sum    35.06    0.00    0.00    N/A    35.14    0.00    "
          "0.00    N/A\n"
          " Out of bounds values : 0 OK\n"
          " Avg bus bandwidth    : 0.1\n",
          "x")
          .at(0);
  EXPECT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.error, "");
  EXPECT_EQ(table.size, 2U);
}

TEST(NcclTestsRead, LinesMarkedUpInReStructuredTextAreRead) {
  const auto table =
      parse_nccl_tests_text(
          ":mark:`# nThread 1 nGpus 8 minBytes 8 maxBytes 8589934592 step:\n"
          "2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0`\n\n"
          ":mark:`rccl-tests: Version develop:ae3e635`\n\n:mark:`# Using devices`\n\n"
          ":mark:`# Rank 0 Pid 806883 on a device 0 [0000:05:00.0] AMD\nInstinct MI300X`\n\n"
          ":mark:`# Rank 7 Pid 806883 on a device 7 [0000:e5:00.0] AMD\nInstinct MI300X`\n\n"
          ":mark:`# size count type redop root time algbw busbw #wrong time algbw\n"
          "busbw #wrong`\n\n"
          ":mark:`# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)`\n\n"
          ":mark:`128 32 float sum -1 39.36 0.00 0.01 0 182.4 0.00 0.00 0`\n\n"
          ":mark:`8192 2048 float sum -1 43.72 0.19 0.33 0 43.06 0.19 0.33 0`\n",
          "x")
          .at(0);
  EXPECT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.size, 8U);
}

// What the report of a benchmark shows of a run, which begins behind the first line.
TEST(NcclTestsRead, ASecondTableIsARunOfItsOwn) {
  const std::string text = kOld;
  const std::string second = text.substr(text.find("#   Rank"));
  const auto tables = parse_nccl_tests_text(
      text + "$ more run.sh\nrccl-tests: Version develop:5272cd1\n" + second, "x");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].rows.size(), tables[1].rows.size());
  EXPECT_EQ(tables[0].ranks.size(), tables[1].ranks.size());
  EXPECT_EQ(tables[0].backend, "nccl");
  EXPECT_EQ(tables[1].backend, "rccl");
  EXPECT_EQ(tables[1].version, "develop:5272cd1");
}

TEST(NcclTestsRead, WhatTheFirstReleasesSaidOfAFailureIsTheError) {
  const auto table =
      parse_nccl_tests_text(
          "nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 "
          "validation: 1\n"
          "# NCCL Tests compiled with NCCL 1.0\n"
          "#   Rank  0 on     node03 device  0 [0x00] Tesla P100-PCIE-16GB\n\n"
          "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  "
          "busbw      res\n"
          "NCCL failure all_reduce.cu:95 'unhandled cuda error'\n",
          "x")
          .at(0);
  EXPECT_EQ(table.error, "NCCL failure all_reduce.cu:95 'unhandled cuda error'");
}

TEST(NcclTestsRead, WhichProgram) {
  NcclTestsTable table = parse_nccl_tests_text(kOld, "x").at(0);
  EXPECT_EQ(nccl_tests_program(table, "all_gather.txt"), "all_reduce_perf")
      << "an all-gather reduces nothing";
  EXPECT_EQ(nccl_tests_program(table, "logs/sendrecv_perf.8nodes.txt"), "all_reduce_perf")
      << "a send and its receive have a busbw as their algbw";
  table.rows.pop_back();
  EXPECT_EQ(nccl_tests_program(table, "logs/sendrecv_perf.8nodes.txt"), "sendrecv_perf");
  table.rows[0].reduction = "none";
  table.rows[0].count = 1;
  EXPECT_EQ(nccl_tests_program(table, "alltoallv-night.txt"), "alltoallv_perf");
  table.program = "all_gather_perf_mpi";
  EXPECT_EQ(nccl_tests_program(table, "sendrecv.txt"), "all_gather_perf");
  table.program = "";
  EXPECT_THAT(usage_complaint([&] { nccl_tests_program(table, "x.txt"); }),
              HasSubstr("it may be all_gather_perf or alltoall_perf"));
  table.rows[0].count = 2;
  EXPECT_THAT(usage_complaint([&] { nccl_tests_program(table, "x.txt"); }),
              HasSubstr("its columns are those of none"));
  table.rows[0].root = 0;
  EXPECT_EQ(nccl_tests_program(table, "x.txt"), "broadcast_perf");
}

/// A table of one row, of which nothing else is told.
NcclTestsTable row_alone(const std::string& row) {
  return parse_nccl_tests_text(
             "# size count type redop root time algbw busbw #wrong\n" + row + "\n", "x")
      .at(0);
}

constexpr const char* kTwoRows =
    "   2147483648     536870912     float     sum      -1    11186  191.99  359.98      0    11199  "
    "191.75  359.53      0\n"
    "   4294967296    1073741824     float     sum      -1    22410  191.65  359.35      0    22414  "
    "191.62  359.28      0\n";

TEST(NcclTestsRead, RowsWithoutTheirHeadingAreReadByTheirOrder) {
  const std::string end = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 142.652\n#\n";
  const auto body_of = [](const std::string& text, const char* program = "") {
    return json_of(parse_documents(text, "x.txt", program).at(0));
  };
  for (const std::string last : {"# Collective test concluded: all_reduce_perf\n", ""}) {
    const auto body = body_of(kTwoRows + end + last);
    ASSERT_EQ(body["results"].size(), 4U) << last;
    EXPECT_EQ(body["results"][3]["mean_ns"], 22414000.0);
    EXPECT_EQ(body["results"][0]["operation"], "all-reduce");
    EXPECT_EQ(body["error"], nullptr);
    EXPECT_THAT(body["notes"].dump(), HasSubstr("heading of its columns is missing"));
  }
  const auto sent = body_of(
      "8 2 float sum -1 11 0.01 0.01 0 12 0.01 0.01 0\n" + end +
      "# Collective test concluded: all_reduce_perf\n# Collective test starting: alltoallv_perf\n");
  EXPECT_EQ(sent["results"].size(), 2U);
  const auto failed = body_of(std::string(kTwoRows) + "n1: Test NCCL failure common.cu:1 'x'\n");
  EXPECT_EQ(failed["results"].size(), 4U);
  EXPECT_EQ(failed["error"], "n1: Test NCCL failure common.cu:1 'x'");
  // Behind the other lines of a run.
  const std::string whole = kNew;
  const auto run = body_of(whole.substr(0, whole.find("#       size")) +
                           whole.substr(whole.find("        1024")));
  EXPECT_EQ(run["results"].size(), 4U);
  EXPECT_EQ(run["error"], nullptr);
}

TEST(NcclTestsRead, RowsOfOlderColumnsWithoutTheirHeadingAreNoFailedRun) {
  const std::string old = kOld;
  const std::string rows = old.substr(old.find("           8"));
  const auto body = json_of(parse_documents(old.substr(0, old.find('\n') + 1) + rows, "x").at(0));
  EXPECT_EQ(body["error"], "line 2: a row, but the heading of its columns is missing");
}

TEST(NcclTestsRead, ARankThatIsListedTwiceRanAlone) {
  const std::string whole = kNew;
  const std::size_t devices = whole.find("#  Rank  0");
  const std::string head = whole.substr(0, devices);
  const std::string device = whole.substr(devices, whole.find('\n', devices) + 1 - devices);
  for (const std::string& rows : {std::string(), whole.substr(whole.find("#       size"))}) {
    const auto body = json_of(parse_documents(head + device + device + rows, "x").at(0));
    EXPECT_THAT(body["error"].dump(), has_all("2 processes ran alone", "MPI=1"));
  }
}

TEST(NcclTestsRead, RanksThatAPageLeftOutAreCounted) {
  std::string text = kNew;
  text.replace(text.find("Rank  1"), 7, "Rank 15");
  const Document document = parse_documents(text, "x").at(0);
  EXPECT_EQ(json_of(document)["results"][0]["wrong"]["checked_results"], 16);
  EXPECT_EQ(json_of(document)["ranks"].size(), 2U);
  const auto unknown = json_of(parse_documents(kTwoRows, "x").at(0));
  EXPECT_EQ(unknown["results"][0]["wrong"]["wrong_elements"], 0);
  EXPECT_EQ(unknown["results"][0]["wrong"]["checked_results"], nullptr);
}

TEST(NcclTestsRead, RcclByItsVersionAndItsDevices) {
  std::string text = kNew;
  text.replace(text.find("nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809"), 63,
               "rccl-tests version 2.17.9-develop:4a65e8d rccl-headers=22707 rccl-library=22707");
  const auto told = json_of(parse_documents(text, "x").at(0));
  EXPECT_EQ(told["backend"], "rccl");
  EXPECT_EQ(told["library"][0]["value"], "RCCL 2.27.7");
  EXPECT_THAT(told["config"].dump(), HasSubstr("RCCL's tests 2.17.9-develop:4a65e8d"));
  std::string devices = kNew;
  devices.replace(devices.find("NVIDIA H100"), 11, "AMD Instinct MI300X");
  EXPECT_EQ(json_of(parse_documents(devices, "x").at(0))["backend"], "rccl");
}

TEST(NcclTestsRead, RcclsOldBanner) {
  const auto body = json_of(
      parse_documents("# nThreads: 1 nGpus: 4 nRanks: 1 minBytes: 8 maxBytes: 128 step: 2(factor) "
                      "warmupIters: 5 iters: 20 validation: 1\n"
                      "#   Rank  0 Pid 11 on n1 device  0 [0000:63:00.0] AMD Instinct MI210\n"
                      "n1: Test NCCL failure common.cu:1285 'internal error'\n",
                      "x")
          .at(0));
  EXPECT_EQ(body["error"], "n1: Test NCCL failure common.cu:1285 'internal error'");
  EXPECT_EQ(body["backend"], "rccl");
  EXPECT_THAT(body["config"].dump(), HasSubstr(R"("iterations","value":20)"));
}

TEST(NcclTestsRead, AFailureBehindACommandIsARunOfItsOwn) {
  std::string text = kOld;
  text = text.substr(text.find("#   Rank"));
  const auto tables = parse_nccl_tests_text(
      "$ ./all_reduce_perf -b 8 -g 4\nn1: Test NCCL failure common.cu:1005 'x'\nIt says so.\n" +
          text,
      "x");
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].error, "n1: Test NCCL failure common.cu:1005 'x'");
  EXPECT_EQ(tables[1].rows.size(), 2U);
  EXPECT_EQ(tables[1].error, "");
}

TEST(NcclTestsRead, ATableOfOnePlaceThatIsNotToldIsOutOfPlace) {
  const auto table = row_alone("8 2 float sum 10.09 0.00 0.00 0");
  EXPECT_EQ(table.rows.at(0).out_of_place->time_us, 10.09);
  EXPECT_FALSE(table.rows[0].in_place);
  EXPECT_THAT(table.notes, Contains(HasSubstr("nothing says which")));
}

TEST(NcclTestsRead, ResultsInPlaceThatAreLeftOutAreTold) {
  const auto body =
      json_of(parse_documents(
                  "# Collective test starting: sendrecv_perf\n"
                  "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
                  "8 2 float sum -1 11 0.01 0.01 0 12 0.01 0.01 N/A\n",
                  "x")
                  .at(0));
  EXPECT_EQ(body["results"].size(), 1U);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("1 results in place were left out"));
}

TEST(NcclTestsRead, TheColumnsTellTheProgram) {
  const auto program = [](const std::string& row) {
    return nccl_tests_program(row_alone(row), "x.txt");
  };
  // Nothing is counted in place where there is no such operation.
  EXPECT_EQ(program("256 64 float sum -1 34.2 0.01 0.01 0 33.6 0.01 0.01 N/A"), "sendrecv_perf");
  EXPECT_EQ(program("256 64 float sum -1 34.2 0.01 0.01 0 33.6 0.01 0.01 0"), "all_reduce_perf");
  EXPECT_EQ(program("1024 16 float none -1 55 0.02 0.02 0 29 0.04 0.03 N/A"), "alltoall_perf");
  EXPECT_EQ(program("0 0 float none -1 0.2 0.00 0.00 0 0.1 0.00 0.00 N/A"), "alltoall_perf");
  EXPECT_EQ(program("1024 16 float none -1 55 0.02 0.02 0 29 0.04 0.03 0"), "all_gather_perf");
  // A count is of one rank's part.
  EXPECT_EQ(program("128 4 float sum -1 32 0.00 0.00 0 25 0.01 0.00 0"), "reduce_scatter_perf");
  EXPECT_EQ(program("128 8 bfloat16 sum -1 32 0.00 0.00 0 25 0.01 0.00 0"), "reduce_scatter_perf");
  EXPECT_EQ(program("8 2 float none 1 45 0.00 0.00 N/A 38 0.00 0.00 N/A"), "broadcast_perf");
  EXPECT_EQ(program("8 2 float sum 1 45 0.00 0.00 N/A 38 0.00 0.00 N/A"), "reduce_perf");
  EXPECT_THAT(
      usage_complaint([&] { program("16 2 float none 1 45 0.00 0.00 N/A 38 0.00 0.00 N/A"); }),
      HasSubstr("may be scatter_perf or gather_perf"));
  // Nothing was counted.
  EXPECT_THAT(
      usage_complaint([&] { program("64 4 float none -1 9 1.05 0.99 N/A 1 1.04 0.98 N/A"); }),
      HasSubstr("may be all_gather_perf or alltoall_perf"));
}

TEST(NcclTestsRead, ThePartOfARankTellsHowManyThereAre) {
  const std::string text =
      "# size count type redop root time algbw busbw #wrong\n"
      "0 0 float none -1 55 0.00 0.00 0 29 0.00 0.00 0\n"
      "1024 16 float none -1 55 0.02 0.02 0 29 0.04 0.03 0\n";
  const Scan scan(text);
  const auto runs = kNcclTests.read(scan.lines(), {"x", "", kNcclTests});
  EXPECT_EQ(std::get<NcclTestsTable>(runs.at(0)).size, 16U);
}

TEST(NcclTestsRead, HypercubeIsNoAllGather) {
  EXPECT_THAT(usage_complaint([] { parse_documents(kOld, "hypercube_perf.txt"); }),
              HasSubstr("results of hypercube_perf are not taken"));
}

TEST(NcclTestsRead, BecomesADocumentOfOurs) {
  const std::vector<Document> documents = parse_documents(kNew, "x.txt");
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(documents[0].schema, kCollSchema);
  const auto& results = json_of(documents[0])["results"];
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0]["operation"], "reduce-scatter");
  EXPECT_EQ(results[0]["type"], "float32");
  EXPECT_EQ(results[0]["reduction"], "sum");
  EXPECT_TRUE(results[0]["root"].is_null());
  EXPECT_EQ(results[0]["mean_ns"], 10500.0);
  EXPECT_EQ(results[1]["in_place"], true);
  EXPECT_EQ(results[2]["wrong"]["wrong_elements"], 2);
  EXPECT_TRUE(results[3]["wrong"].is_null());
  EXPECT_EQ(results[0]["bus_bytes_per_s"], 0.05e9);
  EXPECT_EQ(json_of(documents[0])["ranks"][1]["host"], "beta");
  EXPECT_EQ(json_of(documents[0])["library"][0]["value"], "NCCL 2.28.9");
}

TEST(NcclTestsRead, SeveralRunsBecomeSeveralDocuments) {
  const std::vector<Document> documents = parse_documents(std::string(kNew) + kNew, "x.txt");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[1].source, "x.txt#2");
}

TEST(NcclTestsRead, JsonBecomesADocumentWithoutTheEnvironment) {
  const std::vector<Document> documents = parse_documents(kJson, "x.json");
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_THAT(json_of(documents[0]).dump(), testing::Not(HasSubstr("do-not-read-me")));
  EXPECT_EQ(json_of(documents[0])["results"][0]["root"], 1);
  EXPECT_EQ(json_of(documents[0])["results"][0]["max_ns"], 12000.0);
}

TEST(NcclTestsRead, RowsOfNothingAreLeftOut) {
  const std::string text =
      "# Collective test starting: all_gather_perf\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "0 0 float none -1 3.0 0.00 0.00 0 4.0 0.00 0.00 0\n"
      "64 8 float none -1 3.0 0.02 0.01 0 4.0 0.01 0.01 0\n";
  const auto body = json_of(parse_documents(text, "x.txt").at(0));
  EXPECT_EQ(body["results"].size(), 2U);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("1 rows of 0 bytes"));
}

}  // namespace
}  // namespace rdmabench::inline v1::import
