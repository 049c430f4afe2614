// What OSU's micro-benchmarks, fabtests, RCCL's tests and aborted runs of nccl-tests wrote, read as
// documents. The files of tests/imported were printed by those programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "../has_all.h"
#include "rdmabench/base/error.h"
#include "rdmabench/report/documents.h"
#include "rdmabench/results/result.h"
#include "report/body.h"

namespace rdmabench::inline v1::import {
namespace {

using report::kCollSchema;
using report::kRunSchema;
using report::parse_documents;
using report::to_csv;

using ::testing::HasSubstr;

std::string text_of_file(const std::string& name) {
  std::ifstream file(std::string(IMPORTED_REAL) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

nlohmann::ordered_json real(const std::string& name) {
  const auto documents = parse_documents(text_of_file(name), name);
  EXPECT_EQ(documents.size(), 1) << name;
  return json_of(documents.at(0));
}

std::string refusal_to_import(const std::string& text, const std::string& source,
                              const std::string& program = "") {
  try {
    parse_documents(text, source, program);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::usage);
    return std::string(error.what()) + " " + error.remedy();
  }
}

TEST(Imported, OsuLatenciesAreMeans) {
  for (const char* name : {"osu_latency.txt", "v5_osu_latency.txt", "osu_latency_c.txt"}) {
    const auto body = real(name);
    EXPECT_EQ(body["test"], "latency") << name;
    EXPECT_EQ(body["resolved"]["backend"], "mpi");
    const auto& row = body["results"][0];
    EXPECT_EQ(row["operation"], "send");
    EXPECT_GE(row["size_bytes"], 1) << "a message of no bytes is left out";
    EXPECT_EQ(row["iterations"], nullptr) << "it does not say";
    EXPECT_EQ(row["p50_ns"], nullptr);
    EXPECT_GT(row["mean_ns"], 50.0);
  }
  EXPECT_DOUBLE_EQ(real("osu_latency.txt")["results"][0]["mean_ns"], 37980);
}

TEST(Imported, OsuPercentilesAreTakenBehindTheTagsOfALauncher) {
  const auto body = real("osu_latency_z.txt");
  EXPECT_DOUBLE_EQ(body["results"][1]["p50_ns"], 110);
  EXPECT_DOUBLE_EQ(body["results"][1]["p99_ns"], 23020);
}

TEST(Imported, OsuBehindTimesAndBrackets) {
  for (const std::string tag :
       {"2026-07-01T12:00:00Z ", "[pod/x/main] ", "Jul  1 12:00:00 n1 osu[7]: "}) {
    const std::string text = tag + "# OSU MPI Allreduce Latency Test v7.4\n" + tag +
                             "# Datatype: MPI_CHAR.\n" + tag + "# Size       Avg Latency(us)\n" +
                             tag + "8   1.23\n";
    const auto body = json_of(parse_documents(text, "x").at(0));
    EXPECT_EQ(body["results"].size(), 1U) << tag;
    EXPECT_EQ(body["results"][0]["type"], "int8") << tag;
  }
}

TEST(Imported, OsuBandwidthsAreInMillionsOfBytes) {
  const auto one = real("osu_bw.txt");
  EXPECT_EQ(one["test"], "bandwidth");
  EXPECT_DOUBLE_EQ(one["results"][0]["bits_per_s"], 20.30e6 * 8);
  EXPECT_EQ(one["results"][0]["direction"], "one_way");
  EXPECT_EQ(real("osu_bibw.txt")["results"][0]["direction"], "both_ways");
  const auto rates = real("osu_mbw_mr.txt")["results"][0];
  EXPECT_EQ(rates["depth"], 64);
  EXPECT_DOUBLE_EQ(rates["messages_per_s"], 12134725.79);
  EXPECT_EQ(real("v5_osu_bw.txt")["results"].size(), 12);
}

TEST(Imported, OsuCollectivesAreOursWhereTheirSizesAre) {
  const auto reduced = real("osu_allreduce_f.txt");
  EXPECT_EQ(reduced["schema"], kCollSchema);
  EXPECT_EQ(reduced["backend"], "mpi");
  EXPECT_EQ(reduced["results"][0]["operation"], "all-reduce");
  EXPECT_EQ(reduced["results"][0]["type"], "int8");
  EXPECT_DOUBLE_EQ(reduced["results"][0]["mean_ns"], 310);
  EXPECT_EQ(reduced["results"][0]["algorithm_bytes_per_s"], nullptr);
  EXPECT_EQ(reduced["results"][0]["iterations"], 1000);
  EXPECT_EQ(real("v5_osu_allreduce.txt")["results"][0]["type"], "unknown");
  const auto exchanged = real("osu_alltoall.txt");
  EXPECT_THAT(exchanged["results"][0]["operation"].get<std::string>(), HasSubstr("All-to-All"));
  EXPECT_THAT(exchanged["notes"].dump(), HasSubstr("one rank's message"));
}

TEST(Imported, OsuBuiltForGpusIsOsuAllTheSame) {
  const auto read = [](const std::string& title, const std::string& rest) {
    return json_of(parse_documents("# OSU " + title + " Test v7.5\n" + rest, "x").at(0));
  };
  for (const std::string of : {"MPI-CUDA", "MPI-ROCM", "MPI-SYCL", "MPI-OPENACC", "MPI"}) {
    const auto latency = read(of + " Latency",
                              "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
                              "# Datatype: MPI_CHAR.\n"
                              "# Size       Avg Latency(us)\n8                      19.50\n");
    EXPECT_EQ(latency["schema"], kRunSchema) << of;
    EXPECT_EQ(latency["test"], "latency") << of;
    EXPECT_DOUBLE_EQ(latency["results"][0]["mean_ns"], 19500) << of;
    const auto duplex = read(of + " Bi-Directional Bandwidth",
                             "# Size      Bandwidth (MB/s)\n8                       1.50\n");
    EXPECT_EQ(duplex["results"][0]["direction"], "both_ways") << of;
    const auto reduced = read(of + " Allreduce Latency",
                              "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  "
                              "Iterations\n1024  8.50  8.25  9.00  100\n");
    EXPECT_EQ(reduced["schema"], kCollSchema) << of;
    EXPECT_EQ(reduced["results"][0]["operation"], "all-reduce") << of;
    EXPECT_EQ(reduced["results"][0]["max_ns"], 9000) << of;
  }
}

TEST(Imported, WrongDataAndEmptyTablesAreSaid) {
  std::string wrong = text_of_file("osu_latency_c.txt");
  wrong.replace(wrong.find("Pass"), 4, "Fail");
  EXPECT_EQ(json_of(parse_documents(wrong, "x")[0])["error"], "wrong data at 8 bytes");
  EXPECT_THAT(refusal_to_import(text_of_file("osu_barrier.txt"), "b.txt"), HasSubstr("no row"));
}

TEST(Imported, ARowWithAWordTooManyIsAnErrorAndNoPass) {
  const std::string text = text_of_file("osu_latency_c.txt");
  const std::size_t pass = text.find("Pass");
  std::string shifted = text;
  shifted.insert(pass, "[1] ");
  const auto body = json_of(parse_documents(shifted, "x")[0]);
  EXPECT_THAT(body["error"].get<std::string>(), HasSubstr("columns below a heading of"));
  EXPECT_EQ(body["results"].size() + 1, json_of(parse_documents(text, "x")[0])["results"].size());
  // The line's own tag is cut off.
  std::string tagged;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::size_t inner = std::min(std::max(pass, at), end) - at;
    const std::string line = text.substr(at, end - at);
    tagged +=
        "[0] " + line.substr(0, inner) + (inner < line.size() ? "[0] " : "") + line.substr(inner);
    at = end;
  }
  EXPECT_EQ(json_of(parse_documents(tagged, "x")[0])["error"], nullptr);
  EXPECT_EQ(json_of(parse_documents(tagged, "x")[0])["results"],
            json_of(parse_documents(text, "x")[0])["results"]);
}

TEST(Imported, ATableThatStopsKeepsItsRowsAndSaysSo) {
  const std::string latency = "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n";
  const auto cut = json_of(parse_documents(latency + "0  0.19\n1  0.20\n2  0.21\n4", "x")[0]);
  EXPECT_THAT(cut["error"], has_all("line 6", "1 of 2 columns"));
  EXPECT_EQ(cut["results"].size(), 2U);
  const auto empty = json_of(parse_documents(latency, "x")[0]);
  EXPECT_THAT(empty["error"], HasSubstr("no row"));
  EXPECT_EQ(empty["test"], "latency");
  const auto reduced = json_of(parse_documents(
      "# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n", "x")[0]);
  EXPECT_THAT(reduced["error"], HasSubstr("no row"));
  const auto pingpong = json_of(
      parse_documents("bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                      "64      10k     1.2m        0.03s     46.55       1.37       0.73\n"
                      "256     10k     4.8m\n",
                      "fi_rdm_pingpong.txt")[0]);
  EXPECT_THAT(pingpong["error"], has_all("line 3", "3 of 7 columns"));
  EXPECT_EQ(pingpong["results"].size(), 1U);
}

TEST(Imported, AFailureStaysWithItsTag) {
  const auto documents = parse_documents(
      "n1: # OSU MPI Latency Test v5.9\nn2: # OSU MPI Latency Test v5.9\n"
      "n1: # Size          Latency (us)\nn2: # Size          Latency (us)\n"
      "words without a tag\n"
      "n1: 1  0.20\nn2: 1  0.30\nn2: 2  0.31\n"
      "n3: [1,0]: words of a tag without a table\n"
      "n1: srun: error: node1: task 0: Killed\n",
      "x");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_NE(json_of(documents[0])["error"], nullptr);
  EXPECT_EQ(json_of(documents[0])["results"].size(), 1U);
  EXPECT_EQ(json_of(documents[1])["error"], nullptr);
  EXPECT_EQ(json_of(documents[1])["results"].size(), 2U);
}

TEST(Imported, FabtestsNeedTheirProgramsName) {
  const std::string text = text_of_file("fi_pingpong.txt");
  const auto own = json_of(parse_documents(text, "anything.txt")[0]);  // its columns are no others'
  EXPECT_EQ(own["test"], "latency");
  EXPECT_EQ(own["results"][0]["size_bytes"], 1);
  EXPECT_EQ(own["results"][0]["iterations"], 1000);
  EXPECT_DOUBLE_EQ(own["results"][0]["mean_ns"], 157820);

  const std::string table =
      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "4k      10k     39m         0.01s   4096.00         1.00       1.00\n";
  EXPECT_THAT(refusal_to_import(table, "log.txt"), HasSubstr("--as fi_rdm_pingpong"));
  EXPECT_EQ(json_of(parse_documents(table, "log.txt", "fi_msg_pingpong")[0])["test"], "latency");
  const auto named = json_of(parse_documents(table, "dir/fi_msg_bw.txt")[0]);
  EXPECT_EQ(named["test"], "bandwidth");
  EXPECT_EQ(named["results"][0]["size_bytes"], 4096);
  EXPECT_DOUBLE_EQ(named["results"][0]["bits_per_s"], 4096e6 * 8);
  EXPECT_EQ(json_of(parse_documents(table, "fi_rma_bw.txt")[0])["results"][0]["operation"],
            "fi_rma_bw");

  const std::string record =
      "- { xfer_size: 64, iterations: 100, total: 6400, time: 0.000100, MB/sec: 64.000000, "
      "usec/xfer: 1.000000, Mxfers/sec: 1.000000 }\n";
  EXPECT_DOUBLE_EQ(
      json_of(parse_documents(record, "x", "fi_rdm_pingpong")[0])["results"][0]["mean_ns"], 1000);
}

TEST(Imported, RcclLinesAndItsListAreTheSame) {
  const std::string one =
      R"({"numCycle":0,"name":"AllReduce","nodes":1,"ranks":8,"ranksPerNode":8,"gpusPerRank":1,)"
      R"("size":1024,"type":"float","redop":"sum","inPlace":0,"time":20.5,"algBw":0.05,)"
      R"("busBw":0.0875,"wrong":"N/A"})";
  std::string two = one;
  two.replace(two.find("\"inPlace\":0"), 11, "\"inPlace\":1");
  const std::string other =
      R"({"numCycle":0,"name":"AlltoAll","ranks":8,"size":64,"type":"float","redop":"none",)"
      R"("inPlace":0,"time":9,"algBw":1,"busBw":0.875,"wrong":0})";
  for (const std::string& text :
       {one + "\n" + two + "\n" + other + "\n", "[" + one + ",\n" + two + ",\n" + other + "]",
        "[" + one + ",\n" + two + ",\n" + other + ",\n{\"numC"}) {
    const auto documents = parse_documents(text, "rccl.json");
    ASSERT_EQ(documents.size(), 2) << text;
    const auto& body = json_of(documents[0]);
    EXPECT_EQ(body["backend"], "rccl");
    EXPECT_EQ(body["results"][0]["operation"], "all-reduce");
    EXPECT_EQ(body["results"][1]["in_place"], true);
    EXPECT_DOUBLE_EQ(body["results"][0]["mean_ns"], 20500);
    EXPECT_EQ(body["results"][0]["wrong"], nullptr);
    EXPECT_EQ(json_of(documents[1])["results"][0]["operation"], "all-to-all");
  }
}

TEST(Imported, TheNumberOfRanksIsThatWhichTheFileTells) {
  const std::string rccl =
      R"({"name":"AllReduce","ranks":8,"size":1024,"type":"float","redop":"sum","inPlace":0,)"
      R"("time":20.5,"algBw":0.05,"busBw":0.0875,"wrong":0})"
      "\n";
  EXPECT_THAT(to_csv(parse_documents(rccl, "x")), HasSubstr(",rccl,8,all-reduce,"));
  const std::string osu =
      "# OSU MPI Allreduce Latency Test v7.2\n# Size       Avg Latency(us)\n8   34.10\n";
  EXPECT_THAT(to_csv(parse_documents(osu, "x")), HasSubstr(",mpi,all-reduce,")) << "no number";
}

TEST(Imported, NcclTestsOfARunThatWasAbortedKeepWhatTheyWrote) {
  const std::string text =
      R"({"version":3,"args":["./all_reduce_perf"],"env":[],"nccl_version":22809,"config":)"
      R"({"nthreads":1,"ngpus":1,"devices":[]},"results":[{"size":8,"count":2,"type":"float",)"
      R"("redop":"sum","root":"-1","out_of_place":{"time":5.0,"alg_bw":0.1,"bus_bw":0.1,)"
      R"("nwrong":0},"out_of_place_per_iter":{"min_us":4,"max_us":9,"p50_us":4.5,"p99_us":8,)"
      R"("stdev_us":1,"cv_pct":20}},{"size":16,"count":4,"type":"flo)";
  const auto body = json_of(parse_documents(text, "x.json")[0]);
  EXPECT_THAT(body["error"].get<std::string>(), has_all("to its end", "aborted"));
  ASSERT_EQ(body["results"].size(), 1);
  EXPECT_DOUBLE_EQ(body["results"][0]["p50_ns"], 4500);
  EXPECT_DOUBLE_EQ(body["results"][0]["stddev_ns"], 1000);
}

TEST(Imported, TheProgramOfNcclTestsMayBeNamed) {
  const std::string text =
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     "
      "time   algbw   busbw  #wrong\n"
      "        1024           128     float    none      -1    10.00    0.10    0.05    N/A    "
      "10.00    0.10    0.05    N/A\n";
  EXPECT_THAT(refusal_to_import(text, "log.txt"), HasSubstr("--as all_gather_perf"));
  EXPECT_EQ(
      json_of(parse_documents(text, "log.txt", "alltoall_perf")[0])["results"][0]["operation"],
      "all-to-all");
}

// Of UCX, whose errors were broken off in the middle.
TEST(Imported, WordsOfALibraryThatBeginWithADigitAreNoRow) {
  const auto body = json_of(
      parse_documents(
          "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n"
          "0                       1.32\n1                       1.61\n"
          "4deb78a flags=0x0) failed: No such file or directory\n"
          "2                       1.60\n"
          "[1725088413.939005] [hpc-65:14292:0]        mm_posix.c:238  UCX  ERROR   shm_open failed\n",
          "x")
          .at(0));
  EXPECT_EQ(body["results"].size(), 2U);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("1 row of 0 bytes was left out."));
  EXPECT_THAT(refusal_to_import("# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n"
                                "             128.14\n",
                                "x"),
              HasSubstr("no row with a size"));
  EXPECT_THAT(refusal_to_import("# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n"
                                "1                       1.6[hpc-65\n",
                                "x"),
              HasSubstr("'1.6[hpc-65' is not a number"));
}

