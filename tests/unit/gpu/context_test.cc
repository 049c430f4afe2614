#include "gpu/context.h"

#include <optional>

#include "gpu/allocation.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using ContextTest = GpuTest;

TEST_F(ContextTest, HoldsThePrimaryContextAsLongAsAnythingNeedsIt) {
  std::optional<Context> context(1);
  EXPECT_EQ(context->device().ordinal, 1);
  EXPECT_EQ(fake_cuda_alive("context"), 1);
  {
    const Allocation memory(*context, 100);
    context.reset();
    EXPECT_EQ(fake_cuda_alive("context"), 1);
  }
  expect_nothing_alive();
}

TEST_F(ContextTest, IsCurrentForAScopeAndThenWhatWasBefore) {
  const Context outer(0);
  const Context inner(1);
  outer.make_current();
  {
    const CurrentContext current(inner);
    EXPECT_EQ(Allocation(inner, 1).context().get(), inner.get());
  }
  CUctx_st* popped = nullptr;
  EXPECT_EQ(driver().ctx_pop_current(&popped), cuda::kSuccess);
  EXPECT_EQ(popped, outer.get());
}

TEST_F(ContextTest, SaysThatThereIsNoSuchDevice) {
  const Error error = complaint([] { Context(7); });
  EXPECT_EQ(error.fault(), Fault::usage);
  EXPECT_THAT(error.what(), HasSubstr("'7'"));
}

TEST_F(ContextTest, NamesTheCallThatFailed) {
  pretend("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain:1:2");
  EXPECT_THAT(complaint([] { Context(0); }).what(), HasSubstr("cuDevicePrimaryCtxRetain(cuda:0"));
  pretend("FAKE_CUDA_FAIL", "cuCtxSetCurrent:1:201");
  EXPECT_THAT(complaint([] { Context(0).make_current(); }).what(), HasSubstr("cuCtxSetCurrent"));
  pretend("FAKE_CUDA_FAIL", "cuCtxPushCurrent_v2:1:201");
  EXPECT_THAT(complaint([] { Allocation(Context(0), 1); }).what(), HasSubstr("cuCtxPushCurrent"));
  expect_nothing_alive();
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu
