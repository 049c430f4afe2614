#include "rdmabench/fabric/run.h"

#include <fmt/format.h>

#include <exception>
#include <thread>
#include <utility>

#include "agent.h"
#include "base/refuse.h"
#include "fabric/plan.h"
#include "lead.h"
#include "run/negotiate.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr std::string_view kUse = "fabric";

AgentOptions agent_options(const FabricOptions& options, const control::JobPosition& place) {
  return {.rank = place.rank, .size = place.size, .host = place.host, .base = options.base};
}

/// Throws Error(usage) for options that no agent could measure.
void check_options(const FabricOptions& options) {
  for (const Metric metric : {Metric::latency, Metric::bandwidth}) {
    const run::Config config = config_of(options.plan, options.base, metric, 0);
    if (!config.sizes.empty()) static_cast<void>(run::plan_client(config));
  }
}

}  // namespace

RankOutcome run(const FabricOptions& options, std::unique_ptr<control::Rendezvous> rendezvous,
                const OnFabricProgress& on_progress) {
  const control::JobPosition place = rendezvous->place();
  refuse_if(place.size < 2 || place.size > kMaxNodes,
            fmt::format("a fabric of {} ranks, by {}", place.size, place.source),
            fmt::format("Start 2 to {} processes, one on each node.", kMaxNodes));
  std::optional<Prepared> prepared;  // now: nobody has to come for a plan or file that is wrong
  if (place.rank == 0) {
    prepared = prepare(options, place.size);
    check_options(options);
  }
  control::Bootstrap found = rendezvous->meet(kUse, options.port, Deadline::after(options.wait));
  RankOutcome outcome{.rank = place.rank};
  if (place.rank != 0) {
    rendezvous.reset();  // Slurm ends the whole step when a client of PMIx dies
    const AgentEnd end = run_agent(agent_options(options, place), found.address, options.wait);
    outcome.left_early = end.left_early;
    outcome.last = end.last;
    return outcome;
  }
  // Rank 0's own agent. The coordinator learns why it failed, and names it.
  const std::jthread own([&options, &found, &place] {
    try {
      run_agent(agent_options(options, place), found.address, options.wait);
    } catch (const std::exception&) {
    }
  });
  // An error closes the listener, so that the agent's thread ends: it is joined after that.
  control::Listener listener = std::move(*found.listener);
  outcome.result = lead(options, std::move(*prepared), found.address.run_id, listener, on_progress,
                        [&](std::uint32_t rank) { return rendezvous->host_of(rank); });
  return outcome;
}

}  // namespace rdmabench::inline v1::fabric
