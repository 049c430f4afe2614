#include "rdmabench/run/client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <optional>

#include "health/run_watch.h"
#include "health/suspect.h"
#include "measurement.h"
#include "memory/gpu_memory.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "run/epoch_text.h"
#include "run/options.h"
#include "run/pattern_table.h"
#include "verify.h"

namespace rdmabench::inline v1::run {
namespace {

report::Facts config_facts(const Config& config, const SessionSpec& spec) {
  using Kind = measure::StopRule::Kind;
  std::string sizes;
  for (const std::uint64_t size : config.sizes) {
    sizes += (sizes.empty() ? "" : ",") + format_size(size);
  }
  report::Facts facts{
      {"operation", operation_text(config.traffic.pattern, config.traffic.operation)},
      {"sizes", sizes},
      {"bidirectional", config.traffic.shape == workload::Shape::bidirectional}};
  Config chosen = config;
  chosen.traffic.depth = depth_of(spec);
  chosen.traffic.signal_every = signal_every_of(spec);
  add_facts(facts, chosen);
  if (config.rate > 0) facts.push_back({"rate_messages_per_s", config.rate});
  if (config.bit_rate > 0) facts.push_back({"rate_bits_per_s", config.bit_rate});
  switch (config.stop.kind) {
    case Kind::iterations:
      facts.push_back({"iterations", config.stop.count});
      break;
    case Kind::duration:
      facts.push_back({"duration_s", std::chrono::duration<double>(config.stop.time).count()});
      break;
    case Kind::stable:
      facts.push_back({"max_noise", config.stop.stability.max_noise});
      break;
  }
  if (!config.placement.devices.empty()) {
    facts.push_back({"device", fmt::format("{}", fmt::join(config.placement.devices, ","))});
  }
  return facts;
}

report::Resolved resolved(Session& session, const std::string& reason) {
  const transport::Description endpoint = session.worker().describe();
  report::Resolved facts{.backend = endpoint.backend,
                         .provider = endpoint.provider,
                         .device = endpoint.device,
                         .transport = endpoint.transport,
                         .reason = reason,
                         .details = {}};
  for (const auto& [name, value] : endpoint.details) facts.details.push_back({name, value});
  facts.device = fmt::format("{}", fmt::join(session.devices(), ","));
  return facts;
}

void set_rate(report::Clock& clock, const measure::TickRate& rate) {
  clock.ns_per_tick = rate.ns_per_tick;
  clock.relative_error = rate.relative_error;
}

report::Clock clock_facts() {
  const measure::ClockSource source = measure::clock_choice().source;
  return {.source = source == measure::ClockSource::tsc ? "tsc" : "CLOCK_MONOTONIC_RAW",
          .reason = measure::clock_choice().reason,
          .stamp_overhead_ns = measure::stamp_overhead_ns(source),
          .resolution_ns = measure::resolution_ns(source)};
}

void set_failure(report::Report& report, Session& session, const std::exception& error) {
  report.error = error.what();
  Failure& failure = report.failure.emplace(failure_of(error));
  if (session.peer_gave_up() &&
      (failure.outcome.empty() || failure.outcome == name(workload::Outcome::interrupted))) {
    const workload::Outcome outcome = session.outcome_of_peer();
    if (outcome != workload::Outcome::ok) failure.outcome = name(outcome);
  }
  failure.peer = session.channel().peer();
  if (!failure.outcome.empty()) {
    failure.operation =
        operation_text(session.spec().traffic.pattern, session.spec().traffic.operation);
  }
}

/// Measures every size in turn. A failure ends the run and becomes the report's error, and so does
/// `obstacle`; wrong use is thrown before the first row.
void measure_all(Session& session, const Config& config, const RunHooks& hooks,
                 const std::optional<Error>& obstacle, report::Report& report) {
  std::optional<health::RunWatch> watch;
  if (config.traffic.watch) {
    watch.emplace(session.devices());
    watch->begin();
  }
  Measurement measurement(session, config, hooks);
  report.clock = clock_facts();
  set_rate(*report.clock, measurement.rate());
  std::optional<health::RunConditions> server;
  try {
    call(hooks.on_begin, report);
    if (obstacle) throw Error(*obstacle);
    for (std::size_t i = 0; i < config.sizes.size(); ++i) {
      measurement.run(i, report);
      set_rate(*report.clock, measurement.rate());
      call(hooks.on_row, report);
    }
    session.send(SessionMessage::bye);
    server = parse<Farewell, 2 * kMaxValues>(session.receive(SessionMessage::bye, "farewell"))
                 .conditions;
  } catch (std::exception& error) {
    set_failure(report, session, error);
    session.leave(error);
    // The back end does not have what was asked for, and there is nothing to report.
    const bool empty = std::visit([](const auto& rows) { return rows.empty(); }, report.results);
    if (empty && report.failure->fault == Fault::usage) throw;
  } catch (const HookThrew& hook) {
    session.channel().abort("a call to the client's own code threw an exception");
    std::rethrow_exception(hook.exception);
  }
  set_rate(*report.clock, measurement.rate());
  // Both sides of a run within one process have the same counters: one account will do.
  const bool apart = find_backend(session.worker().describe().backend).reaches_others;
  if (watch) health::attach(report, watch->end(), server && apart ? &*server : nullptr);
}

}  // namespace

void check_this_side(const Config& config) {
  check_this_side(plan_client(config));
}

report::Report run(const Config& config, const std::string& host, std::uint16_t port,
                   const RunHooks& hooks) {
  const ClientPlan plan = plan_client(config);
  // Before anyone is asked: a GPU, or a device for the back end that was named, that is not here.
  if (config.backend == "auto") {
    check_memory(config.placement.memory);
  } else {
    check_this_side(plan);
  }
  std::optional<PinnedThread> pinned;
  if (!config.placement.cpus.empty()) pinned.emplace(config.placement.cpus.front());
  Session session(control::Channel::connect(host, port, Deadline::after(config.timeout),
                                            std::min<std::chrono::milliseconds>(
                                                config.connect_retry, plan.spec.timeout / 2),
                                            config.authentication, hooks.stop),
                  config.timeout);
  session.set_cpus(config.placement.cpus);
  session.set_stop(hooks.stop);
  report::Report report;
  ServerAnswer answer;
  std::optional<Error> obstacle;
  try {
    answer = negotiate(session, plan);
    obstacle = verify_gpu_memory(session, config, plan, answer, report.notes);
    report.environment.server = std::move(answer.environment);
  } catch (std::exception& error) {
    session.leave(error);
    throw;
  }
  report.config = config_facts(config, plan.spec);
  report.environment.client = report::collect_environment();
  switch (config.traffic.shape) {
    case workload::Shape::latency:
      break;
    case workload::Shape::bandwidth:
    case workload::Shape::bidirectional:
      report.results = std::vector<report::BandwidthResult>();
      break;
    case workload::Shape::load:
      report.results = std::vector<report::LoadResult>();
      break;
  }
  const auto set_resolved = [&] {
    report.resolved = resolved(session, answer.reason);
    report.resolved.staged =
        session.memory_path() == MemoryPath::staged || answer.memory == MemoryPath::staged;
  };
  set_resolved();
  measure_all(session, config, hooks, obstacle, report);
  set_resolved();  // with what the workers have counted by now
  try {
    if (plan.spec.gpu) add_gpu_notes(session, report.environment.server, report);
  } catch (const Error& error) {
    report.notes.push_back(fmt::format("what staging costs is not known: {}", error.what()));
  }
  if (hooks.on_report) hooks.on_report(report);
  return report;
}

report::Report run_in_process(const Config& config, const RunHooks& hooks, ServerConfig server) {
  Config pinned = config;
  server.address = "127.0.0.1";
  server.port = 0;
  server.max_clients = 1;
  server.backend = config.backend;
  server.timeout = std::max<std::chrono::nanoseconds>(server.timeout, config.timeout);
  server.max_timeout = std::max<std::chrono::nanoseconds>(server.max_timeout, config.timeout);
  server.max_idle = std::max<std::chrono::nanoseconds>(server.max_idle, config.timeout);
  pinned.authentication = server.authentication = control::Authentication::of_this_process();
  // Without a secret, whoever else comes is served nothing that could harm this process.
  if (!server.authentication.is_insecure()) server.allow = server.allow_providers = {"any"};
  // Two threads that poll on one processor would measure the scheduler's time slice.
  std::vector<int> cpus = processors();
  // From where this thread is on: several runs at once do not meet on the first processors.
  std::rotate(cpus.begin(), std::find(cpus.begin(), cpus.end(), sched_getcpu()), cpus.end());
  if (config.placement.cpus.empty() && server.cpus.empty() &&
      cpus.size() >= 2 * std::size_t{config.traffic.threads}) {
    pinned.placement.cpus.assign(cpus.begin(), cpus.begin() + config.traffic.threads);
    server.cpus.assign(cpus.begin() + config.traffic.threads,
                       cpus.begin() + 2 * config.traffic.threads);
  }
  const ServerThread serving(server);
  return run(pinned, "127.0.0.1", serving.port(), hooks);
}

}  // namespace rdmabench::inline v1::run