TEST(Imported, OsuRowsWithoutANumberKeepTheirOthers) {
  const auto body =
      json_of(parse_documents(
                  "# OSU MPI Allreduce Latency Test v7.2\n"
                  "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
                  "4                       nan             33.27             35.07        1000\n"
                  "8                     34.10             33.00             34.86        1000\n",
                  "x")
                  .at(0));
  ASSERT_EQ(body["results"].size(), 1U) << "no time is no row";
  EXPECT_EQ(body["results"][0]["size_bytes"], 8);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("1 row without a time was left out."));
  EXPECT_THAT(body["config"].dump(), HasSubstr(R"({"name":"ranks","value":null})"));
  const auto timeless = parse_documents(
      "# OSU MPI Allreduce Latency Test v7.2\n# Size       Avg Latency(us)\n4   nan\n", "x");
  EXPECT_THAT(json_of(timeless.at(0))["error"].dump(), HasSubstr("no row"));
}

// As archives of mailing lists show it.
TEST(Imported, OsuQuotedAndWithoutItsBlanks) {
  const auto body =
      json_of(parse_documents(">> > # OSU MPI Bandwidth Test v3.1.1\n>> > # Size Bandwidth (MB/s)\n"
                              ">> > 1 1.46\n>> > 2 3.66\n>> >\n>> It is slow.\n",
                              "x")
                  .at(0));
  ASSERT_EQ(body["results"].size(), 2U);
  EXPECT_DOUBLE_EQ(body["results"][1]["bits_per_s"], 3.66e6 * 8);
}

