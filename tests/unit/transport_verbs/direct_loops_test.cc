// The loops of workload/ over DC, SRD and what ibv_wr_post(3) alone posts on RC, both sides in two
// threads: what run/ would measure, over the fake devices. Over SRD nothing comes in order there.
#include <flush.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "pair.h"
#include "rdmabench/workload/loops.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

using workload::EpochPlan;
using workload::EpochResult;
using workload::LoopKey;
using workload::Outcome;
using workload::Shape;
using workload::Side;
using workload::Watch;

struct Case {
  Shape shape;
  OperationCode operation;
  std::uint64_t size = 100;  ///< inline for a DC send, and not for an SRD one
  std::uint32_t queue_pairs = 1;
  std::uint32_t post_list = 1;
  bool separate_queues = false;
};

std::string text_of(const Case& one) {
  return fmt::format("shape {} {} of {} bytes, {} queue pairs, lists of {}",
                     static_cast<int>(one.shape), name(one.operation), one.size, one.queue_pairs,
                     one.post_list);
}

EpochPlan plan_of(const Case& one) {
  // Enough to go round the slots and the queues; two threads may have to share one core.
  return {.iterations = one.shape == Shape::latency ? 20U : 60U,
          .size = one.size,
          .depth = 8,
          .receives = 16,
          .post_list = one.post_list,
          .gap_q16 = one.shape == Shape::load ? std::uint64_t{2000} << 16 : 0};
}

EndpointRequest request_of(const Case& one, Service service) {
  const EpochPlan plan = plan_of(one);
  EndpointRequest request;
  request.options.service = service;
  request.operations = one.operation;
  // A ping-pong of writes that are not ordered carries an immediate.
  if (one.operation == OperationCode::write) request.operations.add(OperationCode::write_imm);
  if (one.operation == OperationCode::flush) request.operations.add(OperationCode::write);
  request.latency = one.shape == Shape::latency;
  request.max_size = one.size;
  request.options.queue_pairs = one.queue_pairs;
  request.depth = plan.depth;
  request.receives = plan.receives;
  request.options.post_list = one.post_list;
  request.signal_every = 4;
  request.send_slots = 8 * one.queue_pairs;
  request.receive_slots = plan.receives * one.queue_pairs;
  request.options.separate_queues = one.separate_queues;
  return request;
}

template <class T>
EpochResult run_side(T& endpoint, const LoopKey& key, const EpochPlan& plan,
                     std::atomic<bool>& gone) {
  const auto entry = workload::find_loop<T>(key);
  std::vector<measure::Ticks> intervals(plan.iterations);
  Watch watch(std::chrono::seconds(5), [&] { return gone.load(); });
  EpochResult result = entry.loop(endpoint, plan, watch, intervals);
  if (result.outcome != Outcome::ok) gone = true;
  return result;
}

template <class T>
void run(Service service, const Case& one) {
  SCOPED_TRACE(text_of(one));
  PairOf<T> pair(request_of(one, service));
  const EpochPlan plan = plan_of(one);
  // As run/ does where the peer's writes may not be seen by polling.
  const bool polls = plan.size <= pair.client.write_order().bytes;
  const bool told = one.shape == Shape::latency && one.operation == OperationCode::write && !polls;
  LoopKey key{.shape = one.shape,
              .operation = told ? OperationCode::write_imm : one.operation,
              .validate = true,
              .clock = measure::clock_choice().source,
              .paced = one.shape == Shape::load};
  LoopKey target_key = key;
  target_key.side = Side::target;
  const auto initiate = workload::find_loop<T>(key);
  ASSERT_NE(initiate.loop, nullptr);
  for (int epoch = 0; epoch < 2; ++epoch) {
    initiate.prepare(pair.client, key, plan);
    workload::find_loop<T>(target_key).prepare(pair.server, target_key, plan);
    std::atomic<bool> gone{false};
    EpochResult served;
    std::thread thread([&] { served = run_side(pair.server, target_key, plan, gone); });
    const EpochResult result = run_side(pair.client, key, plan, gone);
    thread.join();
    ASSERT_EQ(result.outcome, Outcome::ok) << result.message << " " << pair.client.failure();
    ASSERT_EQ(served.outcome, Outcome::ok) << served.message << " " << pair.server.failure();
    EXPECT_EQ(pair.client.posted(), pair.client.completed());
    EXPECT_EQ(pair.server.posted(), pair.server.completed());
    EXPECT_GT(result.checked + served.checked, 0U);
  }
}

