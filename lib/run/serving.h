// One session of a server, from its client's request to its end.
#pragma once

#include <string>
#include <vector>

#include "base/allowed_peers.h"
#include "rdmabench/run/server.h"
#include "run/gate.h"
#include "run/processors.h"
#include "run/quota.h"
#include "run/session.h"
#include "run/turns.h"

namespace rdmabench::run {

/// What the server lends to one session; kept when the session starts over.
struct ServerResources {
  const ServerConfig& config;
  const AllowedNetworks& allowed;
  Gate& gate;
  Turns& turns;  ///< to look for devices and to open an endpoint
  Quota& quota;
  Processors& processors;
  const std::string& name;            ///< the address under which the client is counted
  std::vector<Quota::Share>& shares;  ///< threads and memory of this session, for all its workers
  bool& begun;                        ///< set once both sides are ready to measure
};

/// A whole session, once its client has connected. Returns its line for the log. Throws what ended
/// it; the client is not told yet.
std::string run_server_session(Session& session, const ServerResources& resources);

}  // namespace rdmabench::run
