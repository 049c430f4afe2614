#include "gpu/stream.h"

#include <atomic>
#include <optional>
#include <thread>

#include "gpu/allocation.h"
#include "gpu/copy.h"
#include "gpu/graph.h"
#include "gpu_fixture.h"

namespace rdmabench::inline v1::gpu {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class StreamTest : public GpuTest {
 protected:
  /// Work that ends when `gate_` opens.
  void enqueue_gate(Stream& stream) {
    ASSERT_EQ(fake_cuda_enqueue(stream.get(), wait_for_gate, &gate_), 0);
  }
  void enqueue_count(Stream& stream) {
    ASSERT_EQ(fake_cuda_enqueue(stream.get(), count, &count_), 0);
  }

  std::atomic<bool> gate_ = false;
  std::atomic<int> count_ = 0;

 private:
  static void wait_for_gate(void* gate) {
    while (!*static_cast<std::atomic<bool>*>(gate)) std::this_thread::sleep_for(100us);
  }
  static void count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }
};

TEST_F(StreamTest, IsBusyUntilItsWorkIsDone) {
  const Context context(0);
  context.make_current();
  Stream stream(context);
  EXPECT_EQ(stream.poll(), Progress::done);
  enqueue_gate(stream);
  EXPECT_EQ(stream.poll(), Progress::busy);
  EXPECT_EQ(stream.result(), cuda::kNotReady);
  gate_ = true;
  stream.synchronize(soon());
  EXPECT_EQ(stream.poll(), Progress::done);
}

TEST_F(StreamTest, AWaitEndsAtItsDeadlineWithWhatItWaitedFor) {
  Stream stream(Context(0));
  enqueue_gate(stream);
  const Error error =
      complaint([&] { stream.synchronize(Deadline::after(20ms), "the test's work"); });
  gate_ = true;
  EXPECT_EQ(error.fault(), Fault::failed);
  EXPECT_THAT(error.what(), has_all("the test's work on cuda:0", "not done within"));
  EXPECT_THAT(error.remedy(), HasSubstr("Xid"));
  stream.synchronize(soon());
}

