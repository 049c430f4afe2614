#include "rdmabench/collective/run.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "../has_all.h"
#include "collective/document.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Run sample() {
  Run run{.backend = "mpi", .library = {{"mpi", std::string("Open MPI")}}};
  run.ranks = {{.identity = {0, "n0", 1}}, {.identity = {1, "n1", 2}}};
  Row row{.call = {.operation = Operation::all_reduce, .count = 256},
          .size_bytes = 1024,
          .iterations = 20,
          .algorithm_bytes_per_s = 1e9,
          .bus_bytes_per_s = 1e9,
          .checked = true};
  row.numbers.time.count = 20;
  row.numbers.time.p50_ns = 1024;
  row.numbers.ranks.resize(2);
  row.numbers.arrivals.late = Late{.rank = 1, .share = 0.9, .by_ns = 500, .error_bound_ns = 20};
  row.results = {.operations = 50, .wrong_operations = 1, .wrong_elements = 3};
  row.first_wrong = WrongAt{1,
                            {.iteration = 7,
                             .offset_bytes = 64,
                             .run_bytes = 12,
                             .pattern = "zero",
                             .expected = "0x1",
                             .actual = "0x0"}};
  run.rows.push_back(row);
  Row skipped{.call = {.operation = Operation::broadcast, .type = DataType::half}};
  skipped.skipped = "no, \"never\"";
  run.rows.push_back(skipped);
  return run;
}

TEST(Text, TheTableSaysWhatIsWrongAndWhoIsLate) {
  const std::string text = to_table(sample());
  EXPECT_THAT(text, has_all("all-reduce float32 sum 1K: 3 wrong", "1 of 50",
                            "rank 1, iteration 7, byte 64 for 12 bytes", "zero, 0x0 for 0x1",
                            "rank 1 (n1) is late"));
  EXPECT_THAT(text, HasSubstr("last in 90 %"));
  EXPECT_THAT(text, HasSubstr("no, \"never\""));
}

/// Three rows of 8 bytes to 64 KiB, as they are finished.
std::vector<Run> growing() {
  Run run = sample();
  Row row = run.rows.front();
  row.first_wrong.reset();
  row.results = {.operations = 50};
  row.numbers.arrivals.late.reset();
  row.facts = {{"memory", std::string("own")}};
  run.rows.clear();
  std::vector<Run> all;
  for (const std::uint64_t size : {8, 1024, 65536}) {
    row.size_bytes = size;
    row.call.count = size / 4;
    row.numbers.time.p50_ns = static_cast<double>(size) * 100;
    run.rows.push_back(row);
    all.push_back(run);
  }
  return all;
}

std::vector<Call> calls_of(const Run& run) {
  std::vector<Call> calls;
  for (const Row& row : run.rows) calls.push_back(row.call);
  return calls;
}

TEST(Text, RowsComeAsTheyAreFinished) {
  auto runs = growing();
  const std::vector<Call> calls = calls_of(runs.back());
  RowsText rows(RowsText::As::table);
  const std::string first = rows.more(runs[0], calls, false);
  EXPECT_THAT(first, StartsWith("2 ranks on 2 hosts, by mpi. "));
  EXPECT_THAT(first, HasSubstr("\nEvery row\n"));
  EXPECT_THAT(first, HasSubstr("type float32, reduction sum"))
      << "what the calls have alike is known before they were measured";
  EXPECT_THAT(first, HasSubstr("all-reduce     8     0.80")) << "as wide as 64K will be";
  EXPECT_THAT(first, Not(HasSubstr("root")));
  EXPECT_THAT(rows.more(runs[1], calls, false), StartsWith("all-reduce    1K      102"));
  EXPECT_EQ(rows.more(runs[1], calls, false), "");
  runs[2].error = "rank 1 died";
  const std::string last = rows.more(runs[2], calls, true);
  EXPECT_THAT(last, StartsWith("all-reduce   64K     6554"));
  EXPECT_THAT(last, has_all("in every row: n 20, memory each operation has its own",
                            "\nENDED EARLY: rank 1 died\n", "\nThe library\n"));
  EXPECT_THAT(last, Not(HasSubstr("all-reduce     8")));
}

