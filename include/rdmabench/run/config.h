// What one run measures, and how. The command line fills it in, and so may any program.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/control/channel.h"
#include "rdmabench/measure/stop.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

inline constexpr std::uint16_t kDefaultPort = 18515;  ///< perftest's

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

/// What both sides of a session do alike. docs/api.md#config has the bounds of each option.
struct Traffic {
  workload::Shape shape = workload::Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;  ///< not of a `pattern`
  /// Messages that may be outstanding on a queue pair; none: 128, and 16 for latency.
  std::optional<std::uint32_t> depth{};
  std::optional<std::uint32_t> receives{};      ///< kept posted on a queue pair; none: choose
  std::optional<std::uint32_t> signal_every{};  ///< messages for each completion; none: choose
  std::uint32_t threads = 1;                    ///< of each side, each with an endpoint of its own
  std::uint32_t client_queue_pairs = 0;  ///< UD: the client's queue pairs for all peers; 0 = all
  /// A traffic pattern that both programs registered, in place of the loops of the shape, which is
  /// then latency: see run/patterns.h. "" = none.
  std::string pattern{};
  bool validate = false;  ///< compare every byte that arrives
  workload::ArrivalProcess arrivals =
      workload::ArrivalProcess::constant;  ///< load: when messages are due
  bool target_idle = false;          ///< latency: the target's CPU stays idle and does not poll
  bool watch = true;                 ///< counters, placement and noise of both sides; about 50 ms
  std::uint32_t incast_clients = 1;  ///< so many clients of the server start together
  std::string incast_job{};          ///< clients with another one do not count; at most 256 bytes
  std::uint64_t working_set = 0;     ///< bytes that messages walk through; 0 = hot in cache
  std::uint64_t stride = 0;  ///< bytes from one message to the next; 0 = its size in cache lines
};

/// Where this side's end is: devices, addresses, memory and processors. The server has its own.
struct Placement {
  /// None = choose. The server's are chosen to match. Worker i uses device i modulo their number.
  std::vector<std::string> devices{};
  /// RoCE; transport::kAnyGid = choose, kAnyIpv6Gid = choose of those of IPv6.
  std::int32_t gid_index = transport::kAnyGid;
  std::string fabric{};         ///< libfabric: "efa", "efa-direct"; "" = choose
  std::string source_ip{};      ///< libfabric, of the endpoints; "" = the control connection's
  std::string memory = "host";  ///< see memory/
  std::string peer_memory{};    ///< the server's: "host", "huge", "cuda:..."; "" = of this kind
  std::string numa = "auto";    ///< of the memory: "auto" = near the device, "none", a node
  std::vector<int> cpus{};      ///< worker i runs on cpus[i modulo their number]; none = anywhere
};

/// One condition on an open endpoint.
///   rdma-write, rdma-read   the device does writes, or reads, and not software
///   no-shm                  a peer on the same host is not reached through shared memory
///   in-order-128            each 128 aligned bytes arrive in order, and once
///   gpudirect               a side has GPU memory, and none of it is copied through the host's
///   fabric=NAME             libfabric's fabric has that name: efa, efa-direct
///   backend=NAME, provider=NAME, device=NAME or NAME:PORT    what was taken, as results name it
struct Requirement {
  std::string name;
  std::string value;  ///< the name; "" for the others

  bool operator==(const Requirement&) const = default;
};

/// Parses a comma-separated list. Throws Error(usage) that names the unknown word and lists the
/// known ones.
std::vector<Requirement> parse_requirements(std::string_view text);

struct Unmet {
  Requirement requirement;
  std::string reason;  ///< a whole sentence
};

/// The requirements that the endpoint does not meet. A fact that the endpoint does not tell counts
/// as not met. `gpudirect` is a fact of a session, which a run adds to what its endpoints tell.
std::vector<Unmet> unmet(std::span<const Requirement> requirements,
                         const transport::Description& endpoint);

struct Config {
  Traffic traffic{};
  transport::EndpointOptions endpoint{};
  Placement placement{};

  std::vector<std::uint64_t> sizes{8};  ///< bytes, each 1..kMaxSize; atomics have 8
  /// When each size has been measured enough. From outside a run is ended by RunHooks::stop.
  measure::StopRule stop = measure::StopRule::stable({});
  std::vector<std::uint64_t> counts{};  ///< messages of each of `sizes`, instead of `stop`; or none
  std::int64_t warmup = -1;             ///< messages per size before the timed ones; -1 = choose
  std::chrono::nanoseconds warmup_time{0};  ///< and at least this long
  /// Messages per second of a stream or of the open loop, over all workers; 0 = as fast as it goes.
  double rate = 0;
  double bit_rate = 0;  ///< the same as bits of payload per second, for every size; 0 = none
  /// Also report each interval of this length; 0 = only the whole.
  std::chrono::nanoseconds interval{0};

  std::string backend = "auto";              ///< "auto", "verbs", "ofi", "ucx", "loop"
  std::vector<Requirement> requirements{};   ///< the run fails where the endpoint lacks one
  control::Authentication authentication{};  ///< how server and client prove who they are

  /// How long a refused connection is tried again: a server that was started in the same moment may
  /// not listen yet. At most half the timeout.
  std::chrono::milliseconds connect_retry = std::chrono::seconds(2);

  /// The longest wait for the peer, a control message or a completion.
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);
};

/// The defaults of the command: 64 KiB messages of a stream, and
/// send-imm under a load, because every transport can match its answers to requests.
Config usual_config(workload::Shape shape);

struct ClientConfig {
  Config config;
  std::string host;  ///< of the server; "" = none, see run_in_process()
  std::uint16_t port = kDefaultPort;
};

/// Reads a JSON object of at most 1 MiB, as a user writes it: {"shape": "bandwidth", "operation":
/// "write", "sizes": [8, 4096], "stop": {"duration_s": 0.5}, "host": "node1"}. docs/api.md#config
/// and docs/c.md list the keys: named as in errors and in the `config` of a report. What it does
/// not have, and null, is as in usual_config(). Throws Error(usage) that names the key in
/// backquotes, its value and what is allowed; which options exclude one another is left to run().
ClientConfig config_from_json(std::string_view text);

/// Messages per second of this size; 0 = as fast as it goes.
constexpr double rate_of(const Config& config, std::uint64_t size) {
  constexpr double kBits = 8;
  return config.rate > 0 ? config.rate : config.bit_rate / (kBits * static_cast<double>(size));
}

/// How far a run is; reported between epochs, never while one is timed, and of a stream of a time
/// four times a second, while it goes on: be quick. None comes at the start of a size.
struct Progress {
  std::size_t size_index = 0;
  std::size_t sizes = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t iterations = 0;         ///< timed so far at this size
  std::uint64_t target_iterations = 0;  ///< at which this size ends; 0 = by time or by stability
  std::chrono::nanoseconds elapsed{0};  ///< timed so far at this size
  std::chrono::nanoseconds target_time{0};  ///< at which this size ends; 0 = not by time
  /// By which this size ends at the latest, where it ends when it is stable; 0 = it does not.
  std::chrono::nanoseconds max_time{0};
  std::size_t load_index = 0;  ///< of a curve of latency under load: the loads that are measured
  std::size_t loads = 0;       ///< of that many; 0 = no such curve
  double messages_per_s = 0;   ///< of the last epoch, timed part only
};
using OnProgress = std::function<void(const Progress&)>;

}  // namespace rdmabench::inline v1::run