TEST(Imported, OsuTellsItsPairsAndWhereItsBuffersAre) {
  const auto body =
      json_of(parse_documents("# OSU MPI Multiple Bandwidth / Message Rate Test v5.7\n"
                              "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
                              "# [ pairs: 4 ] [ window size: 64 ]\n"
                              "# Size                  MB/s        Messages/s\n"
                              "1                      10.61       10609793.75\n",
                              "x")
                  .at(0));
  EXPECT_EQ(body["results"][0]["depth"], 64);
  const auto& details = body["resolved"]["details"];
  EXPECT_EQ(details["pairs"], "4");
  EXPECT_EQ(details["buffers"], "Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)");
}

TEST(Imported, OsuWithoutItsTitleIsNamedOrUnknown) {
  const std::string table = "# Size          Latency (us)\n# Datatype: MPI_CHAR.\n1     1.61\n";
  const auto row = [&](const std::string& text, const std::string& program) {
    return json_of(parse_documents(text, "x", program).at(0))["results"].at(0);
  };
  EXPECT_EQ(row(table, "")["operation"], "unknown");
  EXPECT_DOUBLE_EQ(row(table, "")["mean_ns"], 1610);
  EXPECT_EQ(row(table, "osu_latency")["operation"], "send");
  EXPECT_EQ(row(" OSU MPI Latency Test v7.2\n" + table, "")["operation"], "send")
      << "a page took its mark for its own";
}