TEST(Text, RowsThatComeHaveTheirShareOfTheWireBelow) {
  auto runs = growing();
  RowsText rows(RowsText::As::table);
  EXPECT_THAT(rows.more(runs[0], calls_of(runs[0]), false), Not(HasSubstr("wire")));
  runs[0].rows[0].facts.push_back({"wire_share", 0.5});
  EXPECT_THAT(rows.more(runs[0], {}, true), has_all("Of the wire\n", "all-reduce", " 50 %\n"));
}

TEST(Text, CsvComesRowByRow) {
  const auto runs = growing();
  RowsText rows(RowsText::As::csv);
  std::string text = rows.more(runs[0], {}, false);
  EXPECT_THAT(text, StartsWith("operation,type,"));
  EXPECT_THAT(rows.more(runs[1], {}, false), StartsWith("all-reduce,float32,sum,,1024,"));
  RowsText again(RowsText::As::csv);
  text = again.more(runs[0], {}, false) + again.more(runs[2], {}, true);
  EXPECT_EQ(text, to_csv(runs[2]));
}

/// Connected over the kernel's sockets, by the library's log.
Run over_sockets() {
  Run run = growing().back();
  run.backend = "nccl";
  for (RankReport& rank : run.ranks) rank.facts = {{"rdma_devices", std::uint64_t{0}}};
  run.rows[0].facts.push_back({"routes", std::string("NET/Socket/0, SHM")});
  return run;
}

TEST(Text, SaysThatItWasNotRdma) {
  auto run = over_sockets();
  const std::string verdict =
      "NOT RDMA: measured over nccl, NET/Socket, no RDMA device on 2 of 2 nodes";
  EXPECT_EQ(not_rdma(run), verdict);
  EXPECT_THAT(to_table(run), StartsWith(verdict + "\n2 ranks on 2 hosts"));
  EXPECT_EQ(nlohmann::json::parse(to_json(run))["not_rdma"], verdict);
  RowsText rows(RowsText::As::table);
  EXPECT_THAT(rows.more(run, {}, false), StartsWith(verdict + "\n2 ranks on 2 hosts"));
  EXPECT_THAT(rows.more(run, {}, true), Not(HasSubstr("NOT RDMA")));

  run.rows[0].facts.clear();
  RowsText late(RowsText::As::table);
  EXPECT_THAT(late.more(run, {}, false), Not(HasSubstr("NOT RDMA"))) << "nobody knows it yet";
  run.ranks[1].facts = {{"routes", std::string("NET/Socket/1")}};
  EXPECT_THAT(late.more(run, {}, true), HasSubstr("no RDMA device on 1 of 2 nodes\n"));
}

TEST(Text, SaysNothingOfRdmaThatNobodyKnows) {
  auto run = over_sockets();
  run.config = {{"network", std::string("Socket")}};
  EXPECT_EQ(not_rdma(run), "") << "it was asked for";
  run.config.clear();
  run.rows[0].facts = {{"routes", std::string("NET/IB/0/GDRDMA")}};
  EXPECT_EQ(not_rdma(run), "");
  run.rows[0].facts = {{"routes_unknown", std::string("NCCL_DEBUG is set")}};
  run.ranks[0].facts.push_back({"network", std::string("Socket")});
  EXPECT_EQ(not_rdma(run), "") << "a network that is loaded need not be used";
  run = over_sockets();
  run.ranks[1].identity.host = run.ranks[0].identity.host;
  EXPECT_EQ(not_rdma(run), "") << "one node has no network to cross";
}

TEST(Text, JsonHasNullWhereThereIsNothing) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json["schema"], "rdmabench-coll/1");
  EXPECT_EQ(json["results"][0]["wrong"]["first"]["rank"], 1);
  EXPECT_EQ(json["results"][0]["root"], nullptr);
  EXPECT_EQ(json["results"][1]["p50_ns"], nullptr);
  EXPECT_EQ(json["results"][0]["median_level"], 0.95);
  EXPECT_EQ(json["results"][1]["median_level"], nullptr);
  EXPECT_EQ(json["results"][1]["skipped"], "no, \"never\"");
  EXPECT_EQ(json["error"], nullptr);
}

TEST(Text, CsvQuotes) {
  const std::string csv = to_csv(sample());
  EXPECT_THAT(csv, HasSubstr("\"no, \"\"never\"\"\""));
  EXPECT_THAT(csv, HasSubstr(",3,1,500\r\n"));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective
