// A traffic pattern of one's own in rdmabench's client and server: 64 bytes ask, the answer is
// written into the asking side's memory, and a sample is the time from one to the other. Sessions,
// deadlines, statistics and the report are those of the built-in tests.
//
//   custom_pattern BACKEND PROVIDER              serves one client; prints the TCP port
//   custom_pattern BACKEND PROVIDER HOST PORT    measures; for verbs PROVIDER is ""
#include <algorithm>
#include <cstdio>
#include <string>

#include <rdmabench/memory/buffer.h>
#include <rdmabench/rdmabench.h>
#include <rdmabench/run/patterns.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using transport::Received, transport::Send, transport::Signal, transport::WriteImm;
using workload::EpochPlan, workload::EpochResult, workload::Outcome, workload::Wait;

/// Both sides register this; the session names it.
struct Get {
  static constexpr std::string_view kName = "example.com/get";
  static constexpr rdmabench::run::PatternNeeds kNeeds{
      .operations = {Send::kCode, WriteImm::kCode}};

  template <transport::Transport T, bool kValidate>
  static EpochResult initiator(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                               std::span<measure::Ticks> intervals) noexcept {
    EpochResult result;
    workload::EpochIo<T> io(endpoint, plan, watch, result);
    const std::span<std::byte> answer(endpoint.window().data, plan.size);
    const std::uint64_t asked = std::min<std::uint64_t>(plan.size, 64);
    for (std::uint64_t& i = result.message; i < plan.iterations; ++i) {
      const measure::Ticks begin = measure::stamp_now();
      if (!io.template post<Send>({0, 0, asked, 0}, Signal::now) || !receive(io)) return result;
      intervals[i] = measure::stamp_now() - begin;
      if (kValidate && memory::find_mismatch(answer, workload::tag_of(i))) {
        io.end(Outcome::wrong_data, Wait::nothing);
        return result;
      }
    }
    io.drain();
    return result;
  }

  template <transport::Transport T, bool kValidate>
  static EpochResult target(T& endpoint, const EpochPlan& plan, workload::Watch& watch,
                            std::span<measure::Ticks> /*intervals*/) noexcept {
    EpochResult result;
    workload::EpochIo<T> io(endpoint, plan, watch, result);
    const std::span<std::byte> answer(endpoint.send_region().data, plan.size);
    for (std::uint64_t& i = result.message; i < plan.iterations; ++i) {
      if (!receive(io) || !io.drain()) return result;  // the last answer has left
      if (kValidate) memory::fill_pattern(answer, workload::tag_of(i));
      if (!io.template post<WriteImm>({0, 0, plan.size, i}, Signal::now)) return result;
    }
    io.drain();
    return result;
  }

 private:
  template <class EpochIo>
  static bool receive(EpochIo& io) noexcept {
    bool arrived = false;
    const auto on_receive = [&](const Received& received) noexcept {
      io.give_back(received.slot);
      arrived = true;
    };
    while (!arrived) {
      if (!io.poll(Wait::message, on_receive)) return false;
    }
    return true;
  }
};

int main(int argc, char** argv) try {
  run::add_pattern<Get>();
  if (argc < 5) {
    run::Server server({.port = 0, .sessions = 1}, {});
    std::printf("listening on %d\n", server.port()), std::fflush(stdout);
    server.run();
    return server.failed_sessions() == 0 ? 0 : 1;
  }
  run::Config config{.traffic = {.pattern = std::string(Get::kName), .validate = true},
                     .sizes = {64, 4096},
                     .stop = measure::StopRule::iterations(500),
                     .backend = argv[1]};
  config.endpoint.ofi.provider = argv[2];
  const auto port = static_cast<std::uint16_t>(std::stoi(argv[4]));
  const report::Report report = run::run(config, argv[3], port);
  if (report.error) return std::fprintf(stderr, "ended early: %s\n", report.error->c_str()), 1;
  for (const auto& row : report.latency()) {
    std::printf("%s of %llu bytes: p50 %.0f ns of %llu gets\n", row.kind.c_str(),
                static_cast<unsigned long long>(row.size_bytes), row.latency.p50_ns,
                static_cast<unsigned long long>(row.iterations));
    if (!row.complete || !row.validated || row.latency.count != 500) return 1;
  }
  return report.latency().size() == 2 ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