TEST(Imported, OsuOneSidedTestsKeepTheirNames) {
  const auto read = [](const std::string& title, const std::string& heading) {
    return json_of(
        parse_documents("# OSU " + title + " Test v5.9\n# Window creation: MPI_Win_allocate\n" +
                            "# Size          " + heading + "\n8                       2.70\n",
                        "x")
            .at(0));
  };
  for (const std::string title :
       {"MPI_Accumulate latency", "MPI_Fetch_and_op latency", "MPI_Compare_and_swap latency",
        "MPI_Get_accumulate latency", "OpenSHMEM Put", "SHMEM Get"}) {
    const auto body = read(title, "Latency (us)");
    EXPECT_EQ(body["test"], "latency") << title;
    EXPECT_EQ(body["results"][0]["operation"], title);
    EXPECT_DOUBLE_EQ(body["results"][0]["mean_ns"], 2700) << title;
  }
  EXPECT_EQ(read("MPI_Put Latency", "Latency (us)")["results"][0]["operation"], "write");
  EXPECT_EQ(read("MPI_Get latency", "Latency (us)")["results"][0]["operation"], "read");
  const auto put = read("MPI_Put Bi-directional Bandwidth", "Bandwidth (MB/s)");
  EXPECT_EQ(put["results"][0]["direction"], "both_ways");
  EXPECT_EQ(put["results"][0]["operation"], "write");
  EXPECT_EQ(read("OpenSHMEM Put", "Latency (us)")["resolved"]["backend"], "unknown");
  EXPECT_EQ(read("NCCL Allreduce Latency", "Avg Latency(us)")["backend"], "nccl");
}

TEST(Imported, OsuNonBlockingCollectivesAreTimesOfTheCommunication) {
  const auto body = json_of(
      parse_documents(
          "# OSU MPI Non-blocking Broadcast Latency Test v5.9\n"
          "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
          "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
          "1                       3.62              1.58              1.40              0.00\n"
          "2                       3.64              1.58              1.41              0.00\n",
          "x")
          .at(0));
  ASSERT_EQ(body["results"].size(), 2U);
  EXPECT_EQ(body["results"][0]["operation"], "MPI Non-blocking Broadcast Latency");
  EXPECT_DOUBLE_EQ(body["results"][1]["mean_ns"], 1410);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("communication alone"));
}

TEST(Imported, AKilledTableAndFabtestsOwnWordsAreErrors) {
  const std::string osu =
      "# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n1                       0.21\n";
  const std::string noticed =
      "mpirun noticed that process rank 1 with PID 0 on node node2 exited on signal 11 "
      "(Segmentation fault).";
  const auto killed = json_of(parse_documents(osu + "----\n" + noticed + "\n", "x").at(0));
  EXPECT_EQ(killed["error"], noticed);
  EXPECT_EQ(killed["results"].size(), 1U);
  const auto cut = parse_documents(osu + "2\nslurmstepd: error: CANCELLED AT 10:00\n", "x");
  EXPECT_THAT(json_of(cut.at(0))["error"].dump(), HasSubstr("CANCELLED AT"));
  EXPECT_THAT(json_of(parse_documents("# OSU MPI Latency Test v7.4\n", "x").at(0))["error"],
              HasSubstr("no row"));
  const std::string table =
      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "64      1k      125k        0.00s     26.34       2.43       0.41\n";
  for (const std::string words :
       {"fi_cq_readerr: err: Input/output error (5), prov_err: Unknown error (5)",
        "[error] 1700000000:fabtests:common/shared.c:12: cq_readerr 5 (Input/output error)",
        "fi_domain(): common/shared.c:743, ret=-61 (No data available)"}) {
    EXPECT_EQ(json_of(parse_documents(table + words + "\n", "fi_rma_bw.txt").at(0))["error"],
              words);
  }
}

