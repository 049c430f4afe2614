// A benchmark posts one message before it is timed: a provider may connect with the first one. A
// message of a flush has a write before it.
#include <rdmabench/google_benchmark.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace rdmabench;

constexpr int kIterations = 10;

class Reporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& /*runs*/) override {}
};

/// What the endpoint of a benchmark has posted.
template <class Op>
std::uint64_t posts_of(benchmark::State& state, const google_benchmark::Options& options) {
  std::uint64_t posted = 0;
  google_benchmark::detail::Peer peer(options, Op::kCode);
  google_benchmark::detail::Measured measured;
  auto channel = control::Channel::connect(
      "127.0.0.1", peer.port(), Deadline::after(options.timeout), {}, peer.authentication());
  run::with_connected(channel, google_benchmark::detail::request_of(options, Op::kCode, true),
                      options.backend, [&]<class T>(T& endpoint) {
                        if constexpr (T::template supports<Op>) {
                          google_benchmark::detail::Client<Op, T>(endpoint, options, channel)
                              .measure(state, measured);
                          posted = endpoint.posted();
                        }
                        peer.release();
                      });
  return posted;
}

}  // namespace

int main() {
  const std::array<std::uint32_t, 2> depths{1, 4};
  std::array<std::uint64_t, 2> writes{};
  std::array<std::uint64_t, 2> flushes{};
  for (std::size_t i = 0; i < depths.size(); ++i) {
    const google_benchmark::Options options{.backend = "loop", .bytes = 64, .depth = depths[i]};
    benchmark::RegisterBenchmark("write", [&, i, options](benchmark::State& state) {
      writes[i] = posts_of<transport::Write>(state, options);
    })->Iterations(kIterations);
    benchmark::RegisterBenchmark("flush", [&, i, options](benchmark::State& state) {
      flushes[i] = posts_of<transport::Flush>(state, options);
    })->Iterations(kIterations);
  }
  Reporter silent;
  benchmark::RunSpecifiedBenchmarks(&silent);
  bool good = true;
  for (std::size_t i = 0; i < depths.size(); ++i) {
    std::printf("depth %u: %llu posts of write, %llu of flush\n", depths[i],
                static_cast<unsigned long long>(writes[i]),
                static_cast<unsigned long long>(flushes[i]));
    good = good && writes[i] == kIterations + 1 && flushes[i] == 2 * (kIterations + 1);
  }
  return good ? 0 : 1;
}
