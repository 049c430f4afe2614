#include "coll_options.h"

#include <fmt/format.h>

#include "base/refuse.h"
#include "option_group.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"

namespace rdmabench::inline v1::tools {
namespace {

void add_measured(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "What is measured");
  app.add_option("OPERATION", options.operations,
                 "all-reduce, all-gather, reduce-scatter, broadcast, reduce, all-to-all, "
                 "all-to-all-v, gather, scatter, send-receive, several with commas, or all")
      ->delimiter(',')
      ->required();
  group.add(
      "-s, --size=SIZES", options.sizes,
      "sizes as nccl-tests counts them: of all-gather, reduce-scatter, all-to-all, gather and "
      "scatter the bytes of all ranks' parts; 8,64K or 8:64M (doubling) [8:4M]");
  group.list("--type=TYPES", options.types,
             "int8 uint8 int32 uint32 int64 uint64 half float32 float64 bfloat16 f8e4m3 f8e5m2, "
             "several with commas, or all [float32]");
  group.list("--reduction=NAMES", options.reductions,
             "sum prod min max avg mulsum, several with commas, or all [sum]");
  group.add("--place=WHERE", options.place,
            "out, in or both: whether input and result share memory [out]", {"out", "in", "both"});
  group.add("--root=RANK", options.root, "root rank of broadcast, reduce, gather and scatter [0]",
            {0, control::kMaxRanks - 1});
}

void add_amount(CLI::App& app, CollOptions& options) {
  collective::CollectivePlan& plan = options.job.plan;
  const OptionGroup group(app, "How much");
  group.add("-n, --iterations=N", plan.iterations,
            "samples of each row [until --precision or --budget]", {1, 1'000'000});
  group.add("--warmup=N", plan.warmup, "warm-up samples before them [5]", {0, 1'000'000});
  group.add("--batch=N", plan.batch, "operations of one sample, started and awaited together [1]",
            {1, 1024});
  group.add("--precision=RATIO", plan.precision,
            "a row ends when its median is known to this relative precision, at 95 % [0.02]");
  add_launches(group, options.launches);
  group.add("--budget=TIME", plan.budget, "... or after this time [2s]");
  OptionGroup(app).add("--no-check", plan.check, "do not check the results");
  group.add(
      "--memory-reuse", plan.memory_reuse,
      "time every sample in the same memory, which caches may hold, and check the last result "
      "there [every operation has its own, and is checked]");
  group.add("--buffers=SIZE", plan.buffer_bytes,
            "memory of inputs and of results each, for the operations of one epoch [64M]");
  group.add("--timeout=TIME", plan.timeout,
            "limit of every wait: then the rank that hangs is named and the run ends [30s]");
}

void add_launch(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Who takes part");
  control::RendezvousOptions& rendezvous = options.job.rendezvous;
  group.add("--backend=NAME", options.job.backend,
            "mpi (host memory) or nccl (GPU memory; libnccl.so.2 is loaded) [mpi]",
            {"mpi", "nccl"});
  group.choice<std::optional<collective::MpiKind>, collective::MpiKind>(
      "--mpi=NAME", options.job.mpi.kind, "openmpi or mpich [as the launcher]",
      {{"openmpi", collective::MpiKind::open_mpi}, {"mpich", collective::MpiKind::mpich}});
  add_rank_options(group, rendezvous, 1, control::kMaxRanks);
  group.add("--wait=TIME", rendezvous.timeout, "wait this long for all ranks [30s]");
  group.list("--device=NAMES", options.job.devices,
             "devices whose counters are read before and after the run: mlx5_0:1, eth0, several "
             "with commas [every RDMA device]");
}

void add_groups(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "Groups");
  CLI::Option* const groups = group.add(
      "--groups=HOW", options.groups,
      "measure groups of ranks at the same time, a row for each: halves or quarters "
      "of the nodes, nodes (each by itself), across (ranks of the same number on "
      "their nodes), leaf (by --topology) or leaf-pairs (every two leaves together, in turn)",
      {"halves", "quarters", "nodes", "across", "leaf", "leaf-pairs"});
  CLI::Option* const topology =
      group
          .list("--topology=FILES", options.topology,
                "of --groups leaf and leaf-pairs: files as fabric takes them")
          ->needs(groups);
  group
      .add(
          "--bisect", options.bisect,
          "instead of --groups: halve the nodes until one node, or the boundary between two parts, "
          "explains why all together are slow or wrong; judged by the largest size")
      ->excludes(groups)
      ->excludes(topology);
}

