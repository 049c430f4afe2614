#include "coll_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "ending.h"
#include "output.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/rank_group.h"

namespace rdmabench::inline v1::tools {
namespace {

/// Without destructors: threads of a collective library may still run.
[[noreturn]] void leave(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(exit_status(code));
}

bool write_run(const CollJob& job, const collective::Run& run,
               const collective::PointToPoint& wire = {}) {
  erase_progress();
  const bool as_expected = job.write(run, wire);
  if (!run.error.empty()) tell(run.error);
  return as_expected;
}

void set_failed(collective::Run& run, std::string why) {
  run.error = std::move(why);
  run.failure.emplace();
}

/// The rows that are finished, written once: by the end of the run, by a signal, or by the thread
/// that finds the library stuck.
class Results {
 public:
  Results(const CollJob& job, collective::Run& run) : job_(job), run_(run) {}

  /// After each row. A signal must not lose it, while this thread may be in a call of MPI or NCCL.
  void keep(const collective::Run& so_far) {
    {
      const std::lock_guard lock(mutex_);
      finished_ = so_far;
      if (job_.print) {
        erase_progress();
        try {
          job_.print(finished_);
        } catch (const Error& error) {
          unwritten_ = std::current_exception();
          why_unwritten_ = why_no_rows(error);
          throw;  // ends the run
        }
      }
      if (job_.write_each_row) {
        set_failed(finished_, "the run was killed after this row");
        job_.write(finished_, {});
      }
    }
    if (!on_interruption_) on_interruption_.emplace([this] { end(interrupted(), true); });
  }

  /// False where a result is not what was expected. Throws, once all else is written, what ended
  /// the run because its rows could not be printed.
  bool write(const collective::PointToPoint& wire) {
    const std::lock_guard lock(mutex_);
    written_ = true;
    if (!unwritten_) return write_run(job_, run_, wire);
    set_failed(run_, why_unwritten_);
    run_.blame = {};  // no rank is to blame
    job_.write(run_, wire);
    std::rethrow_exception(unwritten_);
  }

  bool rows_unwritten() const { return unwritten_ != nullptr; }

  /// From a thread that ends the process: no error may stop that, and the lock is kept.
  [[noreturn]] void end(const std::string& reason, bool leads) {
    mutex_.lock();
    if (leads && !written_) {
      finished_.config = job_.config;
      set_failed(finished_, reason);
      try {
        write_run(job_, finished_);
      } catch (const std::exception& error) {
        tell(reason);
        tell(error.what());
      }
    } else {
      tell(reason);
    }
    leave(static_cast<int>(Fault::failed));
  }

