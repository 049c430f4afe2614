// A benchmark posts one message before it is timed: a provider may connect with the first one.
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
std::uint64_t posts_of(benchmark::State& state, const google_benchmark::Options& options) {
  using Op = transport::Write;
  std::uint64_t posted = 0;
  google_benchmark::detail::Peer peer(options, Op::kCode);
  google_benchmark::detail::Measured measured;
  auto channel = control::Channel::connect(
      "127.0.0.1", peer.port(), Deadline::after(options.timeout), {}, peer.authentication());
  run::with_connected(channel, google_benchmark::detail::request_of(options, Op::kCode, true),
                      options.backend, [&]<class T>(T& endpoint) {
                        google_benchmark::detail::Client<Op, T>(endpoint, options, channel)
                            .measure(state, measured);
                        posted = endpoint.posted();
                        peer.release();
                      });
  return posted;
}

}  // namespace

int main() {
  const std::array<std::uint32_t, 2> depths{1, 4};
  std::array<std::uint64_t, 2> posted{};
  for (std::size_t i = 0; i < depths.size(); ++i) {
    benchmark::RegisterBenchmark("write", [&, i](benchmark::State& state) {
      posted[i] = posts_of(state, {.backend = "loop", .bytes = 64, .depth = depths[i]});
    })->Iterations(kIterations);
  }
  Reporter silent;
  benchmark::RunSpecifiedBenchmarks(&silent);
  for (const std::uint64_t posts : posted) {
    std::printf("%llu posts\n", static_cast<unsigned long long>(posts));
    if (posts != kIterations + 1) return 1;
  }
  return 0;
}
