// The options that both sides of a session share.
#pragma once

#include <cstdint>
#include <string>

#include "rdmabench/transport/transport.h"

namespace rdmabench::run {

// Bounds of what a client may ask for, kept by both sides.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{256} << 20;  ///< bytes of one message
inline constexpr std::uint32_t kMaxDepth = 16384;                    ///< messages outstanding
inline constexpr std::uint64_t kMaxEpoch = std::uint64_t{1} << 31;   ///< messages of one epoch
inline constexpr std::uint32_t kMaxWorkers = 64;                     ///< threads
inline constexpr std::uint32_t kMaxQueuePairs = 1024;                ///< queue pairs of a worker
inline constexpr std::uint32_t kMaxAllQueuePairs = 4096;             ///< ... of all workers
inline constexpr std::uint32_t kMaxClients = 1024;                   ///< of one incast
inline constexpr std::uint32_t kMaxSegments = 32;
using transport::kMaxPostList;
inline constexpr std::uint64_t kMaxWorkingSet = std::uint64_t{1} << 40;  ///< bytes

/// The options of the endpoints, and what else both sides of a session do alike. In a Config, a
/// depth, receives or signal_every of 0 leaves the choice to run(); a SessionSpec has every choice
/// made. depth is 1..kMaxDepth (0 = 128 for a stream, 16 for latency),
/// queue_pairs 1..kMaxQueuePairs of each worker.
struct SharedOptions : transport::EndpointOptions {
  SharedOptions() { depth = receives = signal_every = 0; }

  std::uint32_t workers = 1;  ///< endpoints, each driven by its own thread; 1..kMaxWorkers
  std::uint32_t client_queue_pairs = 0;  ///< UD: the client's queue pairs for all peers; 0 = all
  /// A traffic pattern that both programs registered, in place of the loops of the shape, which is
  /// then latency: see run/patterns.h. "" = none.
  std::string pattern;
  bool validate = false;      ///< compare every byte that arrives
  bool target_idle = false;   ///< latency: the target's CPU stays idle and does not poll
  bool watch = true;          ///< counters, placement and noise of both sides; about 50 ms
  std::uint32_t clients = 1;  ///< incast: so many clients of the server start together
  std::string job;            ///< incast: clients with another one do not count; at most 256 bytes
  std::uint64_t working_set = 0;  ///< bytes that messages walk through; 0 = hot in cache
  std::uint64_t stride = 0;  ///< bytes from one message to the next; 0 = its size in cache lines
};

}  // namespace rdmabench::run
