#include "lead.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "base/new_file.h"
#include "fabric/agents.h"
#include "fabric/paths.h"
#include "fabric/stream.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr int kMostPlans = 16;  // each spends at least one of ConfirmationOptions::max_rounds

bool is_free(const Step& step, const Pair& pair) {
  return std::none_of(step.begin(), step.end(), [&](const Pair& other) {
    return other.sender == pair.sender || other.sender == pair.receiver ||
           other.receiver == pair.sender || other.receiver == pair.receiver;
  });
}

std::vector<Node> nodes_of(const AdmittedAgents& admitted) {
  std::vector<Node> nodes;
  for (const Member& member : admitted.members) nodes.push_back(member.node);
  return nodes;
}

/// Random rounds are chosen by what they cross, once the hosts are known.
std::vector<Round> chosen_rounds(const FabricPlan& plan, std::vector<Round> rounds,
                                 const Topology* topology, const std::vector<Node>& nodes) {
  if (topology == nullptr) return rounds;
  const auto rails = static_cast<std::uint32_t>(std::max<std::size_t>(1, plan.rails.size()));
  const Paths paths(*topology, nodes, rails);  // a host that is missing is told before the rounds
  if (parse_pattern(plan.pattern) != Pattern::random) return rounds;
  const auto size = static_cast<std::uint32_t>(nodes.size());
  const auto count = static_cast<std::uint32_t>(rounds.size());
  return covering(schedule(Pattern::full, size, 0, plan.seed), count, paths, rails);
}

}  // namespace

std::vector<Round> rounds_of(const std::vector<Confirmation>& wanted) {
  std::map<std::uint32_t, Round> rounds;
  std::set<std::pair<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>>> seen;
  for (const Confirmation& one : wanted) {
    if (!seen.insert({one.round, {one.sender, one.receiver}}).second) continue;  // another rail
    std::vector<Step>& steps = rounds[one.round].steps;
    const Pair pair{one.sender, one.receiver};
    auto step = std::find_if(steps.begin(), steps.end(),
                             [&](const Step& some) { return is_free(some, pair); });
    if (step == steps.end()) step = steps.insert(steps.end(), Step());
    step->push_back(pair);
  }
  std::vector<Round> found;
  for (auto& [number, round] : rounds) {
    round.pattern = "confirm";
    found.push_back(std::move(round));
  }
  return found;
}

Attribution confirm(Coordinator& coordinator, std::uint32_t& number,
                    const ConfirmationOptions& options, const Topology* topology,
                    const std::function<void()>& done, const std::stop_token& stop) {
  Attribution verdict = attribute(coordinator.matrix(), topology);
  for (int i = 0; i < kMostPlans; ++i) {
    const std::size_t before = coordinator.matrix().measurements.size();
    for (const Round& round : rounds_of(confirmations(verdict, coordinator.matrix(), options))) {
      if (stop.stop_requested()) return verdict;
      coordinator.measure(round, number++, true);
      done();
    }
    if (coordinator.matrix().measurements.size() == before) break;  // nothing open, no nodes left
    verdict = attribute(coordinator.matrix(), topology);
  }
  return verdict;
}

Prepared prepare(const FabricOptions& options, std::uint32_t size) {
  const FabricPlan& plan = options.plan;
  check(plan);
  Prepared prepared{.size = size,
                    .rounds = schedule(parse_pattern(plan.pattern), size, plan.rounds, plan.seed)};
  if (!options.resume.empty()) {
    prepared.earlier = read_stream(options.resume);
    check_resumable(*prepared.earlier, plan, size);
    if (find_place(options.resume).open(O_RDWR).get() < 0) {
      throw Error(Fault::usage, fmt::format("write to '{}'", options.resume),
                  "Name a file that can be written.", errno);
    }
  } else {
    check_writable(options.output);
  }
  if (!options.topology.empty()) prepared.topology = read_topology(options.topology);
  return prepared;
}

FabricResult lead(const FabricOptions& options, Prepared prepared, const std::string& run_id,
                  control::Listener& listener, const OnFabricProgress& on_progress,
                  const std::function<std::string(std::uint32_t)>& host_of) {
  const FabricPlan& plan = options.plan;
  std::optional<Matrix>& earlier = prepared.earlier;

  std::vector<std::optional<control::Channel>> channels;
  const Deadline all_here = Deadline::after(options.wait);
  std::function<void(const std::vector<std::string>&)> on_wait;
  std::function<void(const control::RefusedPeer&)> on_refused;
  if (on_progress) {  // else nobody is asked for the hosts of those that are missing
    on_wait = [&](const std::vector<std::string>& missing) {
      on_progress({.missing = missing, .waits = all_here.left()});
    };
    on_refused = [&](const control::RefusedPeer& refused) {
      on_progress({.refused = to_text(refused)});
    };
  }
  AdmittedAgents admitted = admit(listener, run_id, prepared.size, plan, all_here, channels,
                                  host_of, on_wait, on_refused);
  control::Star agents(std::move(channels), &listener);
  const std::vector<Node> nodes = nodes_of(admitted);
  if (earlier) check_hosts(*earlier, nodes);
  const Topology* const topology = prepared.topology ? &*prepared.topology : nullptr;
  const std::vector<Round> rounds =
      chosen_rounds(plan, std::move(prepared.rounds), topology, nodes);

  std::optional<StreamFile> file;
  if (earlier)
    file.emplace(options.resume, StreamFile::Mode::append);
  else if (!options.output.empty())
    file.emplace(options.output,
                 options.launch > 1 ? StreamFile::Mode::append : StreamFile::Mode::replace);
  if (file) file->begin(plan, nodes, options.launch);
  Recorder none;
  Recorder& recorder = file ? *file : none;

  Coordinator coordinator(agents, plan, std::move(admitted), recorder, options.coordinator);
  const auto total = static_cast<std::uint32_t>(rounds.size());
  std::uint32_t next = total;  // confirming rounds of an earlier attempt keep their numbers
  if (earlier) {
    for (const Measurement& one : earlier->measurements) next = std::max(next, one.round + 1);
    coordinator.resume(std::move(earlier->measurements));
  }
  const auto tell_of = [&](std::uint32_t round) {
    if (!on_progress) return;
    on_progress({.round = round, .of = total, .alive = coordinator.alive(), .confirming = false});
  };
  tell_of(0);
  for (std::uint32_t i = 0; i < total && !options.stop.stop_requested(); ++i) {
    coordinator.measure(rounds[i], i);
    tell_of(i + 1);
  }
  const auto confirmed = [&] {
    if (!on_progress) return;
    on_progress({.round = next, .of = next, .alive = coordinator.alive(), .confirming = true});
  };
  FabricResult outcome;
  outcome.verdict = options.confirm ? confirm(coordinator, next, {.seed = plan.seed}, topology,
                                              confirmed, options.stop)
                                    : attribute(coordinator.matrix(), topology);
  outcome.complete = !options.stop.stop_requested();
  coordinator.finish(!options.base.requirements.empty(), !outcome.complete);
  outcome.matrix = coordinator.matrix();
  outcome.matrix.launch = options.launch;
  outcome.matrix.allow_tcp = options.allow_tcp;
  if (file && outcome.complete) file->end(outcome.matrix, outcome.verdict);
  outcome.costs = coordinator.costs();
  return outcome;
}

}  // namespace rdmabench::inline v1::fabric
