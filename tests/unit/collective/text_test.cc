#include "rdmabench/collective/run.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "../has_all.h"

namespace rdmabench::inline v1::collective {
namespace {

using testing::HasSubstr;

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
