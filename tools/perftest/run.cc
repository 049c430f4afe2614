#include "tool.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "../ending.h"
#include "../flags/fields.h"
#include "../output.h"
#include "base/refuse.h"
#include "command_line.h"
#include "cpu_meter.h"
#include "interval_rows.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/run/backends.h"
#include "rdmabench/run/client.h"
#include "report/perftest.h"
#include "results/not_rdma.h"
#if RDMABENCH_HAVE_VERBS
#include "rdmabench/verbs/device.h"
#endif
#include "to_config.h"
#include "verdict.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

constexpr const char* kBanner =
    "\n************************************\n"
    "* Waiting for client to connect... *\n"
    "************************************\n";

void tell(std::string_view text) {
  tools::tell(with_flags(text, fields()));
}

/// What this side decides: perftest fails by it before it listens.
void check_own_side(const Flags& flags, const run::ServerConfig& server) {
  run::Config own;
  own.backend = flags.config.backend;
  if (own.backend == "verbs") own.endpoint.service = flags.config.endpoint.service;
  own.placement.gid_index = server.gid_index;
  if (!server.device.empty()) own.placement.devices = {server.device};
  run::check_this_side(own);
}

/// Serves one client, as perftest's server does. The client prints the results.
int serve(const Flags& flags) {
  refuse_if(!flags.file.empty(), "--mmap at the server", "Give it at the client: it decides.");
  run::ServerConfig config;
  config.port = flags.port;
  config.authentication = flags.config.authentication;
  config.timeout = flags.config.timeout;
  config.device = device(flags);
  config.gid_index = flags.config.placement.gid_index;
  if (flags.config.backend != "auto") check_own_side(flags, config);
  return serve_one(config, tell, [&] {
    if (!flags.one_number) write_text(kBanner);
  });
}

/// Prints a row for each interval.
run::OnProgress print_intervals(const Flags& flags, const report::PerftestStyle& style) {
  constexpr auto kInterval = std::chrono::seconds(5);  // perftest's default of -D
  auto rows =
      std::make_shared<IntervalRows>(flags.duration.value_or(kInterval), flags.both_ways ? 2 : 1,
                                     style, IntervalRows::Time::clock::now());
  return [rows](const run::Progress& progress) {
    const std::optional<std::string> row =
        rows->add(progress.size_bytes, progress.iterations, progress.messages_per_s,
                  IntervalRows::Time::clock::now());
    if (row) write_text(*row, "");
  };
}

/// Once, before the table.
void tell_not_rdma(const report::Report& report, bool& told) {
  const std::string without = std::exchange(told, true) ? "" : not_rdma(report);
  if (!without.empty()) tell(without);
}

/// Prints to standard error what stands outside of the table.
void tell_beside(const report::Report& report, const Flags& flags) {
  for (const std::string& note : report.notes) tell(note);
  const std::string line = suspicion_line(report);
  if (!line.empty() && (flags.verbose || isatty(STDERR_FILENO) != 0)) tell(line);
}

/// Prints what went wrong to standard error. Returns the exit code.
int judge(const report::Report& report, const Flags& flags, const report::PerftestStyle& style) {
  std::vector<std::string> faults = missed_limits(report, flags, style);
  if (report.error && !ended_unwritten(report)) faults.push_back(*report.error);
  for (const std::string& fault : faults) tell(fault);
  return faults.empty() ? 0 : static_cast<int>(Fault::failed);
}

/// The largest datagram that all ports carry which may be chosen; 0 where none is active.
std::int32_t port_mtu([[maybe_unused]] const Flags& flags) {
  std::uint32_t smallest = 0;
#if RDMABENCH_HAVE_VERBS
  const std::vector<verbs::DeviceInfo> devices = verbs::list_devices();
  for (const verbs::PortRef& at : verbs::select_ports(devices, device(flags))) {
    const std::uint32_t mtu = at.port->active ? at.port->active_mtu : smallest;
    if (smallest == 0 || mtu < smallest) smallest = mtu;
  }
#endif
  return static_cast<std::int32_t>(smallest);
}

int measure(const Tool& tool, Flags flags) {
  if (flags.all_sizes && flags.config.endpoint.service == transport::Service::ud &&
      flags.config.backend == "verbs") {
    flags.port_mtu = port_mtu(flags);
    run::Config usual;
    usual.backend = "verbs";
    usual.placement.devices = flags.config.placement.devices;
    if (flags.port_mtu == 0) run::check_this_side(usual);  // a device is missing, and not -m
  }
  run::Config config = to_config(tool, flags);
  if (flags.json) check_writable(flags.json_file);
  report::PerftestStyle style{
      .gigabits = flags.gigabits, .peak = flags.peak, .cycles = flags.cycles};
  const auto cpu = std::make_shared<CpuMeter>();
  if (flags.cpu_util) style.cpu_percent = [cpu](std::uint64_t size) { return cpu->percent(size); };
  run::OnProgress progress = flags.endless ? print_intervals(flags, style) : progress_line();
  if (flags.cpu_util) {
    progress = [cpu, show = progress](const run::Progress& at) {
      cpu->add(at.size_bytes, CpuMeter::Time::clock::now());
      if (show) show(at);
    };
  }
  report::PerftestText text(style, flags.one_number);
  // Else what is told before the table would stand within it.
  const bool streams = config.sizes.size() > 1 || flags.endless;
  bool told_path = false;
  const auto end = [&](const report::Report& report) {
    tell_not_rdma(report, told_path);
    // Below the rows of intervals the row of all of them has a table of its own.
    const bool anew = flags.endless && !flags.one_number;
    const std::string rest = anew ? report::to_perftest(report, style) : text.more(report, true);
    if (!streams) tell_beside(report, flags);
    write_too(report::to_perftest_json(report, style), flags.json ? flags.json_file : "",
              [&] { write_text(rest + counter_lines(report, flags)); });
    if (streams) tell_beside(report, flags);
    return judge(report, flags, style);
  };
  More more;
  if (streams) {
    more = [&](const report::Report& report) {
      tell_not_rdma(report, told_path);
      return text.more(report, false);
    };
  }
  return run_and_write(config, flags.host, flags.port, progress, end, more);
}

}  // namespace

int run(const Tool& tool, const std::vector<std::string>& words) {
  const CommandLine<Flags> line = parse(tool, words);
  if (!line.answer.empty()) {
    write_text(line.answer, "");
    return 0;
  }
  for (const std::string& note : line.flags.notes) tell(note);
  const bool client = !line.flags.host.empty() || !run::reaches_others(line.flags.config.backend);
  try {
    return client ? measure(tool, line.flags) : serve(line.flags);
  } catch (const NoReader&) {
    throw;
  } catch (const Error& error) {
    std::vector<FieldFlag> named = fields();
    const Flags& flags = line.flags;
    if (!flags.gpu.empty()) named.insert(named.begin(), {"memory", "--use_cuda"});
    if (!flags.gpu_address.empty()) named.insert(named.begin(), {"memory", "--use_cuda_bus_id"});
    tools::tell(with_flags(error.what(), named));
    return static_cast<int>(error.fault());
  }
}

}  // namespace rdmabench::inline v1::tools::perftest