 private:
  const CollJob& job_;
  collective::Run& run_;
  std::mutex mutex_;
  collective::Run finished_;
  bool written_ = false;
  std::exception_ptr unwritten_;  // what printing a row threw
  std::string why_unwritten_;
  std::optional<OnInterruption> on_interruption_;
};

/// The options, with the memory where the back end has its buffers unless another was given.
collective::PointToPointOptions wire_options(const CollJob& job, const collective::Engine& engine) {
  collective::PointToPointOptions options = *job.wire;
  if (!options.memory.empty()) return options;
  options.memory = collective::memory_of(engine.facts());
  options.host_instead = true;
  return options;
}

/// If a rank is gone by now, the finished table is still written.
collective::PointToPoint measure_point_to_point(const CollJob& job, collective::RankGroup& group,
                                                const collective::Engine& engine,
                                                collective::Run& run) {
  try {
    collective::PointToPoint wire =
        collective::measure_point_to_point(group, wire_options(job, engine), run);
    collective::join(run, wire);
    return wire;
  } catch (const std::exception& error) {
    set_failed(run, fmt::format("the pairs were not measured point to point: {}", error.what()));
    return {};
  }
}

int exit_code(const collective::Run& run, const collective::PointToPoint& wire) {
  if (const std::string why = collective::nothing_measured(run); !why.empty()) {
    tell("nothing was measured: " + why);
    return static_cast<int>(Fault::unavailable);
  }
  const bool pair_failed = collective::any_failed(wire);
  if (pair_failed) tell("a point-to-point pair failed");
  return pair_failed || collective::failed(run) ? static_cast<int>(Fault::failed) : 0;
}

/// Of rows, in a unit of its own: large ones take longer. A small one costs as much as this many
/// bytes.
double cost(std::span<const collective::Call> calls) {
  constexpr double kOfEach = 1 << 18;
  return std::accumulate(
      calls.begin(), calls.end(), 0.0, [](double sum, const collective::Call& call) {
        return sum + kOfEach + static_cast<double>(call.count) * bytes_of(call.type);
      });
}

int lead(CollJob& job, collective::RankGroup& group, collective::Engine& engine,
         const collective::MemberOptions& member, collective::Run& run, Results& results) {
  try {
    std::vector<std::string> hosts;
    for (const collective::RankIdentity& rank : group.identities()) hosts.push_back(rank.host);
    job.fill(job.plan, hosts);
    run.config = job.config;
    const std::vector<collective::Call>& calls = job.plan.calls;
    const Progress progress;
    collective::lead(group, engine, job.plan, member, run, [&](const collective::Run& so_far) {
      results.keep(so_far);
      const std::size_t done = so_far.rows.size();
      if (job.plan.passes) return progress.show(fmt::format("{} rows", done), 0);
      progress.show(fmt::format("{} of {} rows", done, calls.size()),
                    cost(std::span(calls).first(done)) / cost(calls));
    });
  } catch (const Error& error) {
    // First: mpirun ends this rank when one of those has ended that hear of it.
    const int code = fail(error);
    group.give_up(error.what(), Deadline::after(std::chrono::seconds(1)));
    return code;
  }
  if (run.error.empty()) run.findings = collective::prove(run, job.required);
  collective::PointToPoint wire;
  if (run.error.empty() && job.wire) wire = measure_point_to_point(job, group, engine, run);
  bool as_expected = false;
  try {
    as_expected = results.write(wire);
  } catch (const Error& error) {
    if (run.error.empty()) throw;
    collective::dismiss(group, run);  // the other ranks wait for it
    if (!results.rows_unwritten()) tell(run.error);
    leave(fail(error));
  }
  if (!run.error.empty()) {
    collective::dismiss(group, run);
    leave(static_cast<int>(run.failure->fault));
  }
  const int code = exit_code(run, wire);
  return code == 0 && !as_expected ? static_cast<int>(Fault::failed) : code;
}

int take_part(CollJob& job, collective::RankGroup& group, collective::Engine& engine,
              const collective::MemberOptions& member, collective::Run& run, Results& results) {
  if (group.leads()) return lead(job, group, engine, member, run, results);
  try {
    collective::follow(group, engine, member);
    if (job.wire) collective::measure_point_to_point(group, wire_options(job, engine), run);
  } catch (const collective::Verdict& told) {
    leave(static_cast<int>(told.fault()));  // rank 0 prints it, once for all
  } catch (const Error& error) {
    if (error.fault() != Fault::failed) throw;
    tell(fmt::format("rank {}: {}", group.team().rank, error.what()));
    leave(static_cast<int>(Fault::failed));
  }
  return 0;
}

}  // namespace

int run_job(CollJob& job) {
  if (job.wire) job.wire->timeout = job.plan.timeout;
  collective::Run run;
  Results results(job, run);
  bool leads = false;
  // Called from another thread: the one that hangs in the library cannot be stopped.
  const collective::HeartbeatOptions heartbeat{
      .interval = std::clamp<std::chrono::nanoseconds>(
          job.plan.timeout / 8, std::chrono::milliseconds(50), std::chrono::milliseconds(500)),
      .on_stuck =
          [&](const std::string& reason) {
            results.end(interrupted().empty() ? reason : interrupted(), leads);
          },
      // Not leave(): the other thread may hold what that waits for.
      .on_ending_stuck = [] { _exit(static_cast<int>(Fault::failed)); }};
  collective::AssembledGroup assembled = collective::assemble(job.rendezvous, heartbeat);
  collective::RankGroup& group = *assembled.group;
  leads = group.leads();
  const collective::MemberOptions member{.timeout = job.plan.timeout,
                                         .devices = job.devices,
                                         .interfaces = !job.required.empty(),
                                         .facts = {{"rank_source", assembled.place.source}},
                                         .check_by_cpu = job.check_by_cpu};
  const std::shared_ptr<collective::Engine> engine = job.backend == "nccl"
                                                         ? collective::make_nccl_engine(job.nccl)
                                                         : collective::make_mpi_engine(job.mpi);
  return take_part(job, group, *engine, member, run, results);
}

}  // namespace rdmabench::inline v1::tools
