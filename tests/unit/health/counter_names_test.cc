#include "health/counter_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace rdmabench::inline v1::health {
namespace {

using ::testing::HasSubstr;

/// What docs/counters.md holds between its marks.
std::string tables() {
  std::ostringstream text;
  text << "| name | class | what |\n|---|---|---|\n";
  for (const NeutralName& row : neutral_names()) {
    if (row.kind == CounterClass::gauge) continue;
    text << "| `" << row.name << "` | " << name(row.kind) << " | " << row.meaning << " |\n";
  }
  text << "\n| driver | file | name |\n|---|---|---|\n";
  for (const CounterFile& row : counter_files()) {
    if (find_neutral(row.neutral)->kind == CounterClass::gauge) continue;
    text << "| " << row.driver << " | `" << row.file << "` | `" << row.neutral << "` |\n";
  }
  return text.str();
}

TEST(CounterNames, AreThoseOfTheDocument) {
  std::ifstream file(RDMABENCH_SOURCE_DIR "/docs/counters.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(document, HasSubstr("<!-- begin -->\n" + tables() + "<!-- end -->\n"));
}

TEST(CounterNames, AreEachThereOnce) {
  std::set<std::string_view> names;
  for (const NeutralName& row : neutral_names()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
  std::set<std::pair<std::string_view, std::string_view>> files;
  for (const CounterFile& row : counter_files()) {
    EXPECT_TRUE(files.insert({row.driver, row.file}).second) << row.driver << " " << row.file;
    EXPECT_NE(find_neutral(row.neutral), nullptr) << row.neutral;
    names.erase(row.neutral);
  }
  for (const std::string_view name : names) ADD_FAILURE() << "no driver has " << name;
}

TEST(CounterNames, FallBackToMlx5ForOtherHardware) {
  EXPECT_EQ(find_counter("rxe", "rcvd_seq_err")->neutral, "sequence_naks_received");
  EXPECT_EQ(find_counter("bnxt_re", "to_retransmits")->neutral, "ack_timeouts");
  EXPECT_EQ(find_counter("bnxt_re", "local_ack_timeout_err")->neutral, "ack_timeouts");
  EXPECT_EQ(find_counter("hns", "out_of_sequence")->neutral, "out_of_sequence_received");
  ASSERT_NE(find_counter("hns", "tx_uc_pkt"), nullptr);
  EXPECT_EQ(find_counter("hns", "tx_uc_pkt")->neutral, "sent_packets");
  EXPECT_EQ(find_counter("net", "out_of_sequence"), nullptr);
  EXPECT_EQ(find_counter("mlx5", "no_such_file"), nullptr);
}

TEST(CounterNames, AllClassesButGaugesAreReported) {
  for (const NeutralName& row : neutral_names()) {
    EXPECT_EQ(is_reported_class(name(row.kind)), row.kind != CounterClass::gauge);
  }
  EXPECT_FALSE(is_reported_class(""));
  EXPECT_FALSE(is_reported_class("Traffic"));
}

}  // namespace
}  // namespace rdmabench::inline v1::health
