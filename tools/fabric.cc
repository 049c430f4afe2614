// rdmabench fabric
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "parse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/bootstrap_address.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/fabric/agent.h"
#include "rdmabench/fabric/lead.h"
#include "rdmabench/fabric/plan.h"
#include "rdmabench/fabric/schedule.h"
#include "rdmabench/fabric/stream.h"
#include "rdmabench/fabric/table.h"

namespace rdmabench::tools {
namespace {

constexpr const char* kInvitation = "rdmabench.fabric";  // the key that rank 0 puts

struct FabricOptions {
  Options link;  ///< what each node does for itself, and --format
  fabric::LeadOptions lead;
  control::RendezvousOptions rendezvous;
  std::uint16_t port = 0;
  std::string metric = "both";
  bool strict = false;
};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The plan, of what the common options say too.
fabric::FabricPlan settled_plan(FabricOptions& options) {
  run::Config& config = options.link.config;
  settle_backend(config);
  if (config.backend == "loop") {
    throw Error(Fault::usage, "--backend loop for a fabric", "It reaches no other process.");
  }
  fabric::FabricPlan& plan = options.lead.plan;
  plan.operation = transport::name(config.operation);
  plan.transport = transport::name(config.service);
  plan.backend = config.backend;
  plan.provider = config.provider;
  plan.rails = config.devices;
  plan.timeout_s = seconds(config.timeout);
  constexpr std::uint32_t kRandomRounds = 8;  // finds a bad node; see docs/attribution.md
  if (plan.pattern == "random" && plan.rounds == 0) plan.rounds = kRandomRounds;
  if (options.metric == "latency") plan.bandwidth_sizes.clear();
  if (options.metric == "bandwidth") plan.latency_sizes.clear();
  if (transport::is_atomic(config.operation)) {
    if (!plan.bandwidth_sizes.empty()) plan.bandwidth_sizes = {transport::kAtomicBytes};
    if (!plan.latency_sizes.empty()) plan.latency_sizes = {transport::kAtomicBytes};
  }
  fabric::check(plan);
  // Who is patient with a measurement is so with a node, too.
  options.lead.coordinator.answer_limit =
      std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), config.timeout / 2);
  return plan;
}

fabric::AgentOptions agent_options(const FabricOptions& options, const control::Place& place,
                                   const control::BootstrapAddress& bootstrap_address) {
  return {.rank = place.rank,
          .size = place.size,
          .host = place.host,
          .token = bootstrap_address.token,
          .base = options.link.config};
}

void show_progress(const fabric::LeadProgress& progress) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) return;
  std::fputs(fmt::format("\r\033[K{} {} of {}: {} nodes",
                         progress.confirming ? "confirming round" : "round", progress.round,
                         progress.of, progress.alive)
                 .c_str(),
             stderr);
}

std::string to_text(const fabric::FabricResult& outcome, const std::string& format) {
  if (format == "json") {
    return fabric::to_json_lines(outcome.matrix) +
           fabric::verdict_record(fabric::to_json(outcome.verdict));
  }
  if (format == "csv") return fabric::to_csv(outcome.matrix);
  double most = 0;
  for (const fabric::RoundCost& cost : outcome.costs) most = std::max(most, cost.own_ms);
  return fabric::to_table(outcome.matrix, outcome.verdict) +
         fmt::format("\nThe coordinator itself took {:.1f} ms of a round at most.\n", most);
}

int verdict(const fabric::FabricResult& outcome, bool strict) {
  const bool failed =
      std::any_of(outcome.matrix.measurements.begin(), outcome.matrix.measurements.end(),
                  [](const fabric::Measurement& one) { return !one.error.empty(); });
  const bool at_fault = !outcome.verdict.findings.empty() || !outcome.matrix.lost.empty();
  const bool open = strict && !fabric::unjudged(outcome.verdict).empty();
  return failed || at_fault || open ? static_cast<int>(Fault::failed) : 0;
}