class DirectLoops : public OnFakeVerbs {
 protected:
  template <class T>
  void run_all(Service service) {
    for (const Shape shape : {Shape::latency, Shape::bandwidth, Shape::bidirectional}) {
      for (const OperationCode operation :
           {OperationCode::send, OperationCode::send_imm, OperationCode::write,
            OperationCode::write_imm, OperationCode::read}) {
        run<T>(service, {.shape = shape, .operation = operation});
        if (shape == Shape::latency) continue;
        run<T>(service, {.shape = shape,
                         .operation = operation,
                         .size = 1000,
                         .queue_pairs = 2,
                         .post_list = 4,
                         .separate_queues = true});
      }
    }
    run<T>(service, {.shape = Shape::latency, .operation = OperationCode::write, .queue_pairs = 3});
    run<T>(service, {.shape = Shape::load, .operation = OperationCode::send_imm});
    run<T>(service, {.shape = Shape::bandwidth, .operation = OperationCode::send, .size = 32});
  }
};

TEST_F(DirectLoops, OfDc) {
  fake_verbs::reset({fake_verbs::mlx5()});
  run_all<DynamicEndpoint>(Service::dc);
  for (const Shape shape : {Shape::latency, Shape::bandwidth}) {
    for (const OperationCode operation : {OperationCode::fetch_add, OperationCode::compare_swap}) {
      run<DynamicEndpoint>(Service::dc,
                           {.shape = shape, .operation = operation, .size = kAtomicBytes});
    }
  }
}

TEST_F(DirectLoops, OfSrd) {
  fake_verbs::reset({fake_verbs::efa()});
  run_all<ScalableEndpoint>(Service::srd);
}

TEST_F(DirectLoops, OfExtendedOperations) {
  fake_verbs::Device device = fake_verbs::soft_roce();
  device.capabilities = ~std::uint64_t{0};
  fake_verbs::reset({device});
  for (const std::uint32_t queue_pairs : {1U, 3U}) {
    for (const Shape shape : {Shape::latency, Shape::bandwidth}) {
      run<ExtendedEndpoint>(Service::rc, {.shape = shape,
                                          .operation = OperationCode::atomic_write,
                                          .size = kAtomicBytes,
                                          .queue_pairs = queue_pairs});
      fake_verbs::hold_writes(true);
      run<ExtendedEndpoint>(
          Service::rc,
          {.shape = shape, .operation = OperationCode::flush, .queue_pairs = queue_pairs});
      fake_verbs::hold_writes(false);
    }
  }
  run<ExtendedEndpoint>(Service::rc, {.shape = Shape::bandwidth,
                                      .operation = OperationCode::atomic_write,
                                      .size = kAtomicBytes,
                                      .queue_pairs = 2,
                                      .post_list = 4});
}

TEST_F(DirectLoops, OfExtendedOperationsAreOnTheirEndpointAlone) {
  LoopKey key{.shape = Shape::bandwidth, .operation = OperationCode::atomic_write};
  EXPECT_NE(workload::find_loop<ExtendedEndpoint>(key).loop, nullptr);
  EXPECT_EQ(workload::find_loop<ScalableEndpoint>(key).loop, nullptr);
  key.operation = OperationCode::write;
  EXPECT_EQ(workload::find_loop<ExtendedEndpoint>(key).loop, nullptr);
}

TEST_F(DirectLoops, OfSrdHaveNoAtomics) {
  const LoopKey key{.shape = Shape::latency, .operation = OperationCode::fetch_add};
  EXPECT_EQ(workload::find_loop<ScalableEndpoint>(key).loop, nullptr);
}

TEST_F(DirectLoops, EndWhenACompletionFails) {
  fake_verbs::reset({fake_verbs::efa()});
  const Case one{.shape = Shape::bandwidth, .operation = OperationCode::send};
  PairOf<ScalableEndpoint> pair(request_of(one, Service::srd));
  const LoopKey key{.shape = one.shape, .operation = one.operation};
  const EpochPlan plan = plan_of(one);
  workload::find_loop<ScalableEndpoint>(key).prepare(pair.client, key, plan);
  fake_verbs::fail_message(IBV_WC_RESP_TIMEOUT_ERR);
  std::atomic<bool> gone{false};
  EXPECT_EQ(run_side(pair.client, key, plan, gone).outcome, Outcome::completion_failed);
  EXPECT_THAT(pair.client.failure(), testing::HasSubstr("efa_0:1"));
}

}  // namespace
}  // namespace rdmabench::inline v1::transport::verbs
