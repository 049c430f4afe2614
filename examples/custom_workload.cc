// A traffic pattern of one's own: a look-up service. The client sends a request of 64 bytes, the
// server answers with 4096, and what is timed is the whole look-up.
//
// Party is a template over transport::Transport, so it compiles to straight code over every back
// end. Here two of them run over endpoints of the loop back end, in two threads.
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include <rdmabench/measure/histogram.h>
#include <rdmabench/transport/loop/endpoint.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using workload::EpochPlan, workload::EpochResult, workload::Outcome, workload::Wait;

namespace {

constexpr std::uint64_t kRequestBytes = 64, kAnswerBytes = 4096, kLookUps = 5000;

/// One side. Once made it neither allocates nor throws. Its EpochIo polls and makes room, and ends
/// every wait when nothing completes for its Watch's limit: false says that it is over.
template <transport::Transport T>
class Party {
 public:
  Party(T& endpoint, const EpochPlan& plan)
      : endpoint_(endpoint), io_(endpoint, plan, watch_, result_) {}

  /// Sends slot 0, with the look-up's number as its first word.
  bool say(std::uint64_t number, std::uint64_t bytes) noexcept {
    std::memcpy(endpoint_.send_region().data, &number, sizeof number);
    return io_.template post<transport::Send>({.local = 0, .remote = 0, .bytes = bytes, .word = 0},
                                              transport::Signal::now);
  }

  /// Waits until message `count` has come, and until all that was sent has left slot 0.
  bool hear(std::uint64_t count, std::uint64_t bytes) noexcept {
    const auto on_receive = [&](const transport::Received& received) noexcept {
      const transport::Region region = endpoint_.receive_region();
      std::memcpy(&number_, region.data + received.slot % region.slots * region.stride,
                  sizeof number_);
      if (received.bytes != bytes) io_.end(Outcome::wrong_size, Wait::message);
      io_.give_back(received.slot);  // only now may another message overwrite it
      ++heard_;
    };
    while (heard_ < count || endpoint_.completed() != endpoint_.posted()) {
      if (!io_.poll(Wait::message, on_receive)) return false;
    }
    return result_.outcome == Outcome::ok;
  }

  std::uint64_t number() const noexcept { return number_; }
  Outcome outcome() const noexcept { return result_.outcome; }

 private:
  T& endpoint_;
  workload::Watch watch_{std::chrono::seconds(5), [] { return false; }};
  EpochResult result_;
  workload::EpochIo<T> io_;
  std::uint64_t number_ = 0, heard_ = 0;
};

}  // namespace

int main() try {
  transport::EndpointRequest request;
  request.max_size = kAnswerBytes;
  request.depth = request.receives = request.receive_slots = 2;
  transport::loop::Endpoint client(request, ""), server(request, "");
  client.connect(server.address());  // between machines: by a channel of one's own, see control/
  server.connect(client.address());

  const EpochPlan plan{.iterations = kLookUps, .depth = 2, .receives = 2};
  Party asking(client, plan), answering(server, plan);
  std::thread service([&]() noexcept {
    for (std::uint64_t i = 0; i < kLookUps && answering.hear(i + 1, kRequestBytes); ++i) {
      if (!answering.say(answering.number(), kAnswerBytes)) return;
    }
  });
  std::vector<measure::Ticks> intervals;
  intervals.reserve(kLookUps);
  for (std::uint64_t i = 0; i < kLookUps; ++i) {
    const measure::Ticks begin = measure::RawClock::stamp();  // its ticks are nanoseconds
    if (!asking.say(i, kRequestBytes) || !asking.hear(i + 1, kAnswerBytes) || asking.number() != i)
      break;
    intervals.push_back(measure::RawClock::stamp() - begin);
  }
  service.join();  // it ends by itself: its Watch has a limit
  measure::LatencyRecorder recorder;
  recorder.add(intervals);
  const measure::LatencySummary all = recorder.summary(1.0);
  std::printf("%llu look-ups: p50 %.0f ns, p99 %.0f ns, slowest %.0f ns\n",
              static_cast<unsigned long long>(all.count), all.p50_ns, all.p99_ns, all.max_ns);
  return all.count == kLookUps && answering.outcome() == Outcome::ok ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
