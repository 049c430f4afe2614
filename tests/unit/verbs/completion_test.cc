#include "verbs/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "../has_all.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::HasSubstr;

TEST(Explain, KnowsEveryStatusByItsName) {
  std::set<std::string_view> names;
  for (int status = IBV_WC_SUCCESS; status <= IBV_WC_TM_RNDV_INCOMPLETE; ++status) {
    const StatusText text = explain(static_cast<ibv_wc_status>(status));
    EXPECT_TRUE(text.name.starts_with("IBV_WC_")) << status;
    EXPECT_FALSE(text.meaning.empty()) << text.name;
    EXPECT_EQ(text.causes.empty(), status == IBV_WC_SUCCESS) << text.name;
    for (const std::string_view sentences : {text.causes, text.remedy}) {
      EXPECT_TRUE(sentences.empty() || sentences.ends_with('.')) << text.name;
    }
    names.insert(text.name);
  }
  EXPECT_EQ(names.size(), IBV_WC_TM_RNDV_INCOMPLETE + 1U);
}

TEST(Explain, SurvivesAStatusOfTheFuture) {
  EXPECT_EQ(explain(static_cast<ibv_wc_status>(31)).name, "unknown status");
}

TEST(CompletionText, NamesStatusVendorErrorAndWhatToLookAt) {
  ibv_wc failed{};
  failed.status = IBV_WC_RETRY_EXC_ERR;
  failed.vendor_err = 0x81;
  EXPECT_THAT(to_text(failed), has_all("IBV_WC_RETRY_EXC_ERR = 12", "0x81", "`gid_index`", "MTU"));
}

TEST(CompletionText, OfAFullFabricNamesWhatAnEngineerWouldCheckFirst) {
  const auto text = [](ibv_wc_status status) {
    ibv_wc failed{};
    failed.status = status;
    return to_text(failed);
  };
  EXPECT_THAT(text(IBV_WC_RETRY_EXC_ERR), has_all("4791", "partition keys", "ping -I"));
  EXPECT_THAT(text(IBV_WC_RNR_RETRY_EXC_ERR), has_all("SIGSTOP", "`depth`"));
  EXPECT_THAT(text(IBV_WC_REM_ACCESS_ERR), has_all("remote key", "atomic"));
  EXPECT_THAT(text(IBV_WC_LOC_QP_OP_ERR), HasSubstr("`inline_limit` of 0"));
  EXPECT_THAT(text(IBV_WC_LOC_LEN_ERR), has_all("UD", "MTU"));
  EXPECT_THAT(text(IBV_WC_WR_FLUSH_ERR), HasSubstr("first failure"));
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