TEST_F(StreamTest, NothingWaitsForeverForAStuckStream) {
  pretend("FAKE_CUDA_STUCK", "1");
  const Context context(0);
  const auto begin = std::chrono::steady_clock::now();
  {
    const Allocation memory(context, 100);
    const Allocation mapped(context, 100, Mode::vmm);
    const PinnedHost pages(context, 100);
    Stream stream(context);
    enqueue_set(stream, memory.data(), std::byte{1}, 100);
    EXPECT_THROW(stream.synchronize(Deadline::after(10ms)), Error);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  // Freeing would wait in the driver: it was not tried.
  EXPECT_EQ(fake_cuda_calls("cuMemFree_v2"), 0);
  EXPECT_EQ(fake_cuda_calls("cuMemFreeHost"), 0);
  EXPECT_EQ(fake_cuda_calls("cuMemUnmap"), 0);
  EXPECT_EQ(fake_cuda_calls("cuStreamDestroy_v2"), 0);
  // Once the work has ended after all, what comes later is freed again.
  fake_cuda_unstick();
  const Deadline deadline = soon();
  while (fake_cuda_calls("cuMemFreeHost") == 0 && !deadline.passed()) {
    const PinnedHost freed(context, 1);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(fake_cuda_calls("cuMemFreeHost"), 1);
}

TEST_F(StreamTest, ADestructorWaitsForWorkThatEndsSoon) {
  const Context context(0);
  Stream stream(context);
  enqueue_gate(stream);
  std::thread opener([this] {
    std::this_thread::sleep_for(5ms);
    gate_ = true;
  });
  { const PinnedHost freed(context, 1); }
  EXPECT_EQ(fake_cuda_alive("host"), 0);
  opener.join();
}

TEST_F(StreamTest, AFailureSticksAndIsTold) {
  const Context context(0);
  context.make_current();
  Stream stream(context);
  fake_cuda_fail_stream(stream.get(), cuda::kIllegalAddress);
  EXPECT_EQ(stream.poll(), Progress::failed);
  EXPECT_THAT(stream.failure("all-reduce").what(),
              HasSubstr("all-reduce on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS"));
  const Error error = complaint([&] { stream.synchronize(soon(), "the copy"); });
  EXPECT_THAT(error.what(), HasSubstr("the copy on cuda:0: CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
  EXPECT_THAT(error.remedy(), HasSubstr("The context is lost"));
}

TEST_F(StreamTest, ARefusalNamesItsCall) {
  pretend("FAKE_CUDA_FAIL", "cuStreamCreate:1:2");
  const Context context(0);
  EXPECT_THAT(complaint([&] { Stream{context}; }).what(), HasSubstr("cuStreamCreate"));
}

TEST_F(StreamTest, IsDestroyedAfterItsWork) {
  {
    Stream stream(Context(0));
    enqueue_count(stream);
    EXPECT_EQ(fake_cuda_alive("stream"), 1);
  }
  EXPECT_EQ(count_, 1);
  EXPECT_EQ(fake_cuda_alive("stream"), 0);
}

TEST_F(StreamTest, AGraphDoesItsWorkWithEveryLaunch) {
  const Context context(0);
  context.make_current();
  {
    Stream stream(context);
    Graph graph = Graph::capture(stream, [&](Stream& captured) {
      enqueue_count(captured);
      const PinnedHost freed_meanwhile(context, 1);  // asks no stream that is being captured
      enqueue_count(captured);
    });
    stream.synchronize(soon());
    EXPECT_EQ(count_, 0);
    EXPECT_TRUE(graph.launch(stream));
    Graph moved(std::move(graph));
    EXPECT_TRUE(moved.launch(stream));
    stream.synchronize(soon());
    EXPECT_EQ(count_, 4);
    EXPECT_EQ(fake_cuda_alive("graph"), 0);
    EXPECT_EQ(fake_cuda_alive("graph_exec"), 1);
  }
  EXPECT_EQ(fake_cuda_alive("graph_exec"), 0);
}

TEST_F(StreamTest, AGraphThatCannotBeSaysAtWhichStep) {
  const Driver old = driver_without({"cuGraphInstantiateWithFlags"});
  {
    Stream stream(Context(old, 0));
    EXPECT_EQ(complaint([&] { Graph::capture(stream, [](Stream&) {}); }).fault(),
              Fault::unavailable);
  }
  for (const auto& [symbol, call] : {std::pair{"cuStreamBeginCapture_v2", "cuStreamBeginCapture()"},
                                     {"cuStreamEndCapture", "cuStreamEndCapture()"},
                                     {"cuGraphInstantiateWithFlags", "cuGraphInstantiate()"}}) {
    pretend("FAKE_CUDA_FAIL", std::string(symbol) + ":1:1");
    Stream stream(Context(0));
    EXPECT_THAT(complaint([&] { Graph::capture(stream, [](Stream&) {}); }).what(), HasSubstr(call));
    EXPECT_EQ(fake_cuda_alive("graph"), 0);
  }
  pretend("FAKE_CUDA_FAIL", "cuGraphLaunch:1:700");
  const Context context(0);
  context.make_current();
  Stream stream(context);
  Graph graph = Graph::capture(stream, [](Stream&) {});
  EXPECT_FALSE(graph.launch(stream));
  EXPECT_EQ(graph.result(), cuda::kIllegalAddress);
}

TEST_F(StreamTest, ACaptureEndsWhenItsRecorderThrows) {
  Stream stream(Context(0));
  EXPECT_THROW(Graph::capture(stream,
                              [&](Stream& captured) {
                                enqueue_count(captured);
                                throw Error(Fault::failed, "recorder");
                              }),
               Error);
  EXPECT_EQ(fake_cuda_alive("graph"), 0);
  enqueue_count(stream);  // is done, not recorded
  stream.synchronize(soon());
  EXPECT_EQ(count_, 1);
}

TEST_F(StreamTest, WhatCannotBeCapturedInvalidatesTheGraph) {
  Stream stream(Context(0));
  EXPECT_THAT(complaint([&] {
                Graph::capture(stream, [](Stream& captured) { captured.synchronize(soon()); });
              }).what(),
              HasSubstr("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
}

}  // namespace
}  // namespace rdmabench::inline v1::gpu
