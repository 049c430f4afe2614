// rdmabench fabric
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/listed.h"
#include "base/refuse.h"
#include "base/shared_memory_files.h"
#include "commands.h"
#include "ending.h"
#include "fabric/stream.h"
#include "flags/fields.h"
#include "flags/values.h"
#include "launches.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/rendezvous.h"
#include "rdmabench/fabric/run.h"
#include "rdmabench/run/backends.h"
#include "run/requirements.h"

namespace rdmabench::inline v1::tools {
namespace {

struct FabricCommand {
  Options link;  ///< what each node does for itself, and --format
  fabric::FabricOptions run;
  control::RendezvousOptions rendezvous;
  std::string metric = "both";
  bool strict = false;
};

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The plan, from this command's options and the common ones.
fabric::FabricPlan settled_plan(FabricCommand& options) {
  run::Config& config = options.link.config;
  settle_backend(config);
  refuse_if(!run::reaches_others(config.backend), "--backend loop for a fabric",
            "It does not connect processes.");
  fabric::FabricPlan& plan = options.run.plan;
  plan.operation = transport::name(config.traffic.operation);
  plan.transport = transport::name(config.endpoint.service);
  plan.backend = config.backend;
  plan.provider = config.endpoint.ofi.provider;
  plan.rails = config.placement.devices;
  plan.timeout_s = seconds(config.timeout);
  constexpr std::uint32_t kRandomRounds = 8;  // finds a bad node; see docs/attribution.md
  if (plan.pattern == "random" && plan.rounds == 0) plan.rounds = kRandomRounds;
  if (options.metric == "latency") plan.bandwidth_sizes.clear();
  if (options.metric == "bandwidth") plan.latency_sizes.clear();
  if (const std::uint64_t bytes = transport::traits(config.traffic.operation).bytes; bytes != 0) {
    if (!plan.bandwidth_sizes.empty()) plan.bandwidth_sizes.assign(1, bytes);
    if (!plan.latency_sizes.empty()) plan.latency_sizes.assign(1, bytes);
  }
  fabric::check(plan);
  // A longer --timeout of measurements also gives a node longer to answer.
  options.run.coordinator.answer_limit =
      std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), config.timeout / 2);
  return plan;
}

/// Of rank 0, which is the only one to be told.
fabric::OnFabricProgress fabric_progress() {
  return [line = Progress()](const fabric::FabricProgress& progress) {
    if (!progress.refused.empty()) {
      erase_progress();
      return tell(progress.refused);
    }
    if (!progress.missing.empty()) {
      constexpr std::size_t kMostNamed = 4;
      return show_progress(fmt::format("waiting for {}", listed(progress.missing, kMostNamed)),
                           fmt::format("{:.0f} s left", seconds(progress.waits)));
    }
    catch_interruption();
    const std::string what =
        fmt::format("{} {} of {}: {} nodes", progress.confirming ? "confirming round" : "round",
                    progress.round, progress.of, progress.alive);
    if (progress.confirming) return show_progress(what, "");  // more may follow
    line.show(what, static_cast<double>(progress.round) / static_cast<double>(progress.of));
  };
}

std::string to_text(const fabric::FabricResult& outcome, const std::string& format, bool wide) {
  if (format == "json") {
    std::string lines = fabric::to_json_lines(outcome.matrix);
    if (!outcome.complete) return lines;
    return lines + fabric::verdict_record(outcome.matrix, outcome.verdict);
  }
  if (format == "csv") return fabric::to_csv(outcome.matrix);
  double most = 0;
  for (const fabric::RoundCost& cost : outcome.costs) most = std::max(most, cost.own_ms);
  return with_flags(fabric::to_table(outcome.matrix, outcome.verdict, table_width(wide))) +
         fmt::format("\nThe coordinator itself took {:.1f} ms of a round at most.\n", most);
}

/// What --require asked.
std::string required(const run::Config& config) {
  std::vector<std::string> words;
  bool of_device = false;
  for (const run::Requirement& one : config.requirements) {
    words.push_back(to_text(one));
    of_device = of_device || one.name == "device";
  }
  return fmt::format("{}{}", fmt::join(words, ","),
                     of_device ? "" : ", carried by the device that was taken");
}

