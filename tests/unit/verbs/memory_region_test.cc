#include "rdmabench/verbs/handles.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>

#include "../complaint.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::inline v1::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Memory : public testing::Test {
 protected:
  Memory() {
    fake_verbs::reset();
    context_ = open_device("rxe0");
    domain_ = allocate_protection_domain(*context_);
  }

  std::array<std::byte, 4096> bytes_{};
  Context context_;
  ProtectionDomain domain_;
};

TEST_F(Memory, IsRegisteredWhole) {
  const MemoryRegion region = register_memory(*domain_, bytes_, Access::window);
  EXPECT_EQ(region->addr, bytes_.data());
  EXPECT_EQ(region->length, bytes_.size());
}

TEST_F(Memory, ThatCannotBeLockedNamesTheLimit) {
  rlimit old{};
  getrlimit(RLIMIT_MEMLOCK, &old);
  rlimit low = old;
  low.rlim_cur = std::min<rlim_t>(64 * 1024, old.rlim_max);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &low), 0);
  fake_verbs::fail(fake_verbs::Call::reg_mr, 1, ENOMEM);
  const Error error = complaint([&] { register_memory(*domain_, bytes_, Access::local); });
  setrlimit(RLIMIT_MEMLOCK, &old);
  EXPECT_THAT(error.what(), has_all("ibv_reg_mr(4096 bytes)", "ENOMEM", "64 KiB", "ulimit -l"));
}

TEST_F(Memory, ThatFailsForAnotherReasonDoesNotBlameTheLimit) {
  fake_verbs::fail(fake_verbs::Call::reg_mr, 1, EFAULT);
  const Error error = complaint([&] { register_memory(*domain_, bytes_, Access::local); });
  EXPECT_THAT(error.what(), AllOf(HasSubstr("EFAULT"), Not(HasSubstr("ulimit"))));
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
