// The client's half of setting up a session.
#pragma once

#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// What a client asks for: every choice that its configuration leaves open is made.
struct ClientPlan {
  SessionSpec spec{};
  std::vector<transport::EndpointRequest>
      rails{};  ///< for each device of the client; one where none is named
  std::string backend{};
  std::vector<Requirement> requirements{};
};

/// Throws Error(usage) for a configuration that no peer could run; the error names the value and
/// the nearest right one.
ClientPlan plan_client(const Config& config);

/// Throws Error that names the option where this machine lacks the GPU of `placement.memory`.
void check_memory(const std::string& memory);

/// Throws Error where this machine lacks the GPU, or a device for the back end that is named.
void check_this_side(const ClientPlan& plan);

/// Agrees with the server on a back end and a path, opens the workers and connects them.
/// Throws Error, also where a worker does not meet the requirements; with Fault::unavailable
/// when no back end reaches the peer, saying why each one does not. `failed` are routes of
/// registering a GPU's memory that this side is not to take again.
ServerAnswer negotiate(Session& session, const ClientPlan& plan,
                       const memory::FailedRoutes& failed = {});

}  // namespace rdmabench::inline v1::run
