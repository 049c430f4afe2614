#include "coll_options.h"

#include <fmt/format.h>

#include "option_group.h"
#include "options.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::tools {
namespace {

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
  collective::CollectivePlan& plan = options.job.plan;
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
  group.flag(
      "--memory-reuse", plan.memory_reuse,
      "time every sample in the same memory, which caches may hold, and check the last result "
      "there [every operation has its own, and is checked]");
  group.size("--buffers", plan.buffer_bytes,
             "memory of inputs and of results each, for the operations of one epoch [64M]");
  group.time("--timeout", plan.timeout,
             "limit of every wait: then the rank that hangs is named and the run ends [30s]");
}

void add_launch(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Who takes part");
  control::RendezvousOptions& rendezvous = options.job.rendezvous;
  group.choice("--backend", options.job.backend, "NAME", {"mpi", "nccl"},
               "mpi (host memory) or nccl (GPU memory; libnccl.so.2 is loaded) [mpi]");
  group
      .parsed(
          "--mpi",
          [&options](const std::string& name) {
            options.job.mpi.kind =
                name == "mpich" ? collective::MpiKind::mpich : collective::MpiKind::open_mpi;
          },
          "NAME", "openmpi or mpich [as the launcher]")
      ->check(CLI::IsMember({"openmpi", "mpich"}));
  add_rank_options(group, rendezvous, 1, control::kMaxRanks);
  group.time("--wait", rendezvous.timeout, "wait this long for all ranks [30s]");
  group.list("--device", options.job.devices, "NAMES",
             "devices whose counters are read before and after the run: mlx5_0:1, eth0, several "
             "with commas [every RDMA device]");
}

void add_require(const OptionGroup& group, CollOptions& options) {
  group.parsed(
      "--require",
      [&options](const std::string& text) {
        options.job.required = collective::parse_required(text);
      },
      "LIST",
      "fail unless device=NAME sent the bytes, by its own counters (several: an equal share each), "
      "NCCL used network=NAME, or all connections through a NIC are gpudirect, by NCCL's log: not a "
      "silent fall-back");
}

void add_groups(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Groups");
  CLI::Option* const groups = group.choice(
      "--groups", options.groups, "HOW",
      {"halves", "quarters", "nodes", "across", "leaf", "leaf-pairs"},
      "measure groups of ranks at the same time, a row for each: halves or quarters "
      "of the nodes, nodes (each by itself), across (ranks of the same number on "
      "their nodes), leaf (by --topology) or leaf-pairs (every two leaves together, in turn)");
  CLI::Option* const topology =
      group
          .list("--topology", options.topology, "FILES",
                "of --groups leaf and leaf-pairs: files as fabric takes them")
          ->needs(groups);
  group
      .flag(
          "--bisect", options.bisect,
          "instead of --groups: halve the nodes until one node, or the boundary between two parts, "
          "explains why all together are slow or wrong; judged by the largest size")
      ->excludes(groups)
      ->excludes(topology);
}

void add_nccl(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "NCCL");
  collective::NcclOptions& nccl = options.job.nccl;
  group.plain("--gpu", nccl.device, "NAME",
              "GPU of this rank: 0, 0000:1b:00.0 or GPU-... [the rank's number on its host]");
  group.parsed(
      "--register",
      [&nccl](const std::string& text) {
        nccl.registration = collective::parse_registration(text);
      },
      "HOW", "register buffers with NCCL: none, local (2.19) or symmetric (2.27) [none]");
  group
      .parsed(
          "--validate",
          [&options](const std::string& where) { options.job.check_by_cpu = where == "cpu"; },
          "WHERE",
          "where results are compared: gpu (what is wrong there, the CPU then names) or cpu, which "
          "copies and compares every byte [gpu]")
      ->check(CLI::IsMember({"gpu", "cpu"}));
  group.flag("--graph", nccl.graph,
             "capture the operations of a sample as one CUDA graph, and launch that");
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
  const bool is_mpi = options.job.backend == "mpi";
  const std::vector<std::string> foreign =
      is_mpi
          ? std::vector<std::string>{"--gpu",      "--register", "--graph",        "--cta-policy",
                                     "--misalign", "--network",  "--non-blocking", "--validate"}
          : std::vector<std::string>{"--mpi"};
  for (const std::string& name : foreign) {
    if (app.get_option(name)->count() == 0) continue;
    throw Error(Fault::usage, fmt::format("{} with --backend {}", name, options.job.backend),
                is_mpi ? "It needs --backend nccl." : "It needs --backend mpi.");
  }
}

void check_groups(const CollOptions& options) {
  if (options.groups.starts_with("leaf") != options.topology.empty()) return;
  throw Error(Fault::usage,
              options.topology.empty()
                  ? fmt::format("--groups {} without --topology", options.groups)
                  : fmt::format("--topology with --groups {}", options.groups),
              "The topology says which nodes have one leaf: give both, or neither.");
}

void add_wire(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Point to point");
  const auto wire = [&options]() -> collective::PointToPointOptions& {
    if (!options.job.wire) options.job.wire.emplace(collective::PointToPointOptions{.memory = ""});
    return *options.job.wire;
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
      "--wire-size",
      [wire](const std::string& given) { wire().shape.size_bytes = parse_size(given); }, "SIZE",
      "size of a message [1M]");
  group.parsed(
      "--wire-duration",
      [wire](const std::string& given) { wire().duration = parse_duration(given); }, "TIME",
      "duration of each pair [500ms]");
  group
      .parsed(
          "--wire-shape", [wire](const std::string& given) { wire().as_nccl = given == "nccl"; },
          "SHAPE",
          "plain, or nccl: then change one thing after another to what NCCL does for the largest "
          "row (message size, messages in flight, queue pairs, clear-to-sends) [plain]")
      ->check(CLI::IsMember({"plain", "nccl"}));
}

}  // namespace

void add_coll_options(CLI::App& app, CollOptions& options) {
  add_measured(app, options);
  add_amount(app, options);
  add_launch(app, options);
  add_groups(app, options);
  add_nccl(app, options);
  add_wire(app, options);
  const OptionGroup group(app, "Results");
  group.choice("--format", options.format, "FORMAT", {"table", "json", "csv", "nccl-tests"},
               "table, json, csv or nccl-tests [table]");
  group.plain("--output", options.output, "FILE", "write to FILE");
  add_expect(group, options.expect);
  add_require(group, options);
  add_wide(group, options.wide);
  shorten_help(app, {"--size", "--type", "--reduction", "--place", "--iterations", "--budget",
                     "--backend", "--groups", "--bisect", "--network", "--wire", "--expect",
                     "--require", "--format", "--output"});
}

void check_coll_options(const CLI::App& app, const CollOptions& options) {
  check_backend(app, options);
  check_groups(options);
}

}  // namespace rdmabench::tools
