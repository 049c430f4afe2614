// One session of a server, from its client's request to its end.
#pragma once

#include <string>
#include <vector>

#include "base/allowed_peers.h"
#include "rdmabench/run/server.h"
#include "run/budget.h"
#include "run/fair_semaphore.h"
#include "run/incast_barrier.h"
#include "run/processors.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// What the server lends to one session; kept when the session starts over.
struct ServerResources {
  const ServerConfig& config;
  const AllowedNetworks& allowed;
  IncastBarrier& incast;
  FairSemaphore& turns;  ///< to look for devices and to open an endpoint
  Budget& budget;
  Processors& processors;
  const std::string& name;             ///< the address under which the client is counted
  std::vector<Budget::Share>& shares;  ///< threads and memory of this session, for all its workers
  bool& begun;                         ///< set once both sides are ready to measure
};

/// A whole session, once its client has connected. Returns its event, without the peer. Throws what
/// ended it; the client is not told yet.
SessionEvent run_server_session(Session& session, const ServerResources& resources);

}  // namespace rdmabench::inline v1::run
