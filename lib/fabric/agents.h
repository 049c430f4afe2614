// The agents that take part in a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/admission.h"
#include "control/star.h"
#include "messages.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::fabric {

/// An agent that was admitted, and where others reach its servers.
struct Member {
  Node node{};
  std::string address{};               ///< numeric
  std::vector<std::uint16_t> ports{};  ///< one for each rail
};

struct AdmittedAgents {
  std::vector<Member> members{};  ///< by rank; a lost one has no ports
  std::vector<LostNode> lost{};
};

/// Admits every rank that has the run id (control::BootstrapAddress), sends it the plan and waits
/// until it is ready. Ranks that do not come in time, cannot do what the plan says or send an
/// invalid answer are lost, with the reason. `channels` become those of the rest, by rank.
/// `host_of`, `on_wait` and `on_refused` are those of control::AdmissionRules.
AdmittedAgents admit(control::Listener& listener, const std::string& run_id, std::uint32_t size,
                     const FabricPlan& plan, Deadline deadline,
                     std::vector<std::optional<control::Channel>>& channels,
                     std::function<std::string(std::uint32_t)> host_of = {},
                     std::function<void(const std::vector<std::string>&)> on_wait = {},
                     std::function<void(const control::RefusedPeer&)> on_refused = {});

}  // namespace rdmabench::inline v1::fabric
