// One session of a server, from its client's request to its end.
#pragma once

#include <string>
#include <vector>

#include "base/allowed_peers.h"
#include "rdmabench/run/server.h"
#include "run/gate.h"
#include "run/quota.h"
#include "run/session.h"
#include "run/turns.h"

namespace rdmabench::run {

/// What every attempt of a session uses.
struct Host {
  const ServerConfig& config;
  const AllowedNetworks& allowed;
  Gate& gate;
  Turns& turns;  ///< to look for devices and to open an endpoint
  Quota& quota;
  const std::string& name;            ///< whom the client counts as
  std::vector<Quota::Share>& shares;  ///< threads and memory of this session, for all its workers
  bool& begun;                        ///< set once both sides are ready to measure
};

/// A whole session, once its client has connected. Returns its line for the log. Throws what ended
/// it; the client is not told yet.
std::string converse(Session& session, const Host& host);

}  // namespace rdmabench::run