void add_nccl(CLI::App& app, CollOptions& options) {
  const OptionGroup group(app, "NCCL");
  collective::NcclOptions& nccl = options.job.nccl;
  group.add("--gpu=NAME", nccl.device,
            "GPU of this rank: 0, 0000:1b:00.0 or GPU-... [the rank's number on its host]");
  group.add("--register=HOW", nccl.registration,
            "register buffers with NCCL: none, local (2.19) or symmetric (2.27) [none]",
            collective::parse_registration);
  group.choice<bool, bool>(
      "--validate=WHERE", options.job.check_by_cpu,
      "where results are compared: gpu (what is wrong there, the CPU then names) or cpu, which "
      "copies and compares every byte [gpu]",
      {{"gpu", false}, {"cpu", true}});
  group.add("--graph", nccl.graph,
            "capture the operations of a sample as one CUDA graph, and launch that");
  group.add("--cta-policy=N", nccl.cta_policy,
            "0 default, 1 efficiency, 2 zero; since 2.27 [NCCL's own]", {0, 2});
  group.add("--misalign=N", nccl.misalign,
            "elements by which input and result are off a boundary [0]", {0, 1U << 16U});
  group.add("--non-blocking", nccl.non_blocking,
            "make the communicator with blocking=0: every call can be given up by itself, and "
            "small sizes take longer");
  group.add("--network=NAME", nccl.network,
            "NCCL's network: Socket, IB, a plugin's name [its own]");
}

/// An option of the other back end is an error.
void check_backend(const CollOptions& options) {
  const bool is_mpi = options.job.backend == "mpi";
  const std::vector<std::string> foreign =
      is_mpi
          ? std::vector<std::string>{"--gpu",      "--register", "--graph",        "--cta-policy",
                                     "--misalign", "--network",  "--non-blocking", "--validate"}
          : std::vector<std::string>{"--mpi"};
  for (const std::string& name : foreign) {
    if (options.command->get_option(name)->count() == 0) continue;
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
  collective::PointToPointOptions& wire = options.wire;
  group.call(
      "--wire",
      "then measure neighbours point to point, and print the bus bandwidth as a share of that",
      [](const Given& /*given*/) {});
  group.add("--wire-backend=NAME", wire.backend, "verbs or ofi [auto]");
  group.add("--wire-provider=NAME", wire.provider, "libfabric's provider [by route]");
  group.add("--wire-device=NAME", wire.device, "device of this rank [by route]");
  group.add("--wire-memory=NAME", wire.memory,
            "memory of this rank: host, huge, cuda:0 [as the back end, else host]");
  group.add("--wire-size=SIZE", wire.shape.size_bytes, "size of a message [1M]");
  group.add("--wire-duration=TIME", wire.duration, "duration of each pair [500ms]");
  group.choice<bool, bool>(
      "--wire-shape=SHAPE", wire.as_nccl,
      "plain, or nccl: then change one thing after another to what NCCL does for the largest "
      "row (message size, messages in flight, queue pairs, clear-to-sends) [plain]",
      {{"plain", false}, {"nccl", true}});
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
  Formats formats = kTableFormats;
  formats.emplace_back("nccl-tests", "");
  add_formats(group, options, formats);
  add_expect(group, options.expect);
  group.add(
      "--require=LIST", options.job.required,
      "fail unless device=NAME sent the bytes, by its own counters (several: an equal share "
      "each), NCCL used network=NAME, or all connections through a NIC are gpudirect, by NCCL's "
      "log: not a silent fall-back",
      collective::parse_required);
  add_wide(group, options.wide);
  shorten_help(app, {"--size", "--type", "--reduction", "--place", "--iterations", "--budget",
                     "--launches", "--backend", "--groups", "--bisect", "--network", "--wire",
                     "--expect", "--require", "--format", "--output"});
}

void settle(CollOptions& options) {
  settle_format(options);
  check_backend(options);
  check_groups(options);
  refuse_if(options.wire.backend == "verbs" && !options.wire.provider.empty(),
            fmt::format("--wire-provider {} with --wire-backend verbs", options.wire.provider),
            "It is libfabric's: leave out one of them.");
  refuse_if(options.launches > 1 && options.job.backend == "mpi",
            fmt::format("--launches {} with --backend mpi", options.launches),
            "The launcher lets each of its processes call MPI_Init() once. Write a loop, 'for i in "
            "1 2 3 4 5; do mpirun -n 4 rdmabench coll all-reduce --format json --output $i.json; "
            "done', and give its files to 'rdmabench report' or 'rdmabench compare'.");
  const auto of_wire = options.command->get_options([](const CLI::Option* option) {
    return option->count() > 0 && option->get_name().starts_with("--wire");
  });
  if (!of_wire.empty()) options.job.wire = options.wire;  // any of them asks for it
}

}  // namespace rdmabench::inline v1::tools
