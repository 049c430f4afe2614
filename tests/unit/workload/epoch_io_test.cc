#include "rdmabench/workload/epoch_io.h"

#include <gtest/gtest.h>

#include <thread>

#include "rdmabench/transport/loop/endpoint.h"

namespace rdmabench::inline v1::workload {
namespace {

using transport::Received;
using transport::Send;
using transport::loop::Endpoint;

constexpr int kRequests = 400;
constexpr int kOutstanding = 4;
constexpr transport::Message kRequest{.local = 0, .remote = 0, .bytes = 8, .word = 0};

transport::EndpointRequest request() {
  transport::EndpointRequest r;
  r.operations = transport::OperationCode::send;
  r.max_size = 8;
  r.depth = r.receives = r.receive_slots = kOutstanding;
  r.signal_every = 1;
  return r;
}

/// Answers each request, or, as the client, asks again for each answer; `ahead` requests are under
/// way from the start.
void converse(Endpoint& endpoint, int ahead, EpochResult& result) {
  Watch watch(std::chrono::seconds(20), nullptr);
  EpochIo<Endpoint> io(endpoint, {.receives = kOutstanding}, watch, result);
  int arrived = 0;
  const auto on_receive = [&](const Received& received) noexcept {
    io.give_back_together(received.slot);
    ++arrived;
  };
  for (int posted = 0; posted < kRequests;) {
    if (posted < arrived + ahead) {
      if (!io.post<Send>(kRequest, transport::Signal::now, 0, on_receive)) return;
      ++posted;
    } else if (!io.poll(Wait::message, on_receive)) {
      return;
    }
  }
  while (arrived < kRequests && io.poll(Wait::message, on_receive)) {
  }
  EXPECT_EQ(arrived, kRequests);
}

TEST(EpochIo, RequestsThatArriveWhileAnAnswerWaitsForRoomAreHandedOver) {
  Endpoint client(request(), "");
  Endpoint server(request(), "");
  client.connect(server.address());
  server.connect(client.address());
  EpochResult asked, answered;
  std::thread thread([&] { converse(server, 0, answered); });
  converse(client, kOutstanding, asked);
  thread.join();
  EXPECT_EQ(asked.outcome, Outcome::ok);
  EXPECT_EQ(answered.outcome, Outcome::ok);
}

/// A copy whose peer's bytes come by its polls, as over UCX, and which counts them.
class ByPolls : public Endpoint {
 public:
  using Endpoint::Endpoint;
  static constexpr bool kNeedsProgress = true;
  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    ++polls;
    return Endpoint::poll(on_receive);
  }
  int polls = 0;
};

TEST(EpochIo, AWaitOnMemoryPollsEachTimeWherePollsBringTheBytes) {
  ByPolls endpoint(request(), "");
  endpoint.connect(endpoint.address());
  EpochResult result;
  Watch watch(std::chrono::seconds(20), nullptr);
  EpochIo<ByPolls> io(endpoint, {.receives = kOutstanding}, watch, result);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(io.idle(Wait::message));
  EXPECT_EQ(endpoint.polls, 10);
}

}  // namespace
}  // namespace rdmabench::inline v1::workload