TEST(Imported, TheCommandBeforeATableOfFabtestsNamesItsProgram) {
  const std::string rows =
      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "1       10k     19k         0.30s      0.07      14.94       0.07\n";
  const auto documents = parse_documents(
      "$ taskset -c 32 ./fi_rdm_pingpong -p \"tcp;ofi_rxm\" -s 169.254.0.35 169.254.0.36\n" + rows +
          "$ ./fi_msg_bw -p verbs 192.168.1.2\n" + rows,
      "x");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_DOUBLE_EQ(json_of(documents[0])["results"].at(0)["mean_ns"], 14940);
  EXPECT_DOUBLE_EQ(json_of(documents[1])["results"].at(0)["bits_per_s"], 0.07e6 * 8);
}

TEST(Imported, TheCommandBeforeATableOfFabtestsNamesItsOperation) {
  const std::string rows =
      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "1m      200     200m        0.05s   4092.86     256.12       0.00\n";
  for (const auto& [command, operation] :
       {std::pair{"fi_rma_bw -e rdm -o write -p efa fe80::2", "write"},
        std::pair{"fi_rma_bw -oread -p efa fe80::2", "read"},
        std::pair{"$ ./fi_rma_bw -p efa -o writedata fe80::2", "write-imm"},
        std::pair{"bin/fi_rma_bw -p efa -o read fe80::2 :", "read"},
        std::pair{"fi_rma_bw -e rdm -p efa fe80::2", "write"},
        std::pair{"fi_rdm_tagged_bw -p efa -s fe80::1 fe80::2", "send"}}) {
    const auto body = json_of(parse_documents(std::string(command) + "\n" + rows, "x").at(0));
    EXPECT_EQ(body["results"].at(0)["operation"], operation) << command;
  }
}

TEST(Imported, TheRateOfFabtestsIsNotTheRoundedOne) {
  const auto body = json_of(
      parse_documents("fi_rdm_tagged_bw -p efa fe80::2\n"
                      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                      "64      20k     1.2m        0.03s    123.08       0.52       1.93\n"
                      "1m      200     200m        0.03s   6892.86     152.12       0.01\n"
                      "4m      200     800m        0.12s   6851.09     612.21       0.00\n",
                      "x")
          .at(0));
  EXPECT_DOUBLE_EQ(body["results"].at(0)["messages_per_s"], 1.93e6);
  EXPECT_NEAR(body["results"].at(1)["messages_per_s"].get<double>(), 6573.8, 0.1);
  EXPECT_NEAR(body["results"].at(2)["messages_per_s"].get<double>(), 1633.4, 0.1);
}

TEST(Imported, ARecordOfFabtestsOf2016LacksAComma) {
  const auto row =
      json_of(parse_documents("{ xfer_size: 64, iterations: 10000, total: 1280000, time: "
                              "1.199834, MB/sec: 1.066814, usec/xfer: "
                              "59.991699Mxfers/sec: 0.016669 }\n",
                              "x", "fi_msg_pingpong")
                  .at(0))["results"][0];
  EXPECT_DOUBLE_EQ(row["mean_ns"], 59991.699);
}

TEST(Imported, FabtestsNamesInTheTextWin) {
  const std::string record =
      "- { xfer_size: 64, iterations: 1000, total: 64000, time: 0.001, MB/sec: 26.3, usec/xfer: "
      "2.43, Mxfers/sec: 0.41 }\n";
  const auto both = parse_documents("---\n./bin/fi_rdm_pingpong -M -p tcp 10.0.0.1 :\n" + record +
                                        "---\nfi_msg_bw -M :\n" + record,
                                    "x.txt", "fi_rma_bw");
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(json_of(both[0])["config"]["test"], "fi_rdm_pingpong");
  EXPECT_EQ(json_of(both[0])["test"], "latency");
  EXPECT_DOUBLE_EQ(json_of(both[0])["results"][0]["mean_ns"], 2430);
  EXPECT_EQ(json_of(both[1])["test"], "bandwidth");

  const std::string heading =
      "name      bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n";
  const auto old =
      parse_documents(heading + "fi_rdm_pingpong  64  1k  125k  0.00s  26.3  2.43  0.41\n", "x");
  EXPECT_EQ(json_of(old.at(0))["test"], "latency");
  EXPECT_EQ(json_of(old.at(0))["results"][0]["operation"], "send");
  EXPECT_EQ(json_of(old.at(0))["results"][0]["size_bytes"], 64);
  const auto atomic =
      parse_documents(heading +
                          "write_min_int8_lat  64  1k  125k  0.00s  26.3  2.4  0.4\n"
                          "write_min_int8_lat  128  1k  1m  0.00s  26.3  2.4  0.4\n"
                          "fetch_max_int8_lat  64  1k  125k  0.00s  26.3  3.4  0.4\n",
                      "fi_rdm_atomic.txt");
  ASSERT_EQ(atomic.size(), 2U);
  EXPECT_EQ(json_of(atomic[0])["results"].size(), 2U);
  EXPECT_EQ(json_of(atomic[1])["results"][0]["operation"], "fetch_max_int8_lat");
  EXPECT_DOUBLE_EQ(json_of(atomic[1])["results"][0]["mean_ns"], 3400);
}

/// Lines of two texts in turn behind their tags, those of `b` from the line `from` of `a` on.
std::string in_turn(const std::string& a, const std::string& b, std::size_t from) {
  std::istringstream lines_a(a);
  std::istringstream lines_b(b);
  std::string out;
  std::string line;
  for (std::size_t i = 0; std::getline(lines_a, line); ++i) {
    out += "2026-07-01T12:00:0" + std::to_string(i % 10) + "Z node1: " + line + "\n";
    if (i >= from && std::getline(lines_b, line)) out += "node3: " + line + "\n";
  }
  while (std::getline(lines_b, line)) out += "node3: " + line + "\n";
  return out;
}

