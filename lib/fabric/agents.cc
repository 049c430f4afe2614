#include "fabric/agents.h"

#include <fmt/format.h>

#include <utility>

#include "fabric/plan.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

Member member_of(Ready ready, const FabricPlan& plan) {
  if (ready.ports.size() != rails_of(plan)) {
    throw Error(Fault::failed, fmt::format("it serves {} rails where the plan has {}",
                                           ready.ports.size(), rails_of(plan)));
  }
  return {.node = {.rails = std::move(ready.rails),
                   .interfaces = std::move(ready.interfaces),
                   .environment = std::move(ready.environment)},
          .ports = std::move(ready.ports)};
}

}  // namespace

AdmittedAgents admit(control::Listener& listener, const std::string& run_id, std::uint32_t size,
                     const FabricPlan& plan, Deadline deadline,
                     std::vector<std::optional<control::Channel>>& channels,
                     std::function<std::string(std::uint32_t)> host_of,
                     std::function<void(const std::vector<std::string>&)> on_wait,
                     std::function<void(const control::RefusedPeer&)> on_refused) {
  AdmittedAgents admitted;
  admitted.members.resize(size);
  control::Admission admission(
      listener, {.run_id = run_id,
                 .size = size,
                 .greeting = control::Message{FabricMessage::plan, to_text(PlanOrder{plan})},
                 .ready = FabricMessage::ready,
                 .on_ready =
                     [&](std::uint32_t rank, const std::string& payload) {
                       admitted.members[rank] = member_of(parse<Ready>(payload), plan);
                     },
                 .host_of = std::move(host_of),
                 .on_wait = std::move(on_wait),
                 .on_refused = std::move(on_refused)});
  for (control::Seat& seat : admission.admit(deadline)) {
    const auto rank = static_cast<std::uint32_t>(channels.size());
    Member& member = admitted.members[rank];
    if (!seat.absent.empty()) {
      member = {};
      admitted.lost.push_back({.rank = rank, .round = 0, .reason = std::move(seat.absent)});
      channels.emplace_back();
    } else {
      channels.push_back(std::move(seat.channels.front()));
    }
    member.node.rank = rank;
    member.node.host = std::move(seat.hello.host);
    member.address = std::move(seat.address);
  }
  return admitted;
}

}  // namespace rdmabench::inline v1::fabric
