#include "rdmabench/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rdmabench::inline v1 {
namespace {

TEST(Error, SaysWhatWasCalledWhyItFailedAndWhatToTry) {
  const Error error(Fault::failed, "ibv_reg_mr(1048576 bytes)", "Raise 'ulimit -l'.", ENOMEM);
  EXPECT_STREQ(error.what(),
               "ibv_reg_mr(1048576 bytes): Cannot allocate memory (ENOMEM). Raise 'ulimit -l'.");
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_EQ(error.code(), ENOMEM);
  EXPECT_EQ(error.remedy(), "Raise 'ulimit -l'.");
}

TEST(Error, LeavesOutWhatItWasNotGiven) {
  EXPECT_STREQ(Error(Fault::usage, "invalid size '3Q'").what(), "invalid size '3Q'");
  EXPECT_STREQ(Error(Fault::usage, "It is 3Q.", "Give a number.").what(),
               "It is 3Q. Give a number.");
}

TEST(Error, SaysFirstWhereItHappened) {
  const Error error(Fault::unavailable, "ibv_reg_mr()", "Raise it.", ENOMEM);
  const Error placed = error.at("at the server");
  EXPECT_EQ(placed.what(), std::string("at the server: ") + error.what());
  EXPECT_EQ(placed.fault(), Fault::unavailable);
  EXPECT_EQ(placed.code(), ENOMEM);
  EXPECT_EQ(placed.remedy(), "Raise it.");
}

TEST(Error, KeepsTheFailedCallForAProgram) {
  const Error error(Fault::failed, "ibv_reg_mr(8 bytes)", "", ENOMEM,
                    {.library = "libibverbs", .call = "ibv_reg_mr"});
  const Failure failure = error.at("at the server").failure();
  EXPECT_EQ(failure.library, "libibverbs");
  EXPECT_EQ(failure.call, "ibv_reg_mr");
  EXPECT_EQ(failure.code, ENOMEM);
}

TEST(Error, IsToldOfItsPeerOnce) {
  Error error(Fault::failed, "no answer");
  error.set_peer("node2:18515");
  error.set_peer("node3:18515");
  EXPECT_EQ(error.failure().peer, "node2:18515");
}

TEST(Error, ACancelIsOneByItsTypeAndItsFault) {
  try {
    throw Cancelled();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::cancelled);
    EXPECT_EQ(name(error.fault()), "cancelled");
    EXPECT_EQ(failure_of(error).fault, Fault::cancelled);
  }
  EXPECT_EQ(failure_of(std::runtime_error("of another library")).fault, Fault::failed);
}

TEST(AsciiOnly, JoinsLinesAndHidesWhatIsNotPrintable) {
  EXPECT_EQ(ascii_only("no back end\n  verbs: none\n\n ofi: none"),
            "no back end; verbs: none; ofi: none");
  EXPECT_EQ(ascii_only("a\tb\x1b[2J\xc3\xa9"), "a?b?[2J??");
  EXPECT_EQ(ascii_only("abcdef", 6), "abcdef");
  EXPECT_EQ(ascii_only("abcdefg", 6), "abcdef...");
  EXPECT_EQ(ascii_only("\n a\n"), "? a?");  // of a name, say: no lines to join
}

TEST(Error, NamesAnUnknownErrnoByItsNumber) {
  EXPECT_NE(errno_text(99999).find("99999"), std::string::npos);
}

}  // namespace
}  // namespace rdmabench::inline v1