std::string perftest_text(const std::string& average, const std::string& begin = "",
                          const std::string& local = "0x49", const std::string& remote = "0x50") {
  return begin + "                    RDMA_Write BW Test\n local address: LID 0x01 QPN " + local +
         "\n remote address: LID 0x01 QPN " + remote +
         "\n----\n"
         " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
         " 65536      5000             196.63             " +
         average + "   0.374943\n----\n";
}

// As scripts that check a cluster log them.
TEST(Imported, AFileMayHoldTablesOfSeveralTools) {
  const std::string text =
      "$ mpirun -np 16 ./all_gather_perf -b 8 -e 8G\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
      "  algbw   busbw #wrong\n"
      "           8             2     float    none      -1    99.09    0.00    0.00    N/A    36.48  "
      "  0.00    0.00    N/A\n"
      "# Avg bus bandwidth    : 56.3994\n"
      "Starting RDMA client 'ib_read_bw' for mlx5_0 (Port 18515)...\n"
      " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
      " 8388608    5000             197.48             197.48             0.002943\n"
      "-------------------------------------------------------------------\n"
      "# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n1                       1.61\n";
  const auto documents = parse_documents(text, "x");
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(json_of(documents[0])["results"].at(0)["operation"], "all-gather");
  EXPECT_DOUBLE_EQ(json_of(documents[1])["results"].at(0).at("bits_per_s"), 197.48e9);
  EXPECT_DOUBLE_EQ(json_of(documents[2])["results"].at(0).at("mean_ns"), 1610);
  EXPECT_THAT(refusal_to_import(text + "2    1.5x\n", "x"), HasSubstr("line 13: '1.5x'"));
  const auto named =
      parse_documents("Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n" +
                          perftest_text("196.63") +
                          "$ ./fi_rdm_pingpong -p tcp\n"
                          "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                          "1       10k     19k         0.30s      0.07      14.94       0.07\n",
                      "x");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_THAT(json_of(named[0])["error"].dump(), HasSubstr("Failed status 12"));
  EXPECT_DOUBLE_EQ(json_of(named[1])["results"].at(0).at("mean_ns"), 14940);
  EXPECT_EQ(parse_documents("== NCCL BW Test\n" + text, "x").size(), 3U) << "a script's own words";
}

TEST(Imported, WhatMayStandAnywhereEndsNoTable) {
  const auto documents = parse_documents(
      "# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n1  1.61\n"
      "+ srun -N2 ./all_reduce_perf -b 8 -e 64M\n2  1.62\n"
      "Couldn't connect to n1:18515\n4  1.63\n" +
          perftest_text("196.63"),
      "x");
  ASSERT_EQ(documents.size(), 3U) << "of perftest a client that failed, and one that did not";
  EXPECT_EQ(json_of(documents[0])["results"].size(), 3U);
}

TEST(Imported, AnErrorNamesTheFilesOwnLineWhereTagsStandInTurn) {
  EXPECT_THAT(refusal_to_import(in_turn(perftest_text("196.58"), perftest_text("many"), 0), "x"),
              HasSubstr("'x', line 12: 'many' is not a number"));
}

TEST(Imported, ACutLastLineIsOfItsOwnTag) {
  const std::string text = perftest_text("196.58");
  std::string cut = in_turn(text, text, 0);
  cut = cut.substr(0, cut.find("node1: ----", cut.find("196.63"))) +
        "node1:  65536      5000       1";
  const auto documents = parse_documents(cut, "x");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(json_of(documents[0])["error"], "its table ends within a row");
  EXPECT_EQ(json_of(documents[0])["results"].size(), 1U);
  EXPECT_EQ(json_of(documents[1])["error"], nullptr);
  EXPECT_EQ(json_of(documents[1])["results"].size(), 1U);
}

TEST(Imported, LinesOfSeveralTagsAreReadApart) {
  for (const std::size_t from : {0, 1, 3, 6}) {
    const auto documents = parse_documents(
        in_turn(perftest_text("196.58"), perftest_text("96.58"), from) + "srun: all done\n", "x");
    ASSERT_EQ(documents.size(), 2U) << from;
    EXPECT_DOUBLE_EQ(json_of(documents[0])["results"][0]["bits_per_s"], 196.58e9);
    EXPECT_DOUBLE_EQ(json_of(documents[1])["results"][0]["bits_per_s"], 96.58e9);
    EXPECT_EQ(json_of(documents[0])["error"], nullptr);
    EXPECT_EQ(json_of(documents[1])["error"], nullptr);
  }
  const std::string waits = "* Waiting for client to connect... *\n";
  const std::string sides =
      in_turn(perftest_text("196.58", waits), perftest_text("196.5", "", "0x50", "0x49"), 2);
  const auto run = parse_documents(sides, "x");
  ASSERT_EQ(run.size(), 1U) << "both sides of one run";
  EXPECT_DOUBLE_EQ(json_of(run[0])["results"][0]["bits_per_s"], 196.5e9);
  const std::string osu = text_of_file("osu_latency.txt");
  EXPECT_EQ(parse_documents(in_turn(osu, osu, 2), "x").size(), 2U);
}

TEST(Imported, AFailureBetweenSeveralTagsStaysWithItsTag) {
  std::string failed = perftest_text("96.58");
  failed.replace(failed.rfind("----"), 4, " Failed to complete run_iter_bw function successfully");
  const auto documents = parse_documents(in_turn(perftest_text("196.58"), failed, 0), "x");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(json_of(documents[0])["error"], nullptr);
  EXPECT_EQ(json_of(documents[1])["error"], "Failed to complete run_iter_bw function successfully");
}

