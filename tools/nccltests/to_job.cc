#include "to_job.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "rdmabench/base/units.h"
#include "rdmabench/features.h"
#include "results/facts.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

using collective::Call;
using collective::kMaxBatch;
using collective::Operation;
using collective::Row;

constexpr double kGiga = 1e9;
/// Over MPI each operation of a batch has buffers of its own.
constexpr std::uint64_t kBatchBytes = std::uint64_t{1} << 30;

std::uint64_t launches(const Flags& flags) {
  return std::max<std::uint64_t>(flags.graph_launches, 1);
}

/// All iterations of -n in few batches of equal size, rounded up if -n does not divide well; of
/// so many operations at most.
std::uint64_t samples_of(const Flags& flags, std::uint64_t fit) {
  const std::uint64_t fewest = (flags.iterations + fit - 1) / fit;
  std::uint64_t samples = fewest;
  while (flags.iterations % samples != 0 && samples < 2 * fewest) ++samples;
  return flags.iterations % samples == 0 ? samples : fewest;
}

std::uint64_t batch_of(const Flags& flags, std::uint64_t fit) {
  const std::uint64_t samples = samples_of(flags, fit);
  return (flags.iterations + samples - 1) / samples;
}

/// The memory is -e bytes, in which iteration i takes the place i modulo how many fit (nccl-tests,
/// startColl()). The launches of -G follow one another in one sample, and plain calls warm up for
/// them (BenchTime()).
collective::Amount amount_of(const Flags& flags, std::uint64_t bytes) {
  const bool nccl = flags.backend != "mpi";
  bytes = std::max<std::uint64_t>(bytes, 1);
  const auto places = [&](std::uint64_t operations) {
    const std::uint64_t fit = std::clamp<std::uint64_t>(flags.max_bytes / bytes, 1, kMaxBatch);
    return nccl ? static_cast<std::uint32_t>(std::min(fit, operations)) : 0;
  };
  const bool one_by_one = flags.blocking != 0 || flags.per_iteration;
  if (one_by_one) return {1, flags.iterations, flags.warmup, places(flags.iterations)};
  const std::uint64_t fit =
      nccl ? kMaxBatch : std::clamp<std::uint64_t>(kBatchBytes / bytes, 1, kMaxBatch);
  const std::uint64_t batch = batch_of(flags, fit);
  return {static_cast<std::uint32_t>(batch * launches(flags)), samples_of(flags, fit),
          flags.graph_launches > 0 ? 0 : (flags.warmup + batch - 1) / batch, places(batch)};
}

/// The iterations of the measured row with fewest.
std::uint64_t fewest_operations(const collective::Run& run, std::uint64_t otherwise) {
  std::optional<std::uint64_t> fewest;
  for (const Row& row : run.rows) {
    const std::uint64_t operations = row.iterations * row.batch;
    if (row.skipped.empty() && operations > 0) {
      fewest = std::min(fewest.value_or(operations), operations);
    }
  }
  return fewest.value_or(otherwise);
}

/// The row with the other placement of the same call, not always the next one.
report::NcclTestsRow* other_placement(std::vector<report::NcclTestsRow>& lines,
                                      const report::NcclTestsRow& line) {
  const auto found = std::find_if(lines.rbegin(), lines.rend(), [&](const auto& one) {
    return !one.in_place && one.size_bytes == line.size_bytes && one.count == line.count &&
           one.type == line.type && one.reduction == line.reduction && one.root == line.root;
  });
  return found == lines.rend() ? nullptr : &*found;
}

std::uint64_t count_of(Operation operation, collective::DataType type, std::uint64_t size,
                       std::uint32_t ranks) {
  const std::uint64_t count = collective::count_for(operation, type, size, ranks);
  if (!collective::is_of_all_ranks(operation)) return count;
  const std::uint64_t unit = 16 / collective::bytes_of(type);
  return count < unit ? count : count / unit * unit;
}

std::string_view type_name(collective::DataType type) {
  if (type == collective::DataType::float32) return "float";
  if (type == collective::DataType::float64) return "double";
  return collective::name(type);
}