/// Rank 0: the coordinator, and the node's own agent beside it.
int lead(FabricOptions& options, control::Rendezvous& rendezvous) {
  const control::Place& place = rendezvous.place();
  std::optional<control::Listener> listener(std::in_place, "", options.port);
  const control::BootstrapAddress bootstrap_address =
      control::make_bootstrap_address(listener->port());
  rendezvous.put(kInvitation, control::to_text(bootstrap_address));
  options.lead.size = place.size;
  options.lead.token = bootstrap_address.token;
  std::thread own([&] {
    try {
      fabric::run_agent(agent_options(options, place, bootstrap_address),
                        bootstrap_address.addresses, bootstrap_address.port, options.lead.wait);
    } catch (const std::exception&) {
      // The coordinator has its reason, and names this node as lost.
    }
  });
  const auto end = [&] {
    listener.reset();
    own.join();
  };
  fabric::FabricResult outcome;
  try {
    outcome = fabric::lead(options.lead, *listener, show_progress);
  } catch (...) {
    end();
    throw;
  }
  end();
  erase_progress();
  const std::string text = to_text(outcome, options.link.format);
  if (options.link.format == "csv") {  // which has no place for lost nodes and the verdict
    std::fputs(to_text(outcome, "table").c_str(), stderr);
  }
  write_text(text, "");
  return verdict(outcome, options.strict);
}

/// A node that was let go leaves the verdict to rank 0: it is no failure of its process, for which
/// mpirun would end all the others.
int follow(const FabricOptions& options, std::unique_ptr<control::Rendezvous> rendezvous) {
  const control::Place place = rendezvous->place();
  const control::BootstrapAddress bootstrap_address = control::parse_bootstrap_address(
      rendezvous->get(0, kInvitation, Deadline::after(options.lead.wait)));
  rendezvous.reset();  // Slurm ends the whole step when a rank dies that is still PMIx's client
  const std::string reason =
      fabric::run_agent(agent_options(options, place, bootstrap_address),
                        bootstrap_address.addresses, bootstrap_address.port, options.lead.wait);
  if (!reason.empty()) {
    std::fputs(fmt::format("rdmabench: rank {}: {}\n", place.rank, reason).c_str(), stderr);
  }
  return 0;
}

int run_fabric(FabricOptions& options) {
  options.lead.plan = settled_plan(options);
  options.rendezvous.timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.lead.wait);
  std::unique_ptr<control::Rendezvous> rendezvous = control::make_rendezvous(options.rendezvous);
  const control::Place place = rendezvous->place();
  if (place.size < 2 || place.size > fabric::kMaxNodes) {
    throw Error(Fault::usage, fmt::format("a fabric of {} ranks, by {}", place.size, place.source),
                fmt::format("Start 2 to {} processes, one on each node.", fabric::kMaxNodes));
  }
  return place.rank == 0 ? lead(options, *rendezvous) : follow(options, std::move(rendezvous));
}

void add_measured(CLI::App& app, FabricOptions& options) {
  fabric::FabricPlan& plan = options.lead.plan;
  const std::string group = "What is measured";
  app.add_option("--pattern", plan.pattern,
                 "full (every pair), random (--rounds of it), one-to-many, many-to-one, bisection "
                 "[full]")
      ->type_name("NAME")
      ->check([](const std::string& text) {
        fabric::parse_pattern(text);
        return std::string();
      })
      ->group(group);
  add_parsed(
      app, "--rounds",
      [&plan](const std::string& text) {
        plan.rounds = parse_bounded<std::uint32_t>("--rounds", text, 1, fabric::kMaxNodes);
      },
      "rounds of the pattern [all; random: 8]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "--seed",
      [&plan](const std::string& text) {
        plan.seed = parse_bounded<std::uint64_t>("--seed", text, 0, ~0ULL);
      },
      "of the order of the rounds and who meets whom in them [1]")
      ->type_name("N")
      ->group(group);
  app.add_option("--metric", options.metric, "bandwidth, latency or both [both]")
      ->type_name("NAME")
      ->check(CLI::IsMember({"bandwidth", "latency", "both"}))
      ->group(group);
  add_parsed(
      app, "-s,--size",
      [&plan](const std::string& text) { plan.bandwidth_sizes = parse_size_list(text); },
      "message sizes for bandwidth: 1M, or 64K,1M [1M]")
      ->type_name("SIZES")
      ->group(group);
  add_parsed(
      app, "--latency-size",
      [&plan](const std::string& text) { plan.latency_sizes = parse_size_list(text); },
      "message sizes for latency [8]")
      ->type_name("SIZES")
      ->group(group);
  add_parsed(
      app, "--op",
      [&options](const std::string& text) {
        options.link.config.operation = parse_operation(text);
      },
      fmt::format("{} [write]", fmt::join(transport::kOperationNames, ", ")))
      ->type_name("OP")
      ->group(group);
  add_parsed(
      app, "-D,--duration",
      [&plan](const std::string& text) { plan.duration_s = seconds(parse_duration(text)); },
      "time for each pair, metric and size [100ms]")
      ->type_name("TIME")
      ->group(group);
  add_parsed(
      app, "-n,--iterations",
      [&plan](const std::string& text) { plan.iterations = parse_count(text); },
      "messages for each, in place of a time; must be done within --timeout")
      ->type_name("N")
      ->group(group);
  app.add_option("--rails", options.link.config.devices,
                 "devices, the same on every node, all measured at once; another word for --device")
      ->delimiter(',')
      ->type_name("NAMES")
      ->group(group);
}

