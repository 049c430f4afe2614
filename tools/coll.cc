// rdmabench coll
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll_job.h"
#include "commands.h"
#include "flags/values.h"
#include "nccltests/to_job.h"
#include "options.h"
#include "output.h"
#include "rank_options.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/collective/run.h"
#include "rdmabench/fabric/attribution.h"

namespace rdmabench::tools {
namespace {

/// Of the best group's bus bandwidth: --bisect calls a group below it slow.
constexpr double kSlowShare = 0.85;

struct CollOptions {
  std::vector<std::string> operations;
  std::vector<std::string> types{"float32"};
  std::vector<std::string> reductions{"sum"};
  std::vector<std::uint64_t> sizes;
  std::string place = "out";
  std::uint32_t root = 0;
  collective::CollectivePlan plan;
  std::string groups;
  std::vector<std::string> topology;
  bool bisect = false;
  std::vector<collective::Required> required;
  std::vector<std::string> devices{"all"};
  std::string backend = "mpi";
  collective::MpiOptions mpi;
  collective::NcclOptions nccl;
  std::optional<collective::PointToPointOptions> wire;
  control::RendezvousOptions rendezvous;
  std::string format = "table";
  std::string output;
  bool wide = false;
  Expectations expect;
};

template <class E>
std::vector<E> parse_all(const std::vector<std::string>& words, std::size_t count,
                         E (*parse)(std::string_view)) {
  std::vector<E> all;
  for (const std::string& word : words) {
    if (word != "all") {
      all.push_back(parse(word));
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<E>(i));
  }
  return all;
}

/// Every combination that makes sense, the size varying fastest.
std::vector<collective::Call> calls(const CollOptions& options, std::uint32_t ranks) {
  using namespace collective;
  const auto reductions = parse_all(options.reductions, kReductions, parse_reduction);
  std::vector<bool> places;
  if (options.place != "in") places.push_back(false);
  if (options.place != "out") places.push_back(true);
  std::vector<Call> all;
  for (const Operation operation :
       parse_all(options.operations, kOperations, collective::parse_operation)) {
    for (const DataType type : parse_all(options.types, kDataTypes, parse_type)) {
      for (const Reduction reduction : reductions) {
        for (const bool in_place : places) {
          for (const std::uint64_t size : options.sizes) {
            all.push_back({.operation = operation,
                           .type = type,
                           .reduction = reduction,
                           .root = has_root(operation) ? options.root : 0,
                           .count = count_for(operation, type, size, ranks),
                           .in_place = in_place});
          }
        }
        if (!reduces(operation)) break;
      }
    }
  }
  return all;
}

/// The switch to which each host is linked.
std::vector<std::string> leaves(const std::vector<std::string>& hosts,
                                const std::vector<std::string>& files) {
  const fabric::Topology topology = fabric::read_topology(files);
  std::map<std::string, std::string> leaf_of;
  for (const fabric::TopologyLink& link : topology.links) {
    const fabric::TopologyPoint& a = topology.points[link.a];
    const fabric::TopologyPoint& b = topology.points[link.b];
    if (a.host == b.host) continue;
    const std::string& host = a.host ? a.name : b.name;
    leaf_of.try_emplace(host.substr(0, host.find_first_of(". ")), a.host ? b.name : a.name);
  }
  std::vector<std::string> all;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto leaf = leaf_of.find(hosts[rank].substr(0, hosts[rank].find('.')));
    if (leaf == leaf_of.end()) {
      throw Error(Fault::usage,
                  fmt::format("rank {} runs on {}, which the topology lacks", rank, hosts[rank]),
                  "Give the topology of all nodes, with the names that their hostname prints.");
    }
    all.push_back(leaf->second);
  }
  return all;
}

void divide(const CollOptions& options, const std::vector<std::string>& hosts,
            collective::CollectivePlan& plan) {
  std::size_t largest = hosts.size();
  if (options.bisect) {
    plan.passes = [hosts](const collective::Pass& pass, collective::Run& run) {
      collective::bisect(pass, hosts, kSlowShare, run);
    };
  } else if (!options.groups.empty()) {
    const collective::Division division =
        options.groups == "leaf" ? collective::divide("leaf", leaves(hosts, options.topology))
                                 : collective::divide_by(options.groups, hosts);
    plan.passes = [division](const collective::Pass& pass, collective::Run& /*run*/) {
      pass(division);
    };
    largest = 0;
    for (const std::uint32_t group : division.group_of) {
      const auto size = std::count(division.group_of.begin(), division.group_of.end(), group);
      largest = std::max(largest, static_cast<std::size_t>(size));
    }
  }
  plan.calls = calls(options, static_cast<std::uint32_t>(largest));
}

report::Facts config_facts(const CollOptions& options) {
  const collective::CollectivePlan& plan = options.plan;
  return {{"operations", fmt::format("{}", fmt::join(options.operations, ","))},
          {"types", fmt::format("{}", fmt::join(options.types, ","))},
          {"reductions", fmt::format("{}", fmt::join(options.reductions, ","))},
          {"place", options.place},
          {"groups", options.bisect           ? "bisect"
                     : options.groups.empty() ? "all"
                                              : options.groups},
          {"iterations", plan.iterations},
          {"warmup_iterations", plan.warmup},
          {"batch", std::uint64_t{plan.batch}},
          {"precision", plan.precision},
          {"budget_s", std::chrono::duration<double>(plan.budget).count()},
          {"timeout_s", std::chrono::duration<double>(plan.timeout).count()},
          {"checked", plan.check},
          {"buffer_bytes", plan.buffer_bytes}};
}

std::string to_text(const collective::Run& run, const CollOptions& options) {
  return options.format == "csv" ? collective::to_csv(run)
                                 : collective::to_table(run, table_width(options.wide));
}

/// nccl-tests' table is of one operation.
report::NcclTestsTable nccl_tests_table(const CollOptions& options, const collective::Run& run) {
  nccltests::Flags flags;
  flags.gpus = 1;
  flags.nccl = options.nccl;
  flags.average = nccltests::Average::max;
  nccltests::set_sizes(flags, options.sizes);
  flags.iterations = options.plan.iterations;
  flags.warmup = options.plan.warmup;
  flags.check = options.plan.check ? 1 : 0;
  return nccltests::to_table(
      nccltests::tool_of(collective::parse_operation(options.operations.front())), flags, run);
}

/// False where a result is not what was expected. A run that ended early is not judged: it failed.
bool write_run(const collective::Run& run, const std::vector<collective::PointToPointResult>& wire,
               const CollOptions& options) {
  const Judged judged =
      judge(collective::to_json(run), run.error.empty() ? options.expect : Expectations());
  std::string text = options.format == "nccl-tests"
                         ? report::to_nccl_tests(nccl_tests_table(options, run))
                     : options.format == "json" ? judged.json
                                                : to_text(run, options);
  if (options.wire && run.error.empty() && options.format == "table") {
    text += collective::point_to_point_text(run, wire);
  }
  if (options.format == "table") text = for_reading(text, options.output);
  write_text(text, options.output);
  print(judged, options.format == "table" && options.output.empty());
  return !judged.failed;
}

int run_coll(const CollOptions& options) {
  if (is_first_rank() && options.rendezvous.rank.value_or(0) == 0) check_writable(options.output);
  calls(options, 1);  // throws for a word that is none, before anybody is waited for
  if (options.format == "nccl-tests" &&
      (options.operations.size() != 1 || options.operations[0] == "all")) {
    throw Error(Fault::usage, "--format nccl-tests with several operations",
                "Its table has one operation: name one.");
  }
  CollJob job;
  job.fill = [&options](collective::CollectivePlan& plan, const std::vector<std::string>& hosts) {
    divide(options, hosts, plan);
  };
  job.plan = options.plan;
  job.devices = options.devices;
  job.required = options.required;
  job.backend = options.backend;
  job.mpi = options.mpi;
  job.nccl = options.nccl;
  job.rendezvous = options.rendezvous;
  job.config = config_facts(options);
  job.wire = options.wire;
  job.write = [&options](const collective::Run& run,
                         const std::vector<collective::PointToPointResult>& wire) {
    return write_run(run, wire, options);
  };
  job.write_each_row = !options.output.empty();
  return run_job(job);
}

void add_measured(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "What is measured");
  app.add_option("OPERATION", options.operations,
                 "all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all, "
                 "all-to-all-v, gather, scatter, send-receive, several with commas, or all")
      ->delimiter(',')
      ->required();
  group.sizes(
      "-s,--size", options.sizes,
      "sizes as nccl-tests counts them: of all-gather, reduce-scatter, all-to-all, gather and "
      "scatter the bytes of all ranks' parts; 8,64K or 8:64M (doubling) [8:4M]");
  group.list("--type", options.types, "TYPES",
             "int8 uint8 int32 uint32 int64 uint64 half float32 float64 bfloat16 f8e4m3 f8e5m2, "
             "several with commas, or all [float32]");
  group.list("--reduction", options.reductions, "NAMES",
             "sum prod min max avg mulsum, several with commas, or all [sum]");
  group.choice("--place", options.place, "WHERE", {"out", "in", "both"},
               "out, in or both: whether input and result share memory [out]");
  group
      .whole("--root", options.root, 0, control::kMaxRanks - 1,
             "root rank of broadcast, reduce, gather and scatter [0]")
      ->type_name("RANK");
}

