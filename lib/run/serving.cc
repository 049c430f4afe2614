#include "run/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "health/run_watch.h"
#include "memory/gpu_memory.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "run/epoch_text.h"
#include "run/idle_limit.h"
#include "run/pattern_table.h"
#include "transport/session_request.h"
#include "verify.h"

namespace rdmabench::inline v1::run {
namespace {

using Clock = std::chrono::steady_clock;

std::string describe(const SessionSpec& spec, const transport::Description& endpoint) {
  constexpr std::array<std::string_view, 4> kTests{"latency", "bandwidth",
                                                   "bidirectional bandwidth", "load"};
  return fmt::format("{} of {} over {} {}",
                     spec.traffic.pattern.empty()
                         ? kTests[static_cast<std::size_t>(spec.traffic.shape)]
                         : std::string_view(spec.traffic.pattern),
                     operation_text(spec.traffic.pattern, spec.traffic.operation), endpoint.backend,
                     endpoint.device);
}

/// What came of a client's epochs.
struct ServedEpochs {
  std::uint64_t messages = 0;
  std::string failed;  ///< why the verified transfer failed, which comes before anything is timed
};

/// Waits until all clients of an incast can begin.
void wait_for_others(const Session& session, const ServerResources& resources) {
  const SessionSpec& spec = session.spec();
  if (spec.traffic.incast_clients == 1) return;
  // A little less than the client waits, so that it receives the error.
  resources.incast.pass(spec.traffic.incast_job, spec.traffic.incast_clients,
                        Deadline::after(spec.timeout * 9 / 10), session.stop());
}

/// The workers' part of an epoch.
EpochOutcome run_epoch(Session& session, const ServerResources& resources, const IdleLimit& idle) {
  const Polling polling(resources.processors, resources.name, session.workers());
  const WhileIdle bound{polling,
                        std::max<std::chrono::nanoseconds>(session.longest_epoch(), idle.left())};
  try {
    return session.run({}, &bound);
  } catch (const EpochError& error) {
    if (error.outcome() != workload::Outcome::stalled || bound.limit >= session.patience()) throw;
    idle.refuse(bound.limit);
  }
}

/// One epoch. Returns its outcome.
EpochOutcome serve_epoch(Session& session, const EpochOrder& order,
                         const ServerResources& resources, const IdleLimit& idle) {
  session.prepare(workload::Side::target, order);
  session.send(SessionMessage::ready);
  EpochOutcome outcome = run_epoch(session, resources, idle);
  if (session.spec().traffic.target_idle)
    session.receive(SessionMessage::result, "end of the operations");
  if (order.verify) wait_for_others(session, resources);
  session.send(SessionMessage::result, to_text(outcome.target));
  return outcome;
}

/// Serves epochs until the client says bye or gives up.
ServedEpochs serve_epochs(Session& session, health::RunWatch* watch,
                          const ServerResources& resources) {
  ServedEpochs done;
  IdleLimit idle(resources.config.max_idle, Clock::now(), resources.config.command);
  std::chrono::nanoseconds paused{0};  // in the last epoch
  bool timed = !may_start_over(session.spec());
  for (;;) {
    session.throw_if_stopped();
    idle.begin_wait(Clock::now(), paused);
    const control::Message message = session.receive("order of the client");
    idle.end_wait(Clock::now());
    if (message.type == SessionMessage::bye) {
      Farewell farewell;
      if (watch != nullptr) farewell.conditions = watch->end();
      session.send(SessionMessage::bye, to_text(farewell));
      return done;
    }
    if (message.type == SessionMessage::abort) {
      const std::string text = fmt::format("the client gave up: {}", ascii_only(message.payload));
      if (timed) throw Error(Fault::failed, text);
      done.failed = text;
      return done;
    }
    if (message.type != SessionMessage::epoch) {
      throw Error(Fault::failed, fmt::format("the client sent '{}' instead of an epoch",
                                             name_of(message.type.as<SessionMessage>())));
    }
    const EpochOrder order = parse<EpochOrder>(message.payload, &session.spec());
    timed = timed || !order.verify;
    try {
      const EpochOutcome outcome = serve_epoch(session, order, resources, idle);
      paused = outcome.paused;
      done.messages += outcome.messages;
    } catch (const Error& error) {
      if (timed || !may_be_the_memory(session, error)) throw;
      done.failed = error.what();
      return done;
    }
  }
}

/// The client's next request after a verified transfer failed. Throws Error(failed) with `why`
/// where it sends none or has had all attempts.
Request ask_again(Session& session, const std::string& why, FailedTransfers& failed) {
  if (failed.were_all()) throw Error(Fault::failed, why);
  try {
    failed.start_over(session, why);
    return parse<Request>(session.receive(SessionMessage::request, "request"));
  } catch (const std::exception& error) {
    throw Error(Fault::failed, fmt::format("{}; and it did not start over: {}", why, error.what()));
  }
}

/// Where messages are staged in host memory: how long the copies take, which are not timed.
void add_staging_cost(Session& session, report::Facts& facts) {
  memory::GpuMemory* const gpu = session.worker().gpu_memory();
  if (gpu == nullptr || !gpu->staged()) return;
  const memory::CopyTimes times = gpu->measure_copies(session.spec().max_size);
  facts.push_back({"staging_copy_bytes", times.bytes});
  facts.push_back({"staging_to_device_ns", times.to_device_ns});
  facts.push_back({"staging_from_device_ns", times.from_device_ns});
}

void check_timeout(const Request& request, const ServerConfig& config) {
  if (request.spec.timeout <= config.max_timeout) return;
  throw Error(
      Fault::failed,
      fmt::format("a timeout of {}ms is longer than this server's limit of {}s",
                  request.spec.timeout.count(),
                  std::chrono::duration_cast<std::chrono::seconds>(config.max_timeout).count()),
      fmt::format("Lower `timeout`{}.", or_raise(config.command, "--max-timeout")));
}

/// Waits for this session's turn, for less time than the client waits.
FairSemaphore::Turn wait_for_turn(const Session& session, const ServerResources& resources) {
  const auto least =
      std::min<std::chrono::nanoseconds>(resources.config.timeout, session.spec().timeout);
  return resources.turns.wait(resources.name, Deadline::after(least * 9 / 10), session.stop());
}

/// The server's half of setting up a session.
void open_workers(Session& session, Request& request, const transport::EndpointRequest& wanted,
                  const ServerResources& resources) {
  ServerSteps steps;
  steps.admit = [&](const Backend& backend, const std::vector<std::string>& choices) {
    std::vector<transport::Footprint> each;  // of a choice
    {
      const FairSemaphore::Turn turn =
          wait_for_turn(session, resources);  // it may look for devices
      for (const std::string& choice : choices) each.push_back(backend.footprint(wanted, choice));
    }
    for (std::size_t i = 0; i < request.spec.traffic.threads; ++i) {
      const transport::Footprint& takes = each[i % each.size()];
      resources.shares.push_back(resources.budget.take(
          resources.name, {.memory = takes.memory, .descriptors = takes.descriptors}));
    }
  };
  steps.open = [&](const Backend& backend, const transport::EndpointRequest& of_one,
                   std::string_view choice) {
    const FairSemaphore::Turn turn = wait_for_turn(session, resources);
    session.open(backend, of_one, choice);
  };
  steps.introduce = [&] {
    Introduction own{.addresses = {},
                     .environment = report::collect_environment(),
                     .memory = session.memory_path()};
    for (report::Fact& fact : session.memory_facts()) own.environment.push_back(std::move(fact));
    add_staging_cost(session, own.environment);
    return own;
  };
  const std::vector<Offer> ours = [&] {
    const FairSemaphore::Turn turn = wait_for_turn(session, resources);
    const bool branches = !request.spec.traffic.pattern.empty();  // by kPostLists, itself
    return answer_offers(branches ? without_lists(wanted) : wanted, request.rails.front(),
                         resources.config.backend);
  }();
  const std::size_t rails = std::exchange(request.rails, {}).size();  // a client's may be large
  connect_server(session, wanted, ours, rails, request.spec.traffic.threads, steps);
}

/// Opens the workers and serves epochs, until the client ends the session or starts over.
ServedEpochs serve_request(Session& session, Request& request, const ServerResources& resources,
                           const memory::FailedRoutes& failed) {
  check_timeout(request, resources.config);
  session.agree(request.spec);
  session.set_cpus(resources.config.cpus);
  transport::EndpointRequest wanted = endpoint_request(request.spec, false);
  wanted.device = resources.config.device;
  wanted.gid_index = resources.config.gid_index;
  wanted.local_ip = session.channel().local_ip();
  wanted.peer_ip = session.channel().peer_ip();
  wanted.session = std::make_shared<transport::SessionRequest>(transport::SessionRequest{
      failed, AllowedPeers(wanted.peer_ip, wanted.local_ip, resources.allowed)});
  wanted.stop = session.stop();
  resources.shares.clear();  // the workers that they were for are closed
  resources.shares.push_back(resources.budget.take(
      resources.name, {.threads = request.spec.traffic.threads,
                       .memory = memory_of(wanted) * request.spec.traffic.threads}));
  open_workers(session, request, wanted, resources);
  std::optional<health::RunWatch> watch;
  if (request.spec.traffic.watch) {
    watch.emplace(session.devices());
    watch->begin();
  }
  if (!request.spec.gpu)
    wait_for_others(session, resources);  // else with the transfer to be verified
  session.send(SessionMessage::ready, to_text(Readiness{session.write_order()}));
  resources.begun = true;
  session.set_timeout(request.spec.timeout);
  return serve_epochs(session, watch ? &*watch : nullptr, resources);
}

}  // namespace

SessionEvent run_server_session(Session& session, const ServerResources& resources) {
  Request request = parse<Request>(session.receive(SessionMessage::request, "request"));
  FailedTransfers failed;
  for (;;) {
    const ServedEpochs done = serve_request(session, request, resources, failed.routes());
    if (done.failed.empty()) {
      const std::string what = describe(request.spec, session.worker().describe());
      return {.text = fmt::format("{}: {} messages", what, done.messages),
              .messages = done.messages};
    }
    request = ask_again(session, done.failed, failed);
  }
}

}  // namespace rdmabench::inline v1::run
