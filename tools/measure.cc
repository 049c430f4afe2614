// rdmabench lat, rdmabench bw, rdmabench load
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "commands.h"
#include "ending.h"
#include "flags/fields.h"
#include "launches.h"
#include "options.h"
#include "output.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr const char* kExitCodes =
    "\n\nExit codes: 0 done; 1 the measurement, or a condition of --require, --expect or --validate, failed; 2 "
    "wrong usage; 3 not available here; 128 and the signal's number after SIGINT, SIGTERM or "
    "SIGHUP.";

/// What the clients of one incast have in common without being told: the launcher's job, or who
/// started them.
std::string usual_job() {
  for (const char* name : {"SLURM_JOB_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PBS_JOBID",
                           "LSB_JOBID", "JOB_ID"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  const passwd* const user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : fmt::format("user {}", geteuid());
}

int measure(Options& options) {
  settle(options);
  if (options.config.traffic.incast_clients > 1 && options.config.traffic.incast_job.empty())
    options.config.traffic.incast_job = usual_job();
  if (const auto code = begin_launches(options.launches, options, options.expect)) return *code;
  const LaunchPart part = launch_part();
  Writer writer(options);
  const auto keep = [&](report::Report report) {
    name_flags(report);
    if (part.is_launch()) hand_over(report::to_json(report));
    return writer.write(writer.rows(report, true), {&report, 1});
  };
  More more;
  if (writer.streams()) more = [&](const auto& report) { return writer.rows(report, false); };
  return run_and_write(options.config, options.host, options.port,
                       progress_line(part.index, part.count), keep, more, writer.each_load());
}

void add(CLI::App& app, Command& command, const char* name, const char* about,
         const std::string& footer, run::TestSet test, workload::Shape shape) {
  const auto [sub, options] =
      add_command<Options>(app, command, name, about, footer + kExitCodes, measure);
  options.config = run::usual_config(shape);
  add_measuring(sub, options, test);
}

}  // namespace

void add_lat(CLI::App& app, Command& command) {
  add(app, command, "lat", "Measure latency between this machine and a server",
      "Sends, writes and atomic-write are a closed-loop ping-pong: a result is half a round trip of\n"
      "software, device and wire. It is not the latency under load. read, fetch-add and compare-swap\n"
      "are the time from the post to the arrival of the data, flush that from the post of a write to\n"
      "the completion of its flush.\n"
      "All samples count; '-' is a percentile with too few samples.\n"
      "\n"
      "Examples:\n"
      "  rdmabench lat node2                       8 bytes, until epochs agree within 0.5 %\n"
      "  rdmabench lat node2 --op write -s 1:64K   a sweep\n"
      "  rdmabench lat node2 -d mlx5_0 -n 10k --format json --output lat.json\n"
      "  rdmabench lat --backend loop              the overhead of rdmabench itself",
      run::kLat, workload::Shape::latency);
}

void add_bw(CLI::App& app, Command& command) {
  add(app, command, "bw", "Measure bandwidth and message rate to a server",
      "Up to --depth messages are outstanding. The clock stops when the server has confirmed that\n"
      "all data arrived; for read, when the last data is here. Results count payload;\n"
      "with -b that of both directions.\n"
      "\n"
      "Examples:\n"
      "  rdmabench bw node2 --op write             64 KiB messages until epochs agree\n"
      "  rdmabench bw node2 --op send -s 64        message rate\n"
      "  rdmabench bw node2 --op read -a -D 2s     a sweep, two seconds per size",
      run::kBw, workload::Shape::bandwidth);
}

void add_load(CLI::App& app, Command& command) {
  add(app, command, "load", "Measure latency under a given load of a server",
      "An open loop: messages are posted on a schedule (--arrivals), whether or not earlier ones "
      "were answered.\n"
      "Each is timed from its scheduled start, so a stall counts for every message that it delays. "
      "The\n"
      "server answers send, send-imm and write-imm (a whole round trip); the others end with their\n"
      "completion. Without --rate it measures the capacity, then loads from 10 to 110 % of it, one\n"
      "second each, and reports the knee, above which p50 or p99 rises steeply. A knee that a disturbance\n"
      "may have caused is called not reliable; --launches 6 measures the curve in six processes and gives\n"
      "the interval of the knee.\n"
      "\n"
      "Examples:\n"
      "  rdmabench load node2                      the latency-versus-load curve of 8 bytes\n"
      "  rdmabench load node2 --op read -s 4K -D 5s\n"
      "  rdmabench load node2 --launches 6         the knee with its 95 % interval\n"
      "  rdmabench load node2 --rate 100k          one load",
      run::kLoad, workload::Shape::load);
}

}  // namespace rdmabench::inline v1::tools