void add_amount(CLI::App& app, CollOptions& options) {
  collective::CollectivePlan& plan = options.plan;
  const OptionGroup group(app, "How much");
  group.whole("-n,--iterations", plan.iterations, 1, 1'000'000,
              "samples of each row [until --precision or --budget]");
  group.whole("--warmup", plan.warmup, 0, 1'000'000, "warm-up samples before them [5]");
  group.whole("--batch", plan.batch, 1, 1024,
              "operations of one sample, started and awaited together [1]");
  group.plain("--precision", plan.precision, "RATIO",
              "a row ends when its median is known to this relative precision, at 95 % [0.02]");
  group.time("--budget", plan.budget, "... or after this time [2s]");
  OptionGroup(app).flag("!--no-check", plan.check, "do not check the results");
  group.size("--buffers", plan.buffer_bytes,
             "memory of inputs and of results each, for the operations of one epoch [64M]");
  group.time("--timeout", plan.timeout,
             "limit of every wait: then the rank that hangs is named and the run ends [30s]");
}

void add_launch(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Who takes part");
  control::RendezvousOptions& rendezvous = options.rendezvous;
  group.choice("--backend", options.backend, "NAME", {"mpi", "nccl"},
               "mpi (host memory) or nccl (GPU memory; libnccl.so.2 is loaded) [mpi]");
  group
      .parsed(
          "--mpi",
          [&options](const std::string& name) {
            options.mpi.kind =
                name == "mpich" ? collective::MpiKind::mpich : collective::MpiKind::open_mpi;
          },
          "NAME", "openmpi or mpich [as the launcher]")
      ->check(CLI::IsMember({"openmpi", "mpich"}));
  add_rank_options(group, rendezvous, {.least = 1, .most = control::kMaxRanks});
  group.time("--wait", rendezvous.timeout, "wait so long for all ranks [30s]");
  group.list("--device", options.devices, "NAMES",
             "devices whose counters are read before and after the run: mlx5_0:1, eth0, several "
             "with commas [every RDMA device]");
}