/// The value that -a asks for, from the ranks' medians.
double time_ns(const Row& row, Average average) {
  const std::vector<collective::RankTimes>& ranks = row.numbers.ranks;
  if (ranks.empty()) return row.numbers.time.p50_ns;
  std::vector<double> medians;
  for (const collective::RankTimes& rank : ranks) medians.push_back(rank.p50_ns);
  if (average == Average::rank_0) return medians.front();
  if (average == Average::min) return *std::min_element(medians.begin(), medians.end());
  if (average == Average::max) return *std::max_element(medians.begin(), medians.end());
  return std::accumulate(medians.begin(), medians.end(), 0.0) / static_cast<double>(medians.size());
}

std::optional<report::NcclTestsCell> cell(const Row& row, const Flags& flags, std::uint32_t ranks) {
  if (!row.skipped.empty() || row.iterations == 0) return std::nullopt;
  const double ns = time_ns(row, flags.average);
  report::NcclTestsCell out{.time_us = ns / kNsPerUs};
  out.algorithm_gb_per_s = collective::algorithm_bandwidth(row.call, ranks, ns) / kGiga;
  if (const auto bus = collective::bus_bandwidth(row.call, ranks, ns)) {
    out.bus_gb_per_s = *bus / kGiga;
  }
  if (row.checked) out.wrong = static_cast<double>(row.results.wrong_elements);
  const measure::LatencySummary& time = row.numbers.time;
  if (flags.per_iteration) {
    out.spread = report::NcclTestsCell::Spread{
        time.min_ns / kNsPerUs, time.max_ns / kNsPerUs, time.p99_ns / kNsPerUs,
        time.mean_ns > 0 ? 100 * time.stddev_ns / time.mean_ns : 0};
  }
  return out;
}

/// "NCCL 2.28.9" as ncclGetVersion gives it.
std::string version_code(const std::string& library) {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  // NOLINTNEXTLINE(cert-err34-c): a number out of range is another library's text
  if (std::sscanf(library.c_str(), "NCCL %u.%u.%u", &major, &minor, &patch) != 3) return "";
  return std::to_string(major * 10000 + minor * 100 + patch);
}

