// RC by ibv_wr_post(3): the operations that nothing else posts.
#include <flush.h>

#include "messages.h"

namespace rdmabench::inline v1::transport::verbs::extended_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using ExtendedPair = PairOf<ExtendedEndpoint>;

// Of device_cap_flags_ex.
constexpr std::uint64_t kFlushes = std::uint64_t{1} << 38;
constexpr std::uint64_t kAtomicWrites = std::uint64_t{1} << 40;

fake_verbs::Device newer_device() {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.capabilities = kAtomicWrites | kFlushes;
  return device;
}

class ExtendedPosts : public OnFakeVerbs {
 protected:
  ExtendedPosts() { fake_verbs::reset({newer_device()}); }
};

/// Opened for `operation` and all that RC has besides.
EndpointRequest with(OperationCode operation) {
  EndpointRequest request = over(Service::automatic);
  request.operations.add(operation);
  return request;
}

TEST_F(ExtendedPosts, WriteAWordWhole) {
  ExtendedPair pair(with(OperationCode::atomic_write));
  const std::uint64_t at = pair.client.send_region().stride;
  word(pair.client.send_region(), 1) = 0x0123456789abcdef;
  ASSERT_EQ(pair.client.post<AtomicWrite>(at, at, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  EXPECT_EQ(word(pair.server.window(), 1), 0x0123456789abcdefU);
  EXPECT_THAT(pair.client.describe().details, Contains(Pair("post_api", "ibv_wr_*")));
}

TEST_F(ExtendedPosts, FollowAnyOtherOperation) {
  ExtendedPair pair(with(OperationCode::atomic_write));
  move_all(pair);
  ASSERT_EQ(pair.client.post<AtomicWrite>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
}

TEST_F(ExtendedPosts, FlushWhatWasWrittenBefore) {
  ExtendedPair pair(with(OperationCode::flush));
  fake_verbs::hold_writes(true);
  memory::fill_pattern(slot(pair.client.send_region(), 0, kSize), 9);
  ASSERT_EQ(pair.client.post<Write>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  EXPECT_FALSE(holds(slot(pair.server.window(), 0, kSize), 9));
  ASSERT_EQ(pair.client.post<Flush>(0, 0, kSize, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  EXPECT_TRUE(holds(slot(pair.server.window(), 0, kSize), 9));
}

TEST_F(ExtendedPosts, FlushAllPiecesOfAMessage) {
  EndpointRequest request = with(OperationCode::flush);
  request.options.segments = 3;
  ExtendedPair pair(request);
  ASSERT_EQ(pair.client.post<Flush>(0, 0, request.max_size, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  const std::uint64_t all_but_one = pair.client.peer_window_bytes() - request.max_size + 1;
  ASSERT_EQ(pair.client.post<Flush>(0, all_but_one, request.max_size, 0, Signal::now),
            PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);  // the last byte lies behind the window
}

TEST_F(ExtendedPosts, GoInlineButForSoftRoce) {
  EndpointRequest request = with(OperationCode::flush);
  request.options.inline_limit = 64;
  EXPECT_THAT(ExtendedPair(request).client.describe().details, Contains(Pair("inline", "64")));
  const SoftRoceFolder folder;
  fake_verbs::Device device = newer_device();
  device.sysfs = folder.path();
  fake_verbs::reset({device});
  EXPECT_THAT(ExtendedPair(request).client.describe().details,
              AllOf(Contains(Pair("inline", "0")),
                    Contains(Pair("reduced", HasSubstr("inline sends off")))));
}

TEST_F(ExtendedPosts, GoByLists) {
  EndpointRequest request = with(OperationCode::atomic_write);
  request.options.post_list = 3;
  ExtendedPair pair(request);
  word(pair.client.send_region(), 0) = 5;
  word(pair.client.send_region(), 1) = 6;
  const auto list = messages(pair.client.send_region(), 0, 3, 8);
  ASSERT_EQ(pair.client.post_list<AtomicWrite>(list, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), 1) << pair.client.failure();
  EXPECT_EQ(pair.client.completed(), 3U);
  EXPECT_EQ(word(pair.server.window(), 0), 5U);
  EXPECT_EQ(word(pair.server.window(), 1), 6U);
}

TEST_F(ExtendedPosts, RefuseAnotherLength) {
  ExtendedPair pair(with(OperationCode::atomic_write));
  EXPECT_EQ(pair.client.post<AtomicWrite>(0, 0, 4, 0, Signal::now), PostStatus::failed);
  EXPECT_THAT(pair.client.failure(), HasSubstr("atomic-write of 4 bytes"));
}

TEST_F(ExtendedPosts, AreRefusedByADeviceWithout) {
  fake_verbs::reset();
  const EndpointRequest request = with(OperationCode::atomic_write);
  const Error error = complaint([&] { ExtendedPair{request}; });
  EXPECT_EQ(error.fault(), Fault::unavailable);
  EXPECT_THAT(error.what(), HasSubstr("atomic-write on rxe0"));
  EXPECT_THAT(error.what(), HasSubstr("device_cap_flags_ex"));
}

TEST_F(ExtendedPosts, AreRefusedOverAnotherService) {
  EndpointRequest request = only(Service::xrc, OperationCode::atomic_write);
  request.max_size = 8;
  const Error error = complaint([&] { GeneralEndpoint(request, ""); });
  EXPECT_THAT(error.what(), HasSubstr("`operation` atomic-write over xrc"));
  EXPECT_THAT(error.what(), HasSubstr("Only RC has it"));
}

TEST_F(ExtendedPosts, EndAnEndpointWhereTheyFail) {
  ExtendedPair pair(with(OperationCode::atomic_write));
  fake_verbs::fail_message(IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(pair.client.post<AtomicWrite>(0, 0, 8, 0, Signal::now), PostStatus::posted);
  EXPECT_EQ(poll_once(pair.client), -1);
  EXPECT_THAT(pair.client.failure(), HasSubstr("10.0.0.1"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs::extended_test