TEST(Imported, ATitleOfOsuHasItsVersion) {
  const std::string table =
      "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1                       1.50\n";
  EXPECT_EQ(parse_documents("# OSU Benchmarks Example\n\n" + table, "x").size(), 1U);
  EXPECT_EQ(parse_documents("# Size of the cluster\n\n" + table, "x").size(), 1U);
}

TEST(Imported, OsuOneSidedTestsTimeAnOperationUntilItIsDone) {
  for (const std::string title : {"MPI_Put latency", "MPI_Accumulate latency",
                                  "MPI_Get_accumulate latency", "MPI_Fetch_and_op latency"}) {
    const auto row =
        json_of(parse_documents(
                    "# OSU " + title + " Test v5.9\n# Size          Latency (us)\n8  0.04\n", "x")
                    .at(0))["results"]
            .at(0);
    EXPECT_EQ(row["kind"], "completion") << title;
    EXPECT_EQ(row["completion"], "delivery") << title;
    EXPECT_EQ(row["signal"], "completion") << title;
  }
}

TEST(Imported, AFailureBehindAFenceOrAPromptIsOfAnotherProgram) {
  const std::string table =
      "# OSU MPI Bandwidth Test v6.2\n# Size      Bandwidth (MB/s)\n1                       1.50\n";
  const std::string failure = "srun: error: node1: task 0: Exited with exit code 1\n";
  const auto error = [&](const std::string& between) {
    return json_of(
        parse_documents("```\n$ srun osu_bw\n" + table + between + failure, "x").at(0))["error"];
  };
  EXPECT_NE(error(""), nullptr);
  EXPECT_EQ(error("```\nToo many of them:\n```\n"), nullptr);
  EXPECT_EQ(error("[me@node ~]$ srun vectorAdd\n"), nullptr);
  EXPECT_EQ(error("```\n```\n4 processes 4 run\n"), nullptr) << "no row";
}

TEST(Imported, OsuTestsWithoutSizesAreANote) {
  const auto documents = parse_documents(
      "# OSU MPI Init Test v5.6.2\nnprocs: 4, min: 67 ms, max: 67 ms, avg: 67 ms\n"
      "# OSU MPI Hello World Test v5.6.2\n"
      "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n            12.57\n"
      "# OSU MPI Non-blocking Barrier Latency Test v5.6.3\n# Overall = Coll. Init + Compute\n\n"
      "       Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
      "              8.85              5.04              4.02              5.04\n"
      "# OSU MPI Latency Test v5.8\n# Size          Latency (us)\n1  1.61\n",
      "x");
  ASSERT_EQ(documents.size(), 1U);
  EXPECT_EQ(json_of(documents[0])["error"], nullptr);
  EXPECT_THAT(json_of(documents[0])["notes"].dump(),
              has_all("MPI Init", "max: 67 ms", "MPI Hello World", "12.57", "4.02"));
}

TEST(Imported, OsuCollectivesKeepIterationsAndWhatWasValidated) {
  const auto body =
      json_of(parse_documents("# OSU MPI-CUDA Allreduce Latency Test v7.5\n"
                              "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  "
                              "Iterations        Validation\n"
                              "8    128.73   24.80   158.96   1000   Pass\n"
                              "16   128.73   24.80   158.96   100   Pass\n",
                              "x")
                  .at(0));
  EXPECT_EQ(body["results"][0]["iterations"], 1000);
  EXPECT_EQ(body["results"][1]["iterations"], 100);
  EXPECT_EQ(body["results"][0]["mean_ns"].dump(), "128730.0");
  EXPECT_EQ(body["results"][0]["wrong"]["wrong_results"], 0);
  EXPECT_THAT(body["notes"].dump(), has_all("means over the ranks", "validated was right", "cuda"));
  const std::string page =
      report::to_markdown(parse_documents("# OSU MPI Allreduce Latency Test v7.5\n"
                                          "# Size       Avg Latency(us)\n8    128.73\n",
                                          "x"));
  EXPECT_THAT(page, testing::Not(HasSubstr("the longest that any rank took")));
}

TEST(Imported, OsuTellsWhereItsBuffersAre) {
  const auto row = [](const std::string& command, const std::string& title) {
    return json_of(
               parse_documents(command + "# OSU " + title +
                                   " Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n8  1.50\n",
                               "x")
                   .at(0))["results"]
        .at(0);
  };
  EXPECT_EQ(row("$ mpirun -n 2 osu_bw -d cuda D D\n", "MPI-CUDA")["memory"], "cuda, D D");
  EXPECT_EQ(row("$ mpirun -n 2 osu_bw -d cuda H D\n", "MPI-CUDA")["memory"], "cuda, H D");
  EXPECT_EQ(row("", "MPI-ROCM")["memory"], "rocm");
  EXPECT_FALSE(row("$ srun osu_bw H H\n", "MPI").contains("memory"));
  EXPECT_EQ(row("", "MPI")["depth"], nullptr) << "it does not say";
}

TEST(Imported, OsuOverNcclHasTheOperationsOfMpi) {
  const auto body = json_of(
      parse_documents("# OSU NCCL-CUDA Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n"
                      "1073741824          13482.19\n",
                      "x")
          .at(0));
  EXPECT_EQ(body["backend"], "nccl");
  EXPECT_EQ(body["results"][0]["operation"], "all-reduce");
}

