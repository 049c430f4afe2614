#include "fabric/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../complaint.h"
#include "../folder.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Matrix sample() {
  Matrix matrix;
  matrix.plan.rails = {"mlx5_0", "mlx5_1"};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    matrix.nodes.push_back({.rank = rank,
                            .host = "host" + std::to_string(rank),
                            .rails = matrix.plan.rails,
                            .environment = {{"kernel", std::string("6.1")}, {"cpus", 8.5}}});
  }
  for (std::uint32_t receiver = 1; receiver < 3; ++receiver) {
    matrix.measurements.push_back({.round = 1,
                                   .pattern = "round-robin",
                                   .sender = 0,
                                   .receiver = receiver,
                                   .rail = 1,
                                   .metric = Metric::bandwidth,
                                   .size_bytes = 1U << 20,
                                   .value = 97.123456789e9 / receiver,
                                   .notes = {"a \"note\""}});
  }
  matrix.measurements.back().over = "verbs, provider mlx5, device mlx5_0:1";
  matrix.measurements.push_back({.round = 2,
                                 .pattern = "confirm",
                                 .sender = 2,
                                 .receiver = 1,
                                 .metric = Metric::latency,
                                 .size_bytes = 8,
                                 .value = 2345.5,
                                 .low = 2300,
                                 .high = 2400,
                                 .p99_ns = 4000,
                                 .line_bits_per_s = 2e11,
                                 .line_origin = "200 Gb/s",
                                 .confirming = true});
  matrix.measurements.push_back({.round = 2,
                                 .pattern = "round-robin",
                                 .sender = 1,
                                 .receiver = 0,
                                 .metric = Metric::latency,
                                 .size_bytes = 8,
                                 .error = "no completion for 5 s"});
  matrix.lost.push_back({.rank = 2, .round = 3, .reason = "no answer within 2.5 s"});
  return matrix;
}

TEST(Stream, WhatIsWrittenIsRead) {
  const std::string text = to_json_lines(sample());
  const Matrix read = matrix_from_json_lines(text);
  EXPECT_EQ(to_json_lines(read), text);
  ASSERT_THAT(read.measurements, SizeIs(4));
  EXPECT_EQ(read.measurements[0].value, sample().measurements[0].value);
  EXPECT_EQ(read.measurements[2].p99_ns, 4000);
  EXPECT_EQ(read.measurements[2].high, 2400);
  EXPECT_EQ(read.measurements[2].line_bits_per_s, 2e11);
  EXPECT_EQ(read.measurements[2].line_origin, "200 Gb/s");
  EXPECT_TRUE(read.measurements[2].confirming);
  EXPECT_EQ(read.measurements[1].over, "verbs, provider mlx5, device mlx5_0:1");
  EXPECT_EQ(read.lost[0].reason, "no answer within 2.5 s");
}

TEST(Stream, FilesFromBeforeTheTakenPathAreRead) {
  std::string text = to_json_lines(sample());
  for (std::size_t at = 0; (at = text.find("\"over\":null,")) != std::string::npos;) {
    text.erase(at, 12);
  }
  EXPECT_THAT(matrix_from_json_lines(text).measurements, SizeIs(4));
}

TEST(Stream, ALastLineThatIsCutShortIsLeftOut) {
  std::string text = to_json_lines(sample());
  text.resize(text.size() - 5);
  const Matrix read = matrix_from_json_lines(text);
  EXPECT_THAT(read.lost, SizeIs(0));
  EXPECT_THAT(read.measurements, SizeIs(4));
}

TEST(Stream, AnotherAttemptReplacesWhatItMeasuredAgainAndHasItsOwnLosses) {
  Matrix again = sample();
  again.lost.clear();
  again.measurements.resize(2);
  again.measurements[1].value = 5e9;
  const Matrix read = matrix_from_json_lines(to_json_lines(sample()) + to_json_lines(again));
  EXPECT_THAT(read.measurements, SizeIs(4));
  EXPECT_EQ(read.measurements[1].value, 5e9);
  EXPECT_THAT(read.lost, SizeIs(0));
}

TEST(Stream, AnythingElseIsRefusedByLine) {
  const std::string good = to_json_lines(sample());
  EXPECT_THAT(usage_complaint([] { matrix_from_json_lines(""); }), HasSubstr("no document"));
  EXPECT_THAT(usage_complaint([] { matrix_from_json_lines("{}\n"); }), HasSubstr("line 1"));
  EXPECT_THAT(usage_complaint([&] { matrix_from_json_lines(good + "nonsense\n"); }),
              HasSubstr("line 7"));
  std::string other = good;
  other.replace(other.find("fabric/1"), 8, "fabric/9");
  EXPECT_THAT(usage_complaint([&] { matrix_from_json_lines(other); }),
              HasSubstr("rdmabench-fabric/1"));
  std::string rank = good;
  rank.replace(rank.find("\"sender\":0"), 10, "\"sender\":7");
  EXPECT_THAT(usage_complaint([&] { matrix_from_json_lines(rank); }),
              has_all("\"sender\" is 7", "3 nodes"));
}

TEST(Stream, OnlyTheSameRunIsResumed) {
  const Matrix matrix = sample();
  check_resumable(matrix, matrix.plan, 3);
  check_hosts(matrix, matrix.nodes);
  FabricPlan plan = matrix.plan;
  plan.seed = 2;
  EXPECT_THAT(usage_complaint([&] { check_resumable(matrix, plan, 3); }),
              HasSubstr("another plan"));
  std::vector<Node> nodes = matrix.nodes;
  nodes[1].host = "elsewhere";
  EXPECT_THAT(usage_complaint([&] { check_hosts(matrix, nodes); }),
              HasSubstr("rank 1 was on host1"));
  nodes[1].host = "";  // it did not come this time
  check_hosts(matrix, nodes);
  EXPECT_THAT(usage_complaint([&] { check_resumable(matrix, matrix.plan, 2); }),
              HasSubstr("3 nodes"));
}

TEST(Stream, TheFileIsWholeAfterEveryRoundAndGoesOnWhereItWasCut) {
  const std::string path = ::testing::TempDir() + "/fabric_document_test.jsonl";
  const Matrix matrix = sample();
  {
    StreamFile file(path, StreamFile::Mode::replace);
    file.begin(matrix.plan, matrix.nodes);
    file.add(matrix.measurements[0]);
    file.end_round();
    EXPECT_THAT(read_stream(path).measurements, SizeIs(1));
  }
  std::ofstream(path, std::ios::app) << R"({"record":"measu)";
  {
    StreamFile file(path, StreamFile::Mode::append);
    file.begin(matrix.plan, matrix.nodes);
    file.add(matrix.measurements[1]);
    file.add(matrix.lost[0]);
    file.end(matrix, {});
  }
  const Matrix read = read_stream(path);
  EXPECT_THAT(read.measurements, SizeIs(2));
  EXPECT_THAT(read.lost, SizeIs(1));
  std::filesystem::remove(path);
  EXPECT_THAT(usage_complaint([&] { read_stream(path); }), HasSubstr(path));
  EXPECT_THROW(StreamFile("/no such folder/x", StreamFile::Mode::replace), Error);
}

TEST(Stream, IsNotWrittenThroughALinkOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives links away";
  const Folder folder;
  folder.write("victim", "victim's\ncut");
  const std::string path = folder.file("run.jsonl");
  std::filesystem::create_symlink(folder.file("victim"), path);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(lchown(path.c_str(), kNobody, kNobody), 0);
  EXPECT_THROW(StreamFile(path, StreamFile::Mode::replace), Error);
  EXPECT_THROW(StreamFile(path, StreamFile::Mode::append), Error);
  EXPECT_EQ(std::filesystem::file_size(folder.file("victim")), 12U);
}

TEST(Stream, AFullDiskIsTold) {
  StreamFile file("/dev/full", StreamFile::Mode::replace);
  file.add(sample().lost[0]);
  EXPECT_THROW(file.end_round(), Error);
}

TEST(Table, NamesTheWorstTheFailedAndTheLost) {
  Finding finding;
  finding.confirmed = true;
  finding.evidence = {"to node 1 and node 2"};
  finding.text = "node 0 sends slowly";
  Attribution verdict;
  verdict.findings.push_back(finding);
  verdict.not_judged.emplace_back("too few partners");
  const std::string text = to_table(sample(), verdict);
  EXPECT_THAT(text, HasSubstr("  node 0 sends slowly\n  to node 1 and node 2\n"
                              "  do first: run doctor\n"));
  EXPECT_THAT(text, HasSubstr("the verdict: not judged\n  too few partners\n"));
  Attribution judged;
  judged.typical.push_back({.metric = Metric::bandwidth, .size_bytes = 8, .value = 1, .cells = 4});
  judged.nodes.push_back({.metric = Metric::bandwidth, .size_bytes = 8, .verdict = Verdict::good});
  EXPECT_THAT(to_table(sample(), judged), HasSubstr("nothing stands out"));
  for (const Verdict open : {Verdict::ambiguous, Verdict::not_enough_evidence, Verdict::lost}) {
    judged.nodes.front().verdict = open;
    EXPECT_THAT(unjudged(judged), SizeIs(1)) << name(open);
    EXPECT_THAT(to_table(sample(), judged),
                AllOf(HasSubstr("SKIP the verdict: bandwidth 8\n  not judged"),
                      Not(HasSubstr("nothing stands out"))));
  }
  EXPECT_THAT(text, HasSubstr("Fabric of 3 nodes"));
  EXPECT_THAT(text, HasSubstr("node 0 (host0)  node 2 (host2)  mlx5_1"));
  EXPECT_THAT(
      text,
      HasSubstr("node 1 (host1) to node 0 (host0), mlx5_0, round 2: no completion for 5 s\n"));
  EXPECT_THAT(text, HasSubstr("node 2 (host2): node: lost in round 3\n  no answer"));
}

TEST(Table, KnowsWhichWayIsWorse) {
  Matrix matrix = sample();
  matrix.measurements.push_back(matrix.measurements[2]);
  matrix.measurements.back().confirming = false;
  const std::string text = to_table(matrix, {});
  EXPECT_THAT(text, HasSubstr("48.6      48.6         48.6        97.1\n"));
  EXPECT_THAT(text, HasSubstr("bandwidth    1M  node 0 (host0)  node 2 (host2) "));
  EXPECT_THAT(text, HasSubstr("   8      1       1         2.35 ")) << "one failed";
}

TEST(Table, CsvHasALineForEachMeasurement) {
  const std::string text = to_csv(sample());
  EXPECT_THAT(text, HasSubstr("1,round-robin,0,1,1,bandwidth,1048576,"));
  EXPECT_THAT(text, HasSubstr("\"a \"\"note\"\"\""));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
}

}  // namespace
}  // namespace rdmabench::inline v1::fabric
