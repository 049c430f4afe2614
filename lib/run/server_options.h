// The options of a server, as one table: of rdmabench serve and of a program's JSON.
#pragma once

#include <limits>

#include "rdmabench/run/config.h"
#include "rdmabench/run/server.h"
#include "run/options.h"

namespace rdmabench::inline v1::run {

/// Calls visit(name, flag, value, help, bounds) for each, in the order of --help. Where no flag
/// sets it, `flag` is ""; of who is served it is the three that each command has.
template <class Visit>
void walk_options(ServerConfig& config, Visit&& visit) {
  constexpr Bounds kClients{1, kMaxClients};
  constexpr Bounds kThreads{1, kMaxClients * kMaxWorkers};
  constexpr Bounds kWait{100, 86'400'000, Unit::milliseconds};
  visit("address", "--address=ADDRESS", config.address,
        "listen on this address only [all, IPv4 and IPv6]");
  visit("port", "-p, --port=N", config.port, "TCP port of the server [18515]", Bounds{0, 65535});
  visit("authentication", "", config.authentication, "");
  visit("cpus", "--cpu=N", config.cpus, "", Bounds{0, 1023});
  visit("backend", "", config.backend, "");
  visit("device", "--device=NAME", config.device,
        "use this device only: NAME[:PORT] or a libfabric domain [to match the client]");
  visit("gid_index", "", config.gid_index, "", Bounds{-1, 255});
  visit("sessions", "", config.sessions, "", Bounds{0, std::numeric_limits<std::int64_t>::max()});
  visit("max_clients", "--max-clients=N", config.max_clients, "clients at once [256]", kClients);
  visit("max_address_clients", "--max-address-clients=N", config.max_address_clients,
        "clients at once from one address; this machine's count as one [64]", kClients);
  visit("max_threads", "--max-threads=N", config.max_threads,
        "threads of all sessions at once [1024]", kThreads);
  visit("max_address_threads", "--max-address-threads=N", config.max_address_threads,
        "threads of the sessions of one address [256]", kThreads);
  visit("max_memory", "--max-memory=SIZE", config.max_memory,
        "memory of all sessions at once [8G]");
  visit("max_address_memory", "--max-address-memory=SIZE", config.max_address_memory,
        "memory of the sessions of one address [4G]");
  visit("timeout_s", "--timeout=TIME", config.timeout,
        "how long a client may take for each step of its set-up [10s]", kWait);
  visit("max_timeout_s", "--max-timeout=TIME", config.max_timeout,
        "longest --timeout that a client may ask for [1m]", kWait);
  visit("max_idle_s", "--max-idle=TIME", config.max_idle,
        "limit of the time a client pauses minus the time it measures [2m]", kWait);
  visit("max_session_s", "--max-session=TIME", config.max_session, "longest session [24h]",
        Bounds{100, 365 * kWait.max, Unit::milliseconds});
  visit("allow", "--allow=NETWORKS", config.allow,
        "send to these networks, and not to the subnet of the RDMA device: 10.0.0.0/8, a prefix of "
        "GIDs as fe80::/64, lid:FIRST-LAST or any; separated by commas [that subnet, and the "
        "address that a client came from]");
  visit("allow_providers", "--allow-provider=NAMES", config.allow_providers,
        "serve these providers of libfabric too, although they endanger a server: shm, udp, tcp or "
        "net over ofi_rxm, for other machines also those whose addresses cannot be judged; ucx, "
        "the back end too; or any; separated by commas (docs/limits.md)");
}

}  // namespace rdmabench::inline v1::run
