#include "verbs/setup_error.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "../complaint.h"
#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The soft limit on locked memory, for as long as this lives.
class Memlock {
 public:
  explicit Memlock(rlim_t bytes) {
    getrlimit(RLIMIT_MEMLOCK, &old_);
    const rlimit wanted{std::min(bytes, old_.rlim_max), old_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &wanted), 0);
  }
  ~Memlock() { setrlimit(RLIMIT_MEMLOCK, &old_); }
  Memlock(const Memlock&) = delete;
  Memlock& operator=(const Memlock&) = delete;

 private:
  rlimit old_{};
};

TEST(SetupTexts, HoldARowForEveryCall) {
  for (std::size_t i = 0; i < kSetupCalls; ++i) {
    const auto call = static_cast<SetupCall>(i);
    const std::string_view text = name(call);
    EXPECT_TRUE(text.starts_with("ibv_") || text.starts_with("rdma_") || call == SetupCall::any)
        << text;
    EXPECT_TRUE(std::any_of(setup_texts().begin(), setup_texts().end(), [&](const SetupText& row) {
      return row.call == call;
    })) << text;
  }
  EXPECT_EQ(name(static_cast<SetupCall>(200)), "any call");
}

TEST(SetupTexts, SayTheirPartOnce) {
  std::set<std::pair<SetupCall, int>> seen;
  for (const SetupText& row : setup_texts()) {
    const auto where = testing::Message() << name(row.call) << " " << strerrorname_np(row.code);
    EXPECT_TRUE(seen.insert({row.call, row.code}).second) << where;
    EXPECT_FALSE(row.causes.empty()) << where;
    EXPECT_FALSE(row.causes.ends_with('.')) << where;
    EXPECT_TRUE(row.remedy.ends_with('.')) << where;
    EXPECT_NE(strerrorname_np(row.code), nullptr) << where;
  }
}

TEST(SetupTexts, OfACallGoBeforeThoseOfAnyCall) {
  EXPECT_EQ(find_setup_text(SetupCall::create_cq, EINVAL)->call, SetupCall::create_cq);
  EXPECT_EQ(find_setup_text(SetupCall::create_cq, EIO)->call, SetupCall::any);
  EXPECT_EQ(find_setup_text(SetupCall::create_cq, EXDEV), nullptr);
  EXPECT_THAT(setup_remedy(SetupCall::create_cq, EXDEV), HasSubstr("dmesg"));
}

TEST(SetupError, SaysCallErrnoCausesAndRemedyInThisOrder) {
  const Error error = setup_error(SetupCall::connect, "rdma_connect(10.0.0.2:18515)", ECONNREFUSED);
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_EQ(error.code(), ECONNREFUSED);
  EXPECT_EQ(error.failure().library, "librdmacm");
  EXPECT_EQ(error.failure().call, "rdma_connect");
  const Error to_ready = setup_error(SetupCall::modify_qp_rtr, "ibv_modify_qp(...)", EINVAL);
  EXPECT_EQ(to_ready.failure().library, "libibverbs");
  EXPECT_EQ(to_ready.failure().call, "ibv_modify_qp");
  EXPECT_THAT(error.what(), has_all("rdma_connect(10.0.0.2:18515)", "ECONNREFUSED",
                                    "'rdmabench serve'", "firewall"));
}

TEST(SetupError, NamesTheLimitOnLockedMemory) {
  const Memlock limit(64 * 1024);
  for (const SetupCall call : {SetupCall::create_srq, SetupCall::create_qp, SetupCall::create_cq}) {
    EXPECT_THAT(setup_remedy(call, ENOMEM),
                has_all("(locked memory is limited to 64 KiB", "ulimit -l", "LimitMEMLOCK="))
        << name(call);
  }
  EXPECT_THAT(setup_remedy(SetupCall::create_srq, EFAULT), Not(HasSubstr("ulimit -l")));
}

TEST(SetupError, NamesTheLimitOnOpenFiles) {
  EXPECT_THAT(setup_remedy(SetupCall::create_comp_channel, EMFILE), HasSubstr("(open files are "));
}

TEST(DeviceFile, IsMissingOrOpen) {
  EXPECT_EQ(look_at("/dev/infiniband/uverbs-none").text,
            "/dev/infiniband/uverbs-none does not exist");
  EXPECT_TRUE(look_at("/dev/null").open);
  EXPECT_EQ(look_at("/dev/null").text, "/dev/null is accessible to this user");
}

TEST(DeviceFile, OfAnotherUserIsClosed) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "closed_uverbs";
  std::ofstream(file) << "x";
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const DeviceFile found = look_at(file);
  std::filesystem::remove(file);
  if (geteuid() == 0) GTEST_SKIP() << "root may open everything";
  EXPECT_FALSE(found.open);
  EXPECT_THAT(found.text, has_all("is not accessible to user", "mode 0000"));
}

class OnADevice : public testing::Test {
 protected:
  OnADevice() {
    fake_verbs::reset();
    context_ = open_device("rxe0");
  }

  Context context_;
};

TEST_F(OnADevice, ACompletionQueueNamesTheDevicesLimit) {
  fake_verbs::fail(fake_verbs::Call::create_cq, 1, EINVAL);
  const Error error = complaint([&] { create_completion_queue(*context_, 70000); });
  EXPECT_THAT(error.what(), has_all("ibv_create_cq(rxe0, 70000 entries): Invalid argument",
                                    "(the device's max_cqe is 4096)", "Lower `depth`"));
}

TEST_F(OnADevice, AQueuePairNamesTheDevicesLimit) {
  EXPECT_THAT(setup_remedy(SetupCall::create_qp, EINVAL, {.context = context_.get()}),
              HasSubstr("the device's max_qp_wr is 1024"));
  EXPECT_THAT(setup_remedy(SetupCall::modify_qp_rts, EINVAL, {.context = context_.get()}),
              HasSubstr("max_qp_init_rd_atom is 128"));
}

TEST_F(OnADevice, LimitsThatCannotBeAskedForAreLeftOut) {
  fake_verbs::fail(fake_verbs::Call::query_device, 1, EIO);
  EXPECT_THAT(setup_remedy(SetupCall::create_cq, EINVAL, {.context = context_.get()}),
              AllOf(HasSubstr("Likely: more entries"), Not(HasSubstr("max_cqe"))));
}

TEST_F(OnADevice, AProtectionDomainIsExplained) {
  fake_verbs::fail(fake_verbs::Call::alloc_pd, 1, ENOMEM);
  EXPECT_THAT(complaint([&] { allocate_protection_domain(*context_); }).what(),
              has_all("ibv_alloc_pd(rxe0)", "rdma resource show"));
}

TEST_F(OnADevice, ThatCannotBeOpenedItsFileIsLookedAt) {
  for (const int code : {ENOENT, EACCES, EPERM, ENODEV, ENXIO}) {
    fake_verbs::fail(fake_verbs::Call::open_device, 1, code);
    const Error error = complaint([] { open_device("rxe0"); });
    EXPECT_EQ(error.fault(), Fault::unavailable);
    EXPECT_THAT(error.what(),
                has_all("/dev/infiniband/uverbs-fake does not exist", "--device=/dev/infiniband"));
  }
}

TEST_F(OnADevice, AnEmptyGidIsExplained) {
  fake_verbs::fail(fake_verbs::Call::query_gid, 1, ENODATA);
  EXPECT_THAT(complaint([&] { query_gid(*context_, 1, 9); }).what(),
              has_all("index 9", "another `gid_index`"));
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
