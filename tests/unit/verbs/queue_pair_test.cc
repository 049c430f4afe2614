#include "verbs/queue_pair.h"

#include <fake_verbs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "../complaint.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::inline v1::verbs {
namespace {

using fake_verbs::Call;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueuePairs : public testing::Test {
 protected:
  QueuePairs() { open(fake_verbs::soft_roce()); }
  ~QueuePairs() override { close(); }

  void open(const fake_verbs::Device& device) {
    close();
    fake_verbs::reset({device});
    context_ = open_device(device.name);
    domain_ = allocate_protection_domain(*context_);
    completions_ = create_completion_queue(*context_, 16);
  }
  void close() {
    completions_.reset();
    domain_.reset();
    context_.reset();
  }

  SizedQueuePair create(std::uint32_t inline_bytes) { return create(IBV_QPT_RC, inline_bytes); }

  SizedQueuePair create(ibv_qp_type type, std::uint32_t inline_bytes = 0) {
    return create_queue_pair(*domain_, {.type = type,
                                        .send_completions = completions_.get(),
                                        .receive_completions = completions_.get(),
                                        .sends = 4,
                                        .receives = 4,
                                        .inline_bytes = inline_bytes});
  }

  Context context_;
  ProtectionDomain domain_;
  CompletionQueue completions_;
};

TEST_F(QueuePairs, TakeTheInlineDataTheDeviceGives) {
  EXPECT_EQ(create(220).inline_bytes, 220U);
}

TEST_F(QueuePairs, AreCreatedWithAsMuchInlineDataAsTheDeviceTakes) {
  for (const std::uint32_t limit : {0U, 1U, 32U, 64U, 96U, 101U, 219U}) {  // 96: bnxt_re, 101: E810
    fake_verbs::Device device = fake_verbs::soft_roce();
    device.max_inline = limit;
    open(device);
    EXPECT_EQ(create(220).inline_bytes, limit);
    EXPECT_LE(fake_verbs::calls(Call::create_qp), 10);
  }
}

TEST_F(QueuePairs, AreMadeSmallerWhereTheDeviceCountsBlocks) {
  fake_verbs::Device device = fake_verbs::mlx5();
  device.max_qp_wr = 32;
  device.request_header = 192;  // of RC in libmlx5: with a segment, four blocks of 64 bytes
  open(device);
  const auto sized = [&](std::uint32_t sends, std::uint32_t receives, std::uint32_t inline_bytes) {
    const SizedQueuePair made =
        create_queue_pair(*domain_, {.send_completions = completions_.get(),
                                     .receive_completions = completions_.get(),
                                     .sends = sends,
                                     .receives = receives,
                                     .inline_bytes = inline_bytes});
    return std::vector{made.sends, made.receives, made.inline_bytes};
  };
  EXPECT_THAT(sized(8, 8, 0), ElementsAre(8, 8, 0));
  EXPECT_THAT(sized(32, 4, 0), ElementsAre(8, 4, 0));
  EXPECT_THAT(sized(32, 32, 0), ElementsAre(8, 32, 0)) << "receives are no blocks";
  EXPECT_THAT(sized(8, 64, 0), ElementsAre(8, 32, 0));
  EXPECT_THAT(sized(4, 64, 220), ElementsAre(4, 32, 220));
  EXPECT_THAT(sized(8, 8, 220), ElementsAre(8, 8, 60));
  EXPECT_THAT(sized(16, 4, 220), ElementsAre(8, 4, 60));
  EXPECT_THAT(sized(4, 8, 220), ElementsAre(4, 8, 220));
}

TEST_F(QueuePairs, ThatCannotBeCreatedSayWhatWasAskedFor) {
  fake_verbs::fail(Call::create_qp, 1, ENOMEM);
  const Error error = complaint([&] { create(0); });
  EXPECT_EQ(error.code(), ENOMEM);
  EXPECT_THAT(error.what(), has_all("rxe0", "4 sends", "max_qp_wr is 1024", "ulimit -l"));
}

TEST_F(QueuePairs, AreConnectedWithTheWholeAddress) {
  const SizedQueuePair sized = create(0);
  initialize(*sized.queue_pair, 1);
  connect(*sized.queue_pair, {.port = 1,
                              .gid_index = 1,
                              .global = true,
                              .mtu = 1024,
                              .local_psn = 11,
                              .remote_psn = 22,
                              .remote_qpn = 33,
                              .remote_lid = 0,
                              .remote_gid = *parse_gid("10.0.0.2"),
                              .reads_out = 5,
                              .reads_in = 6});
  const ibv_qp_attr given = fake_verbs::attributes(sized.queue_pair->qp_num);
  EXPECT_EQ(given.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(given.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(given.sq_psn, 11U);
  EXPECT_EQ(given.rq_psn, 22U);
  EXPECT_EQ(given.dest_qp_num, 33U);
  EXPECT_EQ(given.max_rd_atomic, 5);
  EXPECT_EQ(given.max_dest_rd_atomic, 6);
  EXPECT_EQ(given.timeout, 14);
  EXPECT_EQ(given.retry_cnt, 6);  // 7 is endless on Soft-RoCE
  EXPECT_EQ(given.rnr_retry, 7);
  EXPECT_EQ(given.ah_attr.is_global, 1);
  EXPECT_EQ(given.ah_attr.grh.sgid_index, 1);
  EXPECT_EQ(given.ah_attr.grh.dgid.raw[15], 2);
  EXPECT_EQ(given.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ});
}

TEST_F(QueuePairs, OnInfiniBandAreConnectedByLid) {
  open({.name = "mlx5_0",
        .ports = {{.link_layer = IBV_LINK_LAYER_INFINIBAND,
                   .lid = 7,
                   .gids = {{0, "fe80::5", IBV_GID_TYPE_IB}}}}});
  const SizedQueuePair sized = create(0);
  initialize(*sized.queue_pair, 1);
  connect(*sized.queue_pair, {.mtu = 4096, .remote_qpn = 33, .remote_lid = 9});
  const ibv_qp_attr given = fake_verbs::attributes(sized.queue_pair->qp_num);
  EXPECT_EQ(given.ah_attr.dlid, 9);
  EXPECT_EQ(given.ah_attr.is_global, 0);
}

TEST_F(QueuePairs, SayWhichStepFailed) {
  const std::string steps[] = {"to INIT", "to RTR", "to RTS"};
  for (int step = 0; step < 3; ++step) {
    const SizedQueuePair sized = create(0);
    fake_verbs::fail(Call::modify_qp, step + 1, ETIMEDOUT);
    const Error error = complaint([&] {
      initialize(*sized.queue_pair, 1);
      connect(*sized.queue_pair, {.gid_index = 1, .global = true, .mtu = 1024, .remote_qpn = 33});
    });
    EXPECT_EQ(error.code(), ETIMEDOUT);
    EXPECT_THAT(error.what(), HasSubstr(steps[step]));
  }
}

TEST_F(QueuePairs, CarryThePathOptions) {
  const SizedQueuePair sized = create(0);
  initialize(*sized.queue_pair, 1, 3, {.more = IBV_ACCESS_REMOTE_ATOMIC});
  const PathAttributes path{.partition_index = 3,
                            .service_level = 5,
                            .traffic_class = 106,
                            .hop_limit = 9,
                            .flow_label = 0xabcde,
                            .timeout = 18,
                            .retries = 3,
                            .rnr_retries = 2,
                            .rnr_timer = 20};
  connect(*sized.queue_pair,
          {.gid_index = 1, .global = true, .mtu = 1024, .remote_qpn = 33, .path = path});
  const ibv_qp_attr given = fake_verbs::attributes(sized.queue_pair->qp_num);
  EXPECT_EQ(given.pkey_index, 3);
  EXPECT_EQ(given.ah_attr.sl, 5);
  EXPECT_EQ(given.ah_attr.grh.traffic_class, 106);
  EXPECT_EQ(given.ah_attr.grh.hop_limit, 9);
  EXPECT_EQ(given.ah_attr.grh.flow_label, 0xabcdeU);
  EXPECT_EQ(given.timeout, 18);
  EXPECT_EQ(given.retry_cnt, 3);
  EXPECT_EQ(given.rnr_retry, 2);
  EXPECT_EQ(given.min_rnr_timer, 20);
  EXPECT_EQ(given.qp_access_flags,
            unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC});
}

// The fake takes exactly the attributes that a type has, at each step.
TEST_F(QueuePairs, OfEveryTypeReachTheirLastState) {
  const XrcDomain xrc_domain = open_xrc_domain(*context_);
  for (const ibv_qp_type type :
       {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    const SizedQueuePair sized = create_queue_pair(
        *domain_, {.type = type,
                   .send_completions = completions_.get(),
                   .receive_completions = completions_.get(),
                   .xrc_domain = type == IBV_QPT_XRC_RECV ? xrc_domain.get() : nullptr});
    initialize(*sized.queue_pair, 1, 0, {}, 0x1234);
    connect(*sized.queue_pair, {.gid_index = 1, .global = true, .mtu = 1024, .remote_qpn = 33});
    const ibv_qp_attr given = fake_verbs::attributes(sized.queue_pair->qp_num);
    EXPECT_EQ(given.qp_state, IBV_QPS_RTS) << name(type);
    EXPECT_EQ(given.qkey, type == IBV_QPT_UD ? 0x1234U : 0U);
  }
}

TEST_F(QueuePairs, RefuseAnMtuThatIsNone) {
  const SizedQueuePair sized = create(0);
  initialize(*sized.queue_pair, 1);
  const Error error = complaint([&] { connect(*sized.queue_pair, {.mtu = 1500}); });
  EXPECT_EQ(error.fault(), Fault::usage);
  EXPECT_THAT(error.what(), has_all("1500", "1024"));
}

}  // namespace
}  // namespace rdmabench::inline v1::verbs
