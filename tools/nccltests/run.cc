#include "tool.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "../output.h"
#include "base/refuse.h"
#include "flags.h"
#include "local_ranks.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/run.h"
#include "to_job.h"

namespace rdmabench::inline v1::tools::nccltests {
namespace {

/// Prints skipped rows and wrong results to standard error: the table has no column for them.
void tell_of(const collective::Run& run, const Flags& flags) {
  std::string last;
  for (const collective::Row& row : run.rows) {
    if (!row.skipped.empty() && row.skipped != last) tell(row.skipped);
    if (!row.skipped.empty()) last = row.skipped;
    const std::uint64_t batch = row.batch / std::max<std::uint64_t>(flags.graph_launches, 1);
    if (const std::uint64_t real = row.iterations * batch; real > flags.iterations) {
      tell(fmt::format("{} bytes: {} operations in {} batches of {}, for -n {}", row.size_bytes,
                       real, row.iterations, batch, flags.iterations));
    }
    if (row.first_wrong) {
      const collective::Wrong& wrong = row.first_wrong->wrong;
      tell(fmt::format("wrong: rank {}, {} of {} bytes, {}: {} bytes from byte {} on, {}",
                       row.first_wrong->rank, collective::name(row.call.operation), row.size_bytes,
                       collective::name_of_operation(row), wrong.run_bytes, wrong.offset_bytes,
                       wrong.pattern));
    }
  }
}

}  // namespace

int run(const Tool& tool, const std::vector<std::string>& words) {
  const CommandLine<Flags> line = parse(tool, words);
  const Flags& flags = line.flags;
  if (!line.answer.empty()) {
    write_text(line.answer, "");
    return 0;
  }
  if (is_first_rank()) check_writable(flags.json_file);
  const std::uint64_t ranks = std::uint64_t{flags.threads} * flags.gpus;
  std::optional<LocalRanks> local;
  if (ranks > 1 && is_launched()) {
    // Children have the same command line; only the first process starts others.
    refuse_if(
        std::getenv("RDMABENCH_LOCAL_RANKS") == nullptr,
        fmt::format("-t {} -g {} under a launcher", flags.threads, flags.gpus),
        "Here each rank is a process with one GPU: let the launcher start one process for each.");
  } else if (ranks > 1 && flags.backend == "mpi") {
    throw Error(Fault::usage,
                fmt::format("-t {} -g {} with --backend mpi", flags.threads, flags.gpus),
                "MPI's launcher starts the ranks: mpirun -n N rdmabench ...");
  } else if (ranks > 1) {
    ::setenv("RDMABENCH_LOCAL_RANKS", "1", 1);
    std::vector<std::string> all{std::string(tool.name)};
    all.insert(all.end(), words.begin(), words.end());
    local.emplace(static_cast<std::uint32_t>(ranks), all);
  }
  CollJob job = to_job(tool, flags);
  job.rendezvous.authentication = line.authentication;
  if (!local && !is_launched()) job.rendezvous.size = 1;
  report::NcclTestsText text(flags.per_iteration);
  const auto print = [&](const collective::Run& run, bool last) {
    write_text(text.more(to_table(tool, flags, run), last));
  };
  job.print = [&](const collective::Run& so_far) { print(so_far, false); };
  job.write = [&](const collective::Run& run, const collective::PointToPoint&) {
    write_too(collective::to_json(run), flags.json_file, [&] {
      print(run, true);
      tell_of(run, flags);
    });
    return true;
  };
  const char* const rank = std::getenv("RDMABENCH_RANK");
  if (rank == nullptr || std::string_view(rank) == "0") {
    for (const std::string& note : flags.notes) tell(note);
  }
  const int code = run_job(job);
  if (local && !local->wait() && code == 0) return static_cast<int>(Fault::failed);
  return code;
}

}  // namespace rdmabench::inline v1::tools::nccltests
