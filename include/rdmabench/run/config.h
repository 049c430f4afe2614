// What one run is to measure, and how. The command line fills it in; so may any program.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/measure/stop.h"
#include "rdmabench/transport/operation.h"
#include "rdmabench/workload/table.h"

namespace rdmabench::run {

inline constexpr std::uint16_t kDefaultPort = 18515;  ///< perftest's

// Bounds of what a client may ask for, kept by both sides.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{256} << 20;  ///< bytes of one message
inline constexpr std::uint32_t kMaxDepth = 16384;                    ///< messages outstanding
inline constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 31;   ///< messages of one epoch

struct Config {
  workload::Shape shape = workload::Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;
  std::vector<std::uint64_t> sizes{8};  ///< bytes, each 1..kMaxSize
  measure::StopRule stop = measure::StopRule::stable({});
  std::int64_t warmup = -1;  ///< messages per size before the timed ones; -1 = choose

  std::string backend = "auto";  ///< "auto", "verbs", "ofi", "loop"
  std::string device;            ///< of this side; "" = choose. The server's is chosen to match
  std::string provider;          ///< libfabric, both sides; "" = choose
  std::int32_t gid_index = -1;   ///< RoCE, of this side; -1 = choose
  std::int32_t mtu = 0;          ///< verbs, bytes; 0 = the smaller active one

  std::uint32_t depth = 0;         ///< 1..kMaxDepth; 0 = choose: 128 for a stream, 16 for latency
  std::uint32_t signal_every = 0;  ///< 1..depth; 0 = choose
  std::int32_t inline_limit = -1;  ///< bytes; -1 = the back end's choice, 0 = off
  bool validate = false;

  /// No wait for the peer, its control messages or a completion may take longer.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
};

/// How far a run is; told between epochs, never while one is timed.
struct Progress {
  std::size_t size_index = 0;
  std::size_t sizes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t iterations = 0;  ///< timed so far at this size
};
using OnProgress = std::function<void(const Progress&)>;

}  // namespace rdmabench::run