int print(const FabricCommand& options, const fabric::FabricResult& result) {
  erase_progress();
  const std::string& format = options.link.format;
  const bool wide = options.link.wide;
  std::string text = to_text(result, format, wide);
  std::vector<report::RequirementFinding> findings = fabric::prove(result.matrix);
  for (report::RequirementFinding& one : findings) one.required = required(options.link.config);
  Judged judged;
  if (!options.link.expect.empty() || !findings.empty() || !options.link.json.empty()) {
    std::vector<report::Document> documents;
    documents.push_back(
        fabric::to_document(result.matrix, result.complete ? &result.verdict : nullptr));
    judged = judge(std::move(documents), options.link.expect, findings);
    if (format == "json") text += judged.record;
    const std::string& file = options.run.resume.empty() ? options.run.output : options.run.resume;
    if (!file.empty()) append(judged.record, file);
  }
  if (launch_part().is_launch()) hand_over(to_text(result, "json", wide) + judged.record);
  // It has no place for lost nodes and the verdict; that over launches has.
  if (format == "csv" && !launch_part().is_launch()) {
    std::fputs(to_text(result, "table", wide).c_str(), stderr);
  }
  write_judged(format == "table" ? for_reading(text, "") : text, judged, options.link);
  if (!result.complete) {
    tell(fmt::format("{} before the last round: the result is of the rounds that were finished",
                     interrupted()));
  }
  const bool open =
      options.strict && std::any_of(findings.begin(), findings.end(),
                                    [](const auto& one) { return one.status == Status::open; });
  return judged.failed || open || fabric::failed(result, options.strict)
             ? static_cast<int>(Fault::failed)
             : 0;
}

/// Removes what killed processes left in /dev/shm of this node: those before, and those of this
/// run.
struct CleanSharedMemory {
  CleanSharedMemory() { remove_abandoned_memory(); }
  ~CleanSharedMemory() { remove_abandoned_memory(); }
  CleanSharedMemory& operator=(CleanSharedMemory&&) = delete;
};

/// Launches read the end of the file and write behind it, and each has its own standard output.
void check_stream(const FabricCommand& options) {
  const std::string& output = options.run.output;
  for (const char* const end : {".csv", ".txt", ".html", ".xml", ".md"}) {
    refuse_if(output.ends_with(end), fmt::format("--output {} would hold JSON Lines", output),
              "Name it .jsonl; 'rdmabench report' makes the others of it.");
  }
  if (options.link.launches == 1 || output.empty() || !leads(options.rendezvous)) return;
  check_writable(output);
  const Place place = find_place(output);
  refuse_if(place.exists && !S_ISREG(place.mode),
            fmt::format("--launches {} with --output '{}', which is no regular file",
                        options.link.launches, output),
            "Name a file, or take --format json, which writes to standard output.");
}

/// A node that left early leaves it to rank 0 to say so: its lines would be those of all other
/// ranks too, and a failure of its process would make mpirun end them.
int run_fabric(FabricCommand& options) {
  options.run.plan = settled_plan(options);
  const CleanSharedMemory clean;
  refuse_if(options.link.launches > 1 && !options.run.resume.empty(),
            fmt::format("--launches {} with --resume", options.link.launches),
            "Each launch is a run of its own, and none goes on with another: give --output.");
  check_stream(options);
  if (const auto code =
          begin_launches(options.link.launches, options.link, options.link.expect,
                         {.leads = leads(options.rendezvous), .stream = options.run.output})) {
    return *code;
  }
  const LaunchPart part = launch_part();
  if (part.is_launch()) options.run.launch = part.index + 1;
  options.rendezvous.launch = part.index;
  options.run.base = options.link.config;
  // Whoever names UCX's transports means those, as whoever names a provider does.
  options.run.allow_tcp |= !options.link.config.endpoint.ucx.transports.empty();
  options.run.stop = interruption();
  options.rendezvous.timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.run.wait);
  const fabric::RankOutcome outcome =
      fabric::run(options.run, control::make_rendezvous(options.rendezvous), fabric_progress());
  if (outcome.result) return print(options, *outcome.result);
  if (part.is_launch() && (outcome.last || !outcome.left_early.empty())) hand_over(kLastLaunch);
  return 0;
}

void add_measured(CLI::App& app, FabricCommand& options) {
  fabric::FabricPlan& plan = options.run.plan;
  const OptionGroup group(app, "What is measured");
  group.add("--pattern=NAME", plan.pattern,
            "full (every pair), random (--rounds of it), one-to-many, many-to-one, bisection "
            "[full]");
  group.add("--rounds=N", plan.rounds, "rounds of the pattern [all; random: 8]",
            {1, fabric::kMaxNodes});
  group.add("--seed=N", plan.seed, "seed of the order of rounds and of the pairs in them [1]",
            {0, std::numeric_limits<std::int64_t>::max()});
  group.add("--metric=NAME", options.metric, "bandwidth, latency or both [both]",
            {"bandwidth", "latency", "both"});
  group.add("-s, --size=SIZES", plan.bandwidth_sizes,
            "message sizes for bandwidth: 1M, or 64K,1M [1M]");
  group.add("--latency-size=SIZES", plan.latency_sizes, "message sizes for latency [8]");
  group.call("--op=OP", fmt::format("{} [write]", fmt::join(transport::kOperationNames, ", ")),
             [&options](const Given& given) {
               set_option(*run::find_option("operation"), options.link.config, given);
             });
  group.add("-D, --duration=TIME", plan.duration_s, "time for each pair, metric and size [100ms]",
            [](const std::string& text) { return seconds(parse_duration(text)); });
  group.add("-n, --iterations=N", plan.iterations,
            "messages of each, instead of a time; has to end within --timeout", parse_count);
  add_launches(group, options.link.launches);
  group.list(
      "--topology=FILES", options.run.topology,
      "what lies between the nodes: ibnetdiscover's output (and dump_fts's, for the routes), "
      "Slurm's topology.conf or topology.yaml, scontrol show topology's output, lldpctl -f json of "
      "each host, or a CSV of node, leaf, ...; slow links and switches are then named, and random rounds chosen to cross all of them");
  group.list("--rails=NAMES", options.link.config.placement.devices,
             "devices, the same on every node, all measured at once; same as --device");
}