void add_launch(CLI::App& app, FabricOptions& options) {
  const std::string group = "Who takes part";
  control::RendezvousOptions& rendezvous = options.rendezvous;
  add_parsed(
      app, "--rank",
      [&rendezvous](const std::string& text) {
        rendezvous.rank = parse_bounded<std::uint32_t>("--rank", text, 0, fabric::kMaxNodes - 1);
      },
      "of this process; 0 leads [by the launcher]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "--ranks",
      [&rendezvous](const std::string& text) {
        rendezvous.size = parse_bounded<std::uint32_t>("--ranks", text, 2, fabric::kMaxNodes);
      },
      "how many there are [by the launcher]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "--rendezvous", [&rendezvous](const std::string& text) { rendezvous.address = text; },
      "where rank 0 is to be found, HOST:PORT [by the launcher]")
      ->type_name("ADDRESS")
      ->group(group);
  add_parsed(
      app, "--wait",
      [&options](const std::string& text) {
        options.lead.wait = parse_duration(text);
        if (options.lead.wait < std::chrono::seconds(1)) {
          throw Error(Fault::usage, fmt::format("--wait {}", text), "Take 1s or more.");
        }
      },
      "for all ranks to come; those that do not are lost [60s]")
      ->type_name("TIME")
      ->group(group);
  add_parsed(
      app, "-p,--port",
      [&options](const std::string& text) {
        options.port = parse_bounded<std::uint16_t>("--port", text, 0, 65535);
      },
      "TCP port of the coordinator [a free one]")
      ->type_name("N")
      ->group(group);
}

void add_results(CLI::App& app, FabricOptions& options) {
  const std::string group = "Results";
  app.add_option("--format", options.link.format, "table, json (a record a line) or csv [table]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->group(group);
  CLI::Option* const output =
      app.add_option("--output", options.lead.output,
                     "write every round to FILE as it is done, a JSON record a line")
          ->type_name("FILE")
          ->group(group);
  app.add_option("--resume", options.lead.resume,
                 "go on with the run that FILE holds, and write to it")
      ->type_name("FILE")
      ->excludes(output)
      ->group(group);
  app.add_flag("!--no-confirm", options.lead.confirm,
               "judge by the rounds alone; measure nothing again to bear out what stands out")
      ->group(group);
  app.add_flag("--strict", options.strict,
               "end with 1 too where the nodes could not be judged: too few, half against half")
      ->group(group);
}

}  // namespace

void add_fabric(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "fabric", "Measure all pairs of many nodes, and name the node, rail or route at fault");
  sub->footer(
      "Start one process on each node by mpirun, srun, torchrun or Kubernetes, all with the same\n"
      "options. Rank 0 leads: in each round every node has one partner, first one sends, then the\n"
      "other. A node that dies, hangs or never comes costs one deadline, is named, and the rest goes\n"
      "on. Rank 0 prints the result; its --output is complete to the last finished round, and\n"
      "--resume goes on from there. TCP has to get through between all nodes.\n"
      "\n"
      "Examples:\n"
      "  mpirun -n 16 --map-by node rdmabench fabric --rails mlx5_0,mlx5_1\n"
      "  srun -N 128 --ntasks-per-node=1 --mpi=pmix rdmabench fabric --pattern random --rounds 8\n"
      "  kubectl apply -f deploy/kubernetes/...     an MPIJob, see docs/deploy.md\n"
      "  RANK=0 WORLD_SIZE=2 MASTER_ADDR=node1 MASTER_PORT=18516 rdmabench fabric    ... and RANK=1\n"
      "  rdmabench fabric --resume run.jsonl        (as it was begun) what a crash left undone\n"
      "\n"
      "Exit codes: 0 nothing is at fault, or nothing could be judged, which it says; 1 a node was lost,\n"
      "a measurement failed or something is at fault; 2 wrong usage; 3 not available here.");
  auto options = std::make_shared<FabricOptions>();
  options->link.config.operation = transport::OperationCode::write;
  options->link.config.timeout = std::chrono::seconds(5);
  add_measured(*sub, *options);
  add_link(*sub, options->link);
  add_launch(*sub, *options);
  add_results(*sub, *options);
  sub->callback([options, &command] { command = [options] { return run_fabric(*options); }; });
}

}  // namespace rdmabench::tools
