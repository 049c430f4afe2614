#include "perftest/flag_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace rdmabench::inline v1::tools::perftest {
namespace {

std::vector<const Flag*> all_flags() {
  std::vector<const Flag*> flags;
  for (const FlagGroup& group : flag_groups()) {
    for (const Flag& flag : group.flags) flags.push_back(&flag);
  }
  return flags;
}

TEST(FlagTable, NamesAndLettersAreUnique) {
  std::set<std::string_view> names;
  std::set<char> letters;
  for (const Flag* flag : all_flags()) {
    EXPECT_TRUE(names.insert(flag->name).second) << flag->name;
    EXPECT_TRUE(flag->letter == '\0' || letters.insert(flag->letter).second) << flag->name;
  }
}

// Counted in the two releases' getopt tables.
TEST(FlagTable, HoldsEveryFlagOfBothReleases) {
  std::size_t in_old = 0;
  std::size_t in_new = 0;
  for (const Flag* flag : all_flags()) {
    if (flag->release != Release::new_only) ++in_old;
    if (flag->release != Release::old_only) ++in_new;
  }
  EXPECT_EQ(in_old, 117U);
  EXPECT_EQ(in_new, 156U);
}

TEST(FlagTable, EveryRowSaysWhatBecomesOfIt) {
  for (const Flag* flag : all_flags()) {
    EXPECT_FALSE(flag->text.empty()) << flag->name;
    EXPECT_FALSE(flag->exercised.empty()) << flag->name;
    const bool own = flag->name == "help" || flag->name == "version";
    EXPECT_EQ(flag->set != nullptr || run::find_option(flag->option) != nullptr,
              flag->handling == Handling::mapped && !own)
        << flag->name;
    if (flag->handling == Handling::refused) {
      EXPECT_EQ(flag->text.back(), '.') << flag->name << ": a remedy is a whole sentence";
    }
  }
}

TEST(Tool, IsFoundByTheLastPartOfAPath) {
  ASSERT_NE(find_tool_in(tools(), "/usr/bin/ib_write_bw"), nullptr);
  EXPECT_EQ(find_tool_in(tools(), "/usr/bin/ib_write_bw")->name, "ib_write_bw");
  EXPECT_EQ(find_tool_in(tools(), "./ib_send_lat")->operation, transport::OperationCode::send);
  EXPECT_TRUE(find_tool_in(tools(), "ib_atomic_lat")->latency);
  EXPECT_EQ(find_tool_in(tools(), "rdmabench"), nullptr);
  EXPECT_EQ(find_tool_in(tools(), "ib_write"), nullptr);
  EXPECT_EQ(find_tool_in(tools(), "ib_write_bw/"), nullptr);
  EXPECT_EQ(find_tool_in(tools(), ""), nullptr);
}

TEST(Tool, SetsReadAsWords) {
  EXPECT_EQ(to_text(kAll), "all");
  EXPECT_EQ(to_text(kBw), "bw");
  EXPECT_EQ(to_text(kSend | kWrite), "send write");
  EXPECT_EQ(to_text(kWriteBw | kReadBw), "write_bw read_bw");
}

}  // namespace
}  // namespace rdmabench::inline v1::tools::perftest