TEST(Imported, TakesOsuWithinCommentsAndAsMarkdown) {
  const auto commented = parse_documents(
      "# Notes\n# - osu_bw on two instances:\n#   # OSU MPI Bandwidth Test v5.9\n"
      "#   # Size      Bandwidth (MB/s)\n#   1                       0.68\n#   2   1.37\n"
      "#\n## OSU MPI Bandwidth Test v5.9\n#   # Size      Bandwidth (MB/s)\n#   1   0.69\n",
      "x");
  ASSERT_EQ(commented.size(), 2U);
  EXPECT_EQ(json_of(commented[0])["results"].size(), 2U);
  EXPECT_EQ(json_of(commented[1])["results"].size(), 1U);
  const auto table = json_of(parse_documents("#### OSU MPI Bandwidth Test v5.6.2\n"
                                             "|Size           |Bandwidth (MB/s)   |\n"
                                             "|---------------|-------------------|\n"
                                             "|1              |4.94               |   \n"
                                             "|2              |10.04              |\n",
                                             "x")
                                 .at(0));
  ASSERT_EQ(table["results"].size(), 2U);
  EXPECT_EQ(table["results"][1]["operation"], "send");
  EXPECT_DOUBLE_EQ(table["results"][1]["bits_per_s"], 10.04e6 * 8);
}

TEST(Imported, OsuHasNoServer) {
  const auto body = json_of(parse_documents("# OSU MPI Bandwidth Test v5.9\n", "x").at(0));
  EXPECT_EQ(body["error"], "it has no row: the run failed");
}

TEST(Imported, AHeadingOfFabtestsWithoutTimesIsReadFromItsRates) {
  const auto body =
      json_of(parse_documents("[rank 1] bytes   #sent   #ack     total       time     MB/sec\n"
                              "[rank 1] 64      10      =10      1.2k        0.00s      1.60\n",
                              "x")
                  .at(0));
  EXPECT_EQ(body["test"], "latency");
  EXPECT_DOUBLE_EQ(body["results"][0]["mean_ns"], 40000);
  EXPECT_THAT(body["notes"].dump(), HasSubstr("computed from MB/sec"));
}

TEST(Imported, ARunOfFabtestsThatFailedBehindAnotherIsARun) {
  const auto documents = parse_documents(
      "$ build/bin/fi_pingpong -p tcp -e msg\n"
      "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "64      10      =10      1.2k        0.00s      2.69      23.75       0.04\n"
      "$ build/bin/fi_pingpong -p tcp -e msg -d eno1\n"
      "fi_getinfo(): util/pingpong.c:1433, ret=-61 (No data available)\n",
      "x");
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(json_of(documents[0])["error"], nullptr);
  EXPECT_THAT(json_of(documents[1])["error"], HasSubstr("No data available"));
}

TEST(Imported, SizesThatFabtestsRoundsAreThoseOfTheCommandOrSaid) {
  const std::string table =
      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
      "95m     200     18g         1.27s  15763.98    6343.58       0.00\n";
  const auto told = json_of(
      parse_documents("./x/fi_msg_bw -p verbs -S 100000000 -d mlx5_0\n" + table, "x").at(0));
  EXPECT_EQ(told["results"][0]["size_bytes"], 100000000);
  const auto rounded = json_of(parse_documents(table, "x", "fi_msg_bw").at(0));
  EXPECT_THAT(rounded["notes"].dump(), has_all("rounds sizes down", "95m", "100 million bytes"));
}

TEST(Imported, FabtestsWriteSaysThatBothWaysRanAndWhichMemory) {
  const auto body = json_of(
      parse_documents("$ ./fi_rma_bw -p efa -o write -E -D cuda -S all n1\n"
                      "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                      "4k      20k     78m         0.03s   3068.05       1.34       0.75\n",
                      "x")
          .at(0));
  EXPECT_EQ(body["results"][0]["memory"], "cuda");
  EXPECT_THAT(body["notes"].dump(), HasSubstr("both ways at once"));
}

TEST(Imported, ARefusalNamesTheToolsThatAreRead) {
  EXPECT_THAT(refusal_to_import("Event queue read -259\n", "x"),
              has_all("neither JSON", "perftest", "OSU", "fabtests"));
}

TEST(Imported, ATableOfFabtestsThatFailedBeforeItsFirstRowIsARunWhicheverItWas) {
  const auto body = json_of(
      parse_documents("name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer\n"
                      "Event queue read -259 (Error available)\n",
                      "x")
          .at(0));
  EXPECT_EQ(body["error"], "Event queue read -259 (Error available)");
  EXPECT_TRUE(body["results"].empty());
}

TEST(Imported, SmallMessagesOfNcclTestsHaveTheRateOfTheirTime) {
  const auto rows =
      json_of(parse_documents(
                  "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
                  "8 2 float sum -1 10.00 0.00 0.00 0 10.00 0.00 0.00 0\n"
                  "1024 256 float sum -1 0.50 9.99 0.01 0 10.00 0.10 0.18 0\n"
                  "1000000000 250000000 float sum -1 10000 100.00 175.00 0 10000 100.00 175.00 0\n",
                  "x", "all_reduce_perf")
                  .at(0))["results"];
  EXPECT_NEAR(rows[0]["algorithm_bytes_per_s"].get<double>(), 800e3, 1);
  EXPECT_NEAR(rows[0]["bus_bytes_per_s"].get<double>(), 1400e3, 1);
  EXPECT_DOUBLE_EQ(rows[2]["bus_bytes_per_s"], 0.01e9) << "which its time does not say";
  EXPECT_NEAR(rows[3]["bus_bytes_per_s"].get<double>(), 0.1792e9, 1);
  EXPECT_DOUBLE_EQ(rows[4]["bus_bytes_per_s"], 175e9);
}

TEST(Imported, TheFirstRowsOfFiPingpongHaveItsFirstMessage) {
  const auto notes = [](const std::string& count) {
    return json_of(parse_documents("bytes   #sent   #ack     total       time     MB/sec\n"
                                   "64      " +
                                       count + "      =" + count + "      1.2k  0.00s  1.60\n",
                                   "x")
                       .at(0))["notes"]
        .dump();
  };
  EXPECT_THAT(notes("10"), HasSubstr("one of the 10 that the mean of the first row is of"));
  EXPECT_THAT(notes("1k"), ::testing::Not(HasSubstr("first message")));
}

}  // namespace
}  // namespace rdmabench::inline v1::import