void add_launch(CLI::App& app, FabricCommand& options) {
  const OptionGroup group(app, "Who takes part");
  add_rank_options(group, options.rendezvous, 2, fabric::kMaxNodes);
  group.call("--wait=TIME",
             "wait this long for all ranks; a rank that does not connect is lost [60s]",
             [&options](const Given& given) {
               options.run.wait = duration(given);
               refuse_if(options.run.wait < std::chrono::seconds(1), "--wait " + given.text,
                         "Take 1s or more.");
             });
  group.add("-p, --port=N", options.run.port,
            "TCP port of the coordinator [a free one; without PMIx that of --rendezvous]",
            {0, 65535});
}

void add_results(CLI::App& app, FabricCommand& options) {
  const OptionGroup group(app, "Results");
  options.link.format = "table";
  group.add("--format=FORMAT", options.link.format,
            "table, json (one record per line) or csv [table]", {"table", "json", "csv"});
  CLI::Option* const output =
      group.add("-o, --output=FILE", options.run.output,
                "write every finished round to FILE, one JSON record per line");
  group
      .add("--resume=FILE", options.run.resume,
           "continue the run in FILE and append to it, instead of --output")
      ->excludes(output);
  group.add("--allow-tcp", options.run.allow_tcp,
            "do not end with 1 because nodes without an RDMA device were measured over TCP; "
            "--provider tcp says so too");
  group.add("--no-confirm", options.run.confirm,
            "judge by the rounds alone: do not measure again what stands out");
  add_json_too(group, options.link);
  add_expect(group, options.link.expect);
  add_wide(group, options.link.wide);
  group.add(
      "--strict", options.strict,
      "also end with 1 if the nodes could not be judged: too few, or one half differs from the other");
}

}  // namespace

void add_fabric(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<FabricCommand>(
      app, command, "fabric",
      "Measure all pairs of many nodes, and name the node, rail or route at fault",
      "Start one process on each node by mpirun, srun, torchrun or Kubernetes, all with the same\n"
      "options. Rank 0 leads: in each round every node has one partner, and each of the two sends\n"
      "once. A node that dies, hangs or never comes costs one deadline and is named; the rest\n"
      "continues. Rank 0 prints the result; its --output holds every finished round, and --resume\n"
      "continues from there. TCP has to work between all nodes. With --require each node's devices\n"
      "also have to prove, by their own counters, that they carried what was measured.\n"
      "\n"
      "Examples:\n"
      "  mpirun -n 16 --map-by node rdmabench fabric --rails mlx5_0,mlx5_1\n"
      "  srun -N 128 --ntasks-per-node=1 --mpi=pmix rdmabench fabric --pattern random --rounds 8\n"
      "  kubectl apply -k deploy/kubernetes/efa     an MPIJob, see docs/deploy.md\n"
      "  RANK=0 WORLD_SIZE=2 MASTER_ADDR=node1 MASTER_PORT=18516 rdmabench fabric    ... and RANK=1\n"
      "  rdmabench fabric --resume run.jsonl        (same options) what a crash left undone\n"
      "\n"
      "Exit codes: 0 nothing is at fault, or the table says that nothing could be judged; 1 a node was\n"
      "lost or has less than the others, a measurement failed or broke --expect or --require, something\n"
      "is at fault, or TCP was measured and nobody asked for it; 2 wrong usage; 3 not available here.",
      run_fabric);
  options.link.config.traffic.operation = transport::OperationCode::write;
  options.link.config.timeout = std::chrono::seconds(5);
  add_measured(sub, options);
  add_link(sub, options.link);
  add_launch(sub, options);
  add_results(sub, options);
  shorten_help(sub, {"--pattern", "--metric", "--size", "--op", "--duration", "--launches",
                     "--topology", "--backend", "--device", "--transport", "--memory", "--require",
                     "--expect", "--output", "--resume", "--format"});
}

}  // namespace rdmabench::inline v1::tools
