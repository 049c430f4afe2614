// The client's half of setting up a session.
#pragma once

#include "rdmabench/report/conditions.h"
#include "rdmabench/run/config.h"
#include "run/session.h"

namespace rdmabench::run {

/// Makes every choice that the configuration leaves open. Throws Error(usage) for a configuration
/// that no peer could run; the error names the value and the nearest right one.
SessionSpec make_spec(const Config& config);

/// Agrees with the server on a back end and a path, opens the workers and connects them.
/// Throws Error, also where a worker does not meet config.requirements; with Fault::unavailable
/// when no back end reaches the peer, saying why each one does not. `failed` are routes of
/// registering a GPU's memory that this side is not to take again.
ServerAnswer negotiate(Session& session, const Config& config,
                       const std::vector<memory::FailedRoute>& failed = {});

}  // namespace rdmabench::run
