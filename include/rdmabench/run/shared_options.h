// How a session's workers are made: what both sides of it must do alike.
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
inline constexpr std::uint32_t kMaxPostList = 1024;
inline constexpr std::uint64_t kMaxWorkingSet = std::uint64_t{1} << 40;  ///< bytes

/// In a Config, 0 (or -1 where 0 means something) leaves the choice to make_spec(); in a
/// SessionSpec every choice is made.
struct SharedOptions {
  transport::Service service = transport::Service::automatic;
  std::uint32_t workers = 1;      ///< endpoints, each driven by a thread of its own; 1..kMaxWorkers
  std::uint32_t queue_pairs = 1;  ///< queue pairs of each worker, 1..kMaxQueuePairs
  std::uint32_t client_queue_pairs = 0;  ///< UD: the client's queue pairs that serve them; 0 = all
  std::uint32_t depth =
      0;  ///< of each queue pair, 1..kMaxDepth; 0 = 128 for a stream, 16 for latency
  std::uint32_t receives = 0;      ///< receives kept posted on each queue pair; 0 = choose
  std::uint32_t signal_every = 0;  ///< 1..depth; 0 = choose
  std::uint32_t post_list = 1;     ///< messages handed over by one call, 1..depth
  std::uint32_t segments = 1;      ///< scatter/gather entries of a message
  std::uint32_t outstanding_reads =
      0;                           ///< reads and atomics under way on a queue pair; 0 = the most
  std::int32_t inline_limit = -1;  ///< bytes; -1 = the back end's choice, 0 = off
  std::int32_t mtu = 0;            ///< verbs, bytes; 0 = the smaller active one
  std::int32_t completion_vector = -1;  ///< verbs, with events; -1 = the first
  bool shared_receives = false;     ///< verbs: the queue pairs of a worker share a receive queue
  bool separate_queues = false;     ///< completions of sends and of receives in two queues
  bool events = false;              ///< sleep for completions instead of polling
  bool connection_manager = false;  ///< verbs: connect by rdma_cm
  bool relaxed_ordering = false;    ///< PCIe relaxed ordering for what is registered
  bool on_demand = false;           ///< on-demand paging
  /// A traffic pattern that both programs registered, in place of the loops of the shape, which is
  /// then latency: see run/patterns.h. "" = none.
  std::string pattern;
  bool validate = false;
  bool target_idle = false;   ///< latency: the target does not poll at all; is one-sided one-sided?
  bool watch = true;          ///< counters, placement and noise of both sides, about 50 ms
  std::uint32_t clients = 1;  ///< incast: so many clients of the server start together
  std::uint64_t working_set = 0;  ///< bytes that messages walk through; 0 = hot in cache
  std::uint64_t stride = 0;  ///< bytes from one message to the next; 0 = its size in cache lines
  std::uint32_t misalignment = 0;    ///< bytes off a cache line, 0..63
  std::string gpu_mapping = "auto";  ///< of GPU memory: "auto", "default", "pcie", "data-direct"
  transport::PathOptions path{};     ///< verbs
  std::string provider;              ///< libfabric; "" = choose
  bool delivery = false;       ///< libfabric: a local completion means that the peer has it all
  bool shared_memory = false;  ///< libfabric: efa may reach a peer of its host by memory
};

}  // namespace rdmabench::run