std::vector<report::NcclTestsRank> ranks_of(const collective::Run& run) {
  std::vector<report::NcclTestsRank> out;
  for (const collective::RankReport& rank : run.ranks) {
    const std::string pci = report::text_of(rank.facts, "gpu_pci");
    report::NcclTestsRank line;
    line.rank = rank.identity.rank;
    line.pid = rank.identity.process;
    line.host = rank.identity.host;
    const std::uint64_t ordinal =
        report::value_of<std::uint64_t>(rank.facts, "gpu_ordinal").value_or(0);
    if (ordinal <= UINT32_MAX) line.device = static_cast<std::uint32_t>(ordinal);
    line.pci = pci.substr(0, pci.rfind('.'));  // nccl-tests leaves the function out
    line.gpu = report::text_of(rank.facts, "gpu_name");
    if (line.gpu.empty()) line.gpu = "host memory";
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::vector<Call> calls(const Tool& tool, const Flags& flags, std::uint32_t ranks) {
  const Operation operation = tool.operation;
  std::vector<collective::Reduction> reductions = flags.reductions;
  if (!collective::reduces(operation)) reductions.resize(1);
  std::vector<std::uint32_t> roots{0};
  if (collective::has_root(operation)) {
    roots.clear();
    for (std::uint32_t rank = 0; flags.root < 0 && rank < ranks; ++rank) roots.push_back(rank);
    if (flags.root >= 0) roots.push_back(static_cast<std::uint32_t>(flags.root));
  }
  std::vector<Call> all;
  for (const collective::DataType type : flags.types) {
    for (const collective::Reduction reduction : reductions) {
      for (const std::uint32_t root : roots) {
        for (const std::uint64_t size : sizes(flags)) {
          for (const bool in_place : {false, true}) {
            all.push_back({.operation = operation,
                           .type = type,
                           .reduction = reduction,
                           .root = root,
                           .count = count_of(operation, type, size, ranks),
                           .in_place = in_place});
          }
        }
      }
    }
  }
  return all;
}

void set_sizes(Flags& flags, const std::vector<std::uint64_t>& sizes) {
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  flags.min_bytes = *least;
  flags.max_bytes = *most;
  flags.step_factor = 1;
  flags.step_bytes = 0;
  if (sizes.size() < 2 || sizes[1] <= sizes[0]) return;
  const std::uint64_t factor = sizes[1] / sizes[0];
  const std::uint64_t step = sizes[1] - sizes[0];
  bool by_factor = factor > 1;
  bool by_bytes = true;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    by_factor = by_factor && sizes[i] == sizes[i - 1] * factor;
    by_bytes = by_bytes && sizes[i] == sizes[i - 1] + step;
  }
  if (by_factor) flags.step_factor = factor;
  if (by_bytes) flags.step_bytes = step;
}

CollJob to_job(const Tool& tool, const Flags& flags) {
  CollJob job;
  job.fill = [tool, flags](collective::CollectivePlan& plan,
                           const std::vector<std::string>& hosts) {
    plan.calls = calls(tool, flags, static_cast<std::uint32_t>(hosts.size()));
  };
  job.plan.iterations = flags.iterations;
  job.plan.warmup = flags.warmup;
  job.plan.amount = [flags](const Call& call, std::uint32_t ranks) {
    return amount_of(flags, collective::size_bytes(call, ranks));
  };
  job.plan.check = flags.check > 0;
  if (flags.timeout) job.plan.timeout = *flags.timeout;
  job.backend = flags.backend;
  job.nccl = flags.nccl;
  job.nccl.graph_operations = static_cast<std::uint32_t>(batch_of(flags, kMaxBatch));
  job.nccl.plain_calls = static_cast<std::uint32_t>(std::max<std::uint64_t>(flags.warmup, 1));
  job.config = {{"command", std::string(tool.name)},
                {"iterations", flags.iterations},
                {"warmup_iterations", flags.warmup},
                {"blocking", std::uint64_t{flags.blocking}},
                {"registration", std::string(collective::name(flags.nccl.registration))},
                {"cuda_graph", flags.nccl.graph},
                {"cuda_graph_launches", flags.graph_launches}};
  return job;
}

report::NcclTestsTable to_table(const Tool& tool, const Flags& flags, const collective::Run& run) {
  const auto ranks = static_cast<std::uint32_t>(std::max<std::size_t>(1, run.ranks.size()));
  report::NcclTestsTable table;
  table.version = RDMABENCH_VERSION;
  table.library = version_code(report::text_of(run.library, "library"));
  table.program = tool.name;
  table.threads = flags.threads;
  table.gpus = flags.gpus;
  table.min_bytes = flags.min_bytes;
  table.max_bytes = flags.max_bytes;
  table.step_is_factor = flags.step_factor > 1;
  table.step = table.step_is_factor ? flags.step_factor : flags.step_bytes;
  table.warmup = flags.warmup;
  table.iterations = fewest_operations(run, flags.iterations * launches(flags)) / launches(flags);
  table.validation = flags.check;
  table.graph = flags.graph_launches;
  table.misaligned = flags.nccl.misalign;
  table.ranks = ranks_of(run);
  table.size = ranks;
  std::uint64_t wrong = 0;
  double sum = 0;
  std::uint64_t summed = 0;
  for (const Row& row : run.rows) {
    wrong += row.results.wrong_elements;
    const auto made = cell(row, flags, ranks);
    if (made && made->bus_gb_per_s) {
      sum += *made->bus_gb_per_s;
      ++summed;
    }
    report::NcclTestsRow line;
    line.size_bytes = row.size_bytes;
    line.count = row.call.count;
    line.type = type_name(row.call.type);
    const bool named = collective::reduces(tool.operation) ||
                       tool.operation == Operation::send_receive;  // as in nccl-tests
    line.reduction = named ? collective::name(row.call.reduction) : "none";
    line.root = collective::has_root(tool.operation) ? std::int64_t{row.call.root} : -1;
    if (row.call.in_place) {
      if (report::NcclTestsRow* const out = other_placement(table.rows, line); out != nullptr) {
        out->in_place = made;
        continue;
      }
    }
    (row.call.in_place ? line.in_place : line.out_of_place) = made;
    table.rows.push_back(std::move(line));
  }
  // Types that this NCCL or GPU lacks have no row in nccl-tests either.
  std::erase_if(table.rows,
                [](const report::NcclTestsRow& row) { return !row.out_of_place && !row.in_place; });
  table.out_of_bounds = wrong;
  if (summed > 0) table.average_bus_gb_per_s = sum / static_cast<double>(summed);
  return table;
}

}  // namespace rdmabench::inline v1::tools::nccltests
