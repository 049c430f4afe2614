// Benchmarks of transports for a program that uses Google Benchmark.
//
// A program that includes this header links benchmark::benchmark itself; rdmabench does not.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "rdmabench/base/affinity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/measure/histogram.h"
#include "rdmabench/run/connect.h"
#include "rdmabench/workload/epoch_io.h"

namespace rdmabench::inline v1::google_benchmark {

/// What one benchmark measures.
struct Options {
  std::string backend = "auto";  ///< as run::Config::backend
  std::string provider{};        ///< libfabric's, "shm"; "" = choose
  std::string device{};          ///< of both sides; "" = choose
  std::uint64_t bytes = 8;       ///< of a message, >= 1; atomics: 8
  std::uint32_t depth = 1;       ///< posts that may be outstanding, >= 1
  /// The longest wait for a completion, and for each step of the set-up.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  int cpu = -1;       ///< processor that the caller's thread is bound to meanwhile; -1 = as it is
  int peer_cpu = -1;  ///< of the peer's thread; -1 = where the caller's may run
};

namespace detail {

inline transport::EndpointRequest request_of(const Options& options, transport::OperationCode code,
                                             bool client) {
  transport::EndpointRequest request;
  request.client = client;
  request.operations = code;
  if (transport::traits(code).flushes) request.operations.add(transport::OperationCode::write);
  request.latency = options.depth == 1;
  request.max_size = options.bytes;
  request.depth = options.depth * transport::posts_of_message(code);
  request.receives = 2 * options.depth;  // some go back while others are taken
  request.signal_every = std::max(options.depth / 4, 1U);
  request.options.ofi.provider = options.provider;
  request.device = options.device;
  request.delivery = true;
  request.timeout = options.timeout;
  return request;
}

/// The other end of the connection, in a thread of its own: it polls, and gives receives back.
class Peer {
 public:
  Peer(const Options& options, transport::OperationCode code)
      : thread_([this, options, code] { serve(options, code); }) {}
  ~Peer() { join(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::uint16_t port() const noexcept { return listener_.port(); }
  const control::Authentication& authentication() const noexcept { return authentication_; }

  /// The client needs no more polls.
  void release() noexcept { done_ = true; }

  /// Waits for its end. What may have disturbed its thread.
  const std::vector<report::Suspicion>& join() {
    release();
    listener_.stop();
    if (thread_.joinable()) thread_.join();
    return suspicions_;
  }

 private:
  /// What fails here ends the client's wait too, and is told there.
  void serve(const Options& options, transport::OperationCode code) noexcept try {
    if (options.peer_cpu >= 0) pin_this_thread(options.peer_cpu);
    auto channel = listener_.accept(Deadline::after(options.timeout));
    if (!channel) return;
    run::with_connected(*channel, request_of(options, code, false), options.backend,
                        [&](auto& endpoint) { poll(endpoint, options, *channel); });
  } catch (const std::exception&) {
  }

  template <transport::Transport T>
  void poll(T& endpoint, const Options& options, control::Channel& channel) {
    workload::EpochResult result;
    workload::Watch watch(options.timeout, [] { return false; });
    workload::EpochIo<T> io(endpoint, {.receives = 2 * options.depth}, watch, result);
    const auto on_receive = [&](const transport::Received& received) noexcept {
      io.give_back_together(received.slot);
    };
    run::DisturbanceWatch disturbances({}, false);  // the client counts for the whole machine
    disturbances.begin();
    while (!done_.load(std::memory_order_relaxed)) {
      io.nothing_due();  // nothing may arrive here however much the client writes
      if (io.poll(workload::Wait::message, on_receive)) continue;
      channel.abort("the peer's completion failed: " + endpoint.failure());
      return;
    }
    suspicions_ = disturbances.end();
  }

  control::Authentication authentication_ = control::Authentication::of_this_process();
  control::Listener listener_{"127.0.0.1", 0, authentication_};
  std::atomic<bool> done_{false};
  std::vector<report::Suspicion> suspicions_{};
  std::thread thread_;
};

/// "loop, completion: delivery", and of a run that was disturbed "; suspect: noise, preemption".
inline std::string label_of(const transport::Description& facts,
                            const std::vector<report::Suspicion>& client,
                            const std::vector<report::Suspicion>& peer) {
  std::vector<std::string> codes;
  for (const auto* const side : {&client, &peer}) {
    for (const report::Suspicion& one : *side) {
      if (std::find(codes.begin(), codes.end(), one.code) == codes.end()) codes.push_back(one.code);
    }
  }
  std::string label = facts.provider + ", completion: " + facts.completion;
  for (const std::string& code : codes) {
    label += (&code == codes.data() ? "; suspect: " : ", ") + code;
  }
  return label;
}

/// What is told when the peer has ended.
struct Measured {
  transport::Description facts{};
  std::vector<report::Suspicion> suspicions{};
};

/// The client's messages, one for each iteration.
template <class Op, transport::Transport T>
class Client {
 public:
  Client(T& endpoint, const Options& options, control::Channel& channel)
      : endpoint_(endpoint),
        options_(options),
        plan_{.size = options.bytes, .depth = options.depth},
        watch_(options.timeout, [&channel] { return channel.interrupted(); }),
        io_(endpoint, plan_, watch_, result_) {}

  /// Throws Error where a message fails.
  void measure(benchmark::State& state, Measured& measured) {
    measured.facts = endpoint_.describe(options_.bytes);
    // A provider may connect to its peer with the first message.
    if (!post(transport::Signal::now) || !io_.drain()) return throw_failure();
    run::DisturbanceWatch disturbances({measured.facts.device});
    disturbances.begin();
    plan_.iterations = static_cast<std::uint64_t>(state.max_iterations);
    last_ = measure::RawClock::stamp();
    for ([[maybe_unused]] auto ignored : state) {
      if (options_.depth == 1 ? !one() : !next()) [[unlikely]]
        return throw_failure();
      ++result_.message;
    }
    measured.suspicions = disturbances.end(report(state));
  }

 private:
  bool post(transport::Signal signal) noexcept {
    const transport::Message message{.local = 0, .remote = 0, .bytes = options_.bytes, .word = 0};
    if constexpr (Op::kFlushes) {
      // There would be nothing to flush.
      if (!io_.template post<transport::Write>(message, transport::Signal::by_interval))
        return false;
    }
    return io_.template post<Op>(message, signal);
  }

  /// One stamp ends a message and begins the next.
  bool one() {
    if (!post(transport::Signal::now) || !io_.drain()) return false;
    const measure::Ticks now = measure::RawClock::stamp();
    intervals_[kept_] = now - last_;
    last_ = now;
    if (++kept_ == intervals_.size()) keep();
    return true;
  }

  bool next() noexcept {
    return result_.message + 1 == plan_.iterations ? post(transport::Signal::now) && io_.drain()
                                                   : post(transport::Signal::by_interval);
  }

  void keep() {
    recorder_.add(std::span(intervals_.data(), kept_));
    kept_ = 0;
    last_ = measure::RawClock::stamp();
  }

  /// Where the peer gave up, its reason comes when the callback of with_connected() ends.
  void throw_failure() const {
    if (result_.outcome == workload::Outcome::interrupted) return;
    run::throw_epoch_error(result_, plan_, options_.timeout, "the peer in this process",
                           endpoint_.failure());
  }

  /// The p99 in nanoseconds; 0 with a greater depth.
  double report(benchmark::State& state) {
    using benchmark::Counter;
    const auto messages = static_cast<double>(state.iterations());
    state.counters["messages_per_s"] = Counter(messages, Counter::kIsRate);
    state.counters["bytes_per_s"] =
        Counter(messages * static_cast<double>(options_.bytes), Counter::kIsRate);
    if (options_.depth > 1) return 0;
    keep();
    const measure::LatencySummary all = recorder_.summary(1.0);
    state.counters["p50_ns"] = Counter(all.p50_ns, Counter::kAvgThreads);
    state.counters["p99_ns"] = Counter(all.p99_ns, Counter::kAvgThreads);
    return all.p99_ns;
  }

  T& endpoint_;
  const Options& options_;
  workload::EpochPlan plan_;
  workload::Watch watch_;
  workload::EpochResult result_;
  workload::EpochIo<T> io_;
  measure::LatencyRecorder recorder_{0};  // a histogram, however many iterations there are
  std::array<measure::Ticks, 1024> intervals_{};
  std::size_t kept_ = 0;
  measure::Ticks last_ = 0;
};

}  // namespace detail

/// One benchmark function: connects two endpoints in this process, posts one message of the
/// operation Op for each iteration, and reports counters. The client's endpoint is driven by the
/// caller's thread; its peer has a thread of its own, which polls: give the benchmark two
/// processors, by options.cpu and options.peer_cpu. One message more is posted and completed
/// before anything is timed. Before each Flush goes a Write of as many bytes, and both are one
/// message. Completions are asked to say that the data have arrived, over every back end.
///
/// With a depth of 1 an iteration ends when the message has completed, and "p50_ns" and "p99_ns"
/// are of the times from post to completion, within measure::Histogram::kRelativeError. With a
/// greater depth an iteration posts one message, and polls while `depth` are outstanding; the last
/// iteration waits for all of them. "messages_per_s" and "bytes_per_s" are rates over the whole
/// time. The label names the provider, what a completion means there, and the codes of
/// Report::suspicions where a run was disturbed: "loop, completion: delivery; suspect: noise". Each
/// run takes 20 ms more to see the noise, before it is timed. Time and counters include
/// what measuring costs: with a depth of 1 each message has one reading of CLOCK_MONOTONIC_RAW, and
/// each iteration has a step of Google Benchmark's own loop. Nothing is subtracted.
///
/// A failure skips the benchmark with its text. No wait is longer than options.timeout.
template <class Op>
void run(benchmark::State& state, const Options& options) {
  try {
    if (options.depth == 0 || options.bytes == 0) {
      throw Error(Fault::usage, "`depth` or `bytes` of 0", "Both are 1 at least.");
    }
    // An exception of the peer's thread would not be told.
    if (options.peer_cpu >= 0) {
      const PinnedThread allowed(options.peer_cpu);
    }
    detail::Peer peer(options, Op::kCode);
    std::optional<PinnedThread> pinned;  // after the peer's thread, which would inherit it
    if (options.cpu >= 0) pinned.emplace(options.cpu);
    detail::Measured measured;
    auto channel = control::Channel::connect(
        "127.0.0.1", peer.port(), Deadline::after(options.timeout), {}, peer.authentication());
    rdmabench::run::with_connected(
        channel, detail::request_of(options, Op::kCode, true), options.backend,
        [&]<class T>(T& endpoint) {
          if constexpr (T::template supports<Op>) {
            detail::Client<Op, T>(endpoint, options, channel).measure(state, measured);
          } else {
            throw Error(Fault::unavailable, "this endpoint has no such operation");
          }
          peer.release();
        });
    state.SetLabel(detail::label_of(measured.facts, measured.suspicions, peer.join()));
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

/// Registers run<Op>() as a benchmark of that name, which reports by wall-clock time, and to which
/// Google Benchmark adds "/real_time". Further
/// settings are made on what it returns, as on that of benchmark::RegisterBenchmark().
template <class Op>
auto* add(const std::string& name, const Options& options) {
  return benchmark::RegisterBenchmark(
             name.c_str(), [options](benchmark::State& state) { run<Op>(state, options); })
      ->UseRealTime();
}

}  // namespace rdmabench::inline v1::google_benchmark

/// Registers a benchmark "OPERATION/BACKEND/BYTES", which Google Benchmark lists as
/// "Write/loop/64/real_time", of one message at a time, at namespace scope:
///
///   RDMABENCH_BENCHMARK(Write, "loop", 64);
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
#define RDMABENCH_BENCHMARK(operation, backend_name, message_bytes) \
  RDMABENCH_BENCHMARK_AT(operation, backend_name, message_bytes, __COUNTER__)
#define RDMABENCH_BENCHMARK_AT(operation, backend_name, message_bytes, count) \
  RDMABENCH_BENCHMARK_AS(operation, backend_name, message_bytes, count)
#define RDMABENCH_BENCHMARK_AS(operation, backend_name, message_bytes, count)                 \
  [[maybe_unused]] static auto* const rdmabench_benchmark_##count =                           \
      rdmabench::google_benchmark::add<rdmabench::transport::operation>(                      \
          std::string(#operation "/") + (backend_name) + "/" + std::to_string(message_bytes), \
          {.backend = (backend_name), .bytes = (message_bytes)})
// NOLINTEND(cppcoreguidelines-macro-usage)