void add_require(const OptionGroup& group, CollOptions& options) {
  group.parsed(
      "--require",
      [&options](const std::string& text) { options.required = collective::parse_required(text); },
      "LIST",
      "fail unless device=NAME sent the bytes, by its own counters (several: an equal share each), "
      "or NCCL used network=NAME: not a silent fall-back");
}

void add_groups(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Groups");
  CLI::Option* const groups = group.choice(
      "--groups", options.groups, "HOW", {"halves", "quarters", "nodes", "across", "leaf"},
      "measure groups of ranks at the same time, a row for each: halves or quarters "
      "of the nodes, nodes (each by itself), across (ranks of the same number on "
      "their nodes) or leaf (by --topology)");
  CLI::Option* const topology = group
                                    .list("--topology", options.topology, "FILES",
                                          "of --groups leaf: files as fabric takes them")
                                    ->needs(groups);
  group
      .flag("--bisect", options.bisect,
            "halve the nodes until one node, or the boundary between two parts, explains why "
            "all together are slow or wrong; judged by the largest size")
      ->excludes(groups)
      ->excludes(topology);
}

void add_nccl(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "NCCL");
  collective::NcclOptions& nccl = options.nccl;
  group.plain("--gpu", nccl.device, "NAME",
              "GPU of this rank: 0, 0000:1b:00.0 or GPU-... [the rank's number on its host]");
  group.parsed(
      "--register",
      [&nccl](const std::string& text) {
        nccl.registration = collective::parse_registration(text);
      },
      "HOW", "register buffers with NCCL: none, local (2.19) or symmetric (2.27) [none]");
  group.flag("--graph", nccl.graph, "launch every operation as a captured CUDA graph");
  group.whole("--cta-policy", nccl.cta_policy, 0, 2,
              "0 default, 1 efficiency, 2 zero; since 2.27 [NCCL's own]");
  group.whole("--misalign", nccl.misalign, 0, 1U << 16U,
              "elements by which input and result are off a boundary [0]");
  group.flag("--non-blocking", nccl.non_blocking,
             "make the communicator with blocking=0: every call can be given up by itself, and "
             "small sizes take longer");
  group.plain("--network", nccl.network, "NAME",
              "NCCL's network: Socket, IB, a plugin's name [its own]");
}

/// An option of the other back end is an error.
void check_backend(const CLI::App& app, const CollOptions& options) {
  const bool is_mpi = options.backend == "mpi";
  const std::vector<std::string> foreign =
      is_mpi ? std::vector<std::string>{"--gpu",      "--register", "--graph",       "--cta-policy",
                                        "--misalign", "--network",  "--non-blocking"}
             : std::vector<std::string>{"--mpi"};
  for (const std::string& name : foreign) {
    if (app.get_option(name)->count() == 0) continue;
    throw Error(Fault::usage, fmt::format("{} with --backend {}", name, options.backend),
                is_mpi ? "It needs --backend nccl." : "It needs --backend mpi.");
  }
}

void check_groups(const CollOptions& options) {
  if ((options.groups == "leaf") != options.topology.empty()) return;
  throw Error(Fault::usage,
              options.topology.empty() ? "--groups leaf without --topology"
                                       : fmt::format("--topology with --groups {}", options.groups),
              "The topology says which nodes have one leaf: give both, or neither.");
}

void add_wire(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Point to point");
  const auto wire = [&options]() -> collective::PointToPointOptions& {
    if (!options.wire) options.wire.emplace(collective::PointToPointOptions{.memory = ""});
    return *options.wire;
  };
  group.action(
      "--wire", [wire] { wire(); },
      "then measure neighbours point to point, and print the bus bandwidth as a share of that");
  const auto text = [&](const char* name, std::string collective::PointToPointOptions::*member,
                        const char* help) {
    group.parsed(
        name, [wire, member](const std::string& given) { wire().*member = given; }, "NAME", help);
  };
  text("--wire-backend", &collective::PointToPointOptions::backend, "verbs or ofi [auto]");
  text("--wire-provider", &collective::PointToPointOptions::provider,
       "libfabric's provider [by route]");
  text("--wire-device", &collective::PointToPointOptions::device, "device of this rank [by route]");
  text("--wire-memory", &collective::PointToPointOptions::memory,
       "memory of this rank: host, huge, cuda:0 [as the back end, else host]");
  group.parsed(
      "--wire-size", [wire](const std::string& given) { wire().size_bytes = parse_size(given); },
      "SIZE", "size of a message [1M]");
  group.parsed(
      "--wire-duration",
      [wire](const std::string& given) { wire().duration = parse_duration(given); }, "TIME",
      "duration of each pair [500ms]");
}

}  // namespace

void add_coll(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "coll", "Measure collectives among all ranks, check every result and name the late rank");
  sub->footer(
      "Start it by mpirun, srun or the like, all ranks with the same options. Rank 0 leads and\n"
      "prints. Every timed operation has its own input, and its result is checked bit for bit: a\n"
      "wrong one is reported with its rank, place, length and pattern. The time of a row\n"
      "is the median of its samples; a sample is the longest that any rank took. algbw is the size\n"
      "over that time, busbw that times nccl-tests' factor; GB/s are of 1e9 bytes. A rank is\n"
      "called late by when it arrived, on compared clocks, never by how long it took.\n"
      "\n"
      "Examples:\n"
      "  mpirun -n 4 rdmabench coll all-reduce --size 8:64M\n"
      "  srun --mpi=pmix -n 16 rdmabench coll all --type all --reduction all --size 64K -n 20\n"
      "  mpirun -n 8 rdmabench coll all-gather,reduce-scatter --place both --format json\n"
      "  mpirun -n 64 rdmabench coll all-reduce --size 64M --bisect\n"
      "\n"
      "Exit codes: 0 done; 1 a result was wrong or broke --expect or --require, a rank hung or\n"
      "died, a point-to-point pair failed; 2 wrong usage; 3 not available here, for example if every row was skipped.");
  auto options = std::make_shared<CollOptions>();
  options->sizes = parse_size_list("8:4M");
  add_measured(*sub, *options);
  add_amount(*sub, *options);
  add_launch(*sub, *options);
  add_groups(*sub, *options);
  add_nccl(*sub, *options);
  add_wire(*sub, *options);
  const OptionGroup group(*sub, "Results");
  group.choice("--format", options->format, "FORMAT", {"table", "json", "csv", "nccl-tests"},
               "table, json, csv or nccl-tests [table]");
  group.plain("--output", options->output, "FILE", "write to FILE");
  add_expect(group, options->expect);
  add_require(group, *options);
  add_wide(group, options->wide);
  sub->callback([sub, options, &command] {
    check_backend(*sub, *options);
    check_groups(*options);
    command = [options] { return run_coll(*options); };
  });
}

}  // namespace rdmabench::tools
