#include "to_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/error.h"

namespace rdmabench::tools::perftest {
namespace {

using transport::OperationCode;

constexpr std::uint32_t kDepth = 128;
constexpr std::uint32_t kSignalEvery = 100;
constexpr std::uint64_t kSmall = 8192;  // bytes; above it perftest signals every message

measure::StopRule stop_rule(const Tool& tool, const Flags& flags) {
  if (flags.endless) return measure::StopRule::duration(std::chrono::hours(24 * 365 * 10));
  if (flags.duration) {
    const auto margins = 2 * flags.margin.value_or(std::chrono::nanoseconds(0));
    return measure::StopRule::duration(*flags.duration - margins);
  }
  const bool write_bw = tool.operation == OperationCode::write && !tool.latency;
  return measure::StopRule::iterations(flags.iterations.value_or(write_bw ? 5000 : 1000) *
                                       flags.lanes);
}

/// Options that this build's run::Config does not hold yet.
void refuse_unknown(const Flags& flags) {
  const auto refuse = [](bool given, std::string_view name) {
    if (given) throw Error(Fault::unavailable, fmt::format("{} is not in this build", name));
  };
  refuse(flags.service != transport::Service::rc, "-c other than RC");
  refuse(flags.connection_manager, "-R");
  refuse(flags.lanes > 1, "-q above 1");
  refuse(flags.receives != 0, "-r");
  refuse(flags.post_list > 1, "-l");
  refuse(flags.outstanding_reads != 0, "-o");
  refuse(flags.shared_receives, "--use-srq");
  refuse(flags.events || flags.completion_vector >= 0, "-e");
  refuse(flags.rate_limit.has_value(), "--rate_limit");
  refuse(flags.path != transport::PathOptions{}, "an option of the path");
  refuse(flags.huge_pages || !flags.file.empty(), "memory other than host");
  refuse(flags.on_demand, "--odp");
  refuse(flags.numa != "auto", "--numa_node");
  refuse(flags.both_ways, "-b");
  refuse(flags.endless, "--run_infinitely");
}

}  // namespace

std::string device(const Flags& flags) {
  return flags.ib_port == 0 || flags.device.empty()
             ? flags.device
             : fmt::format("{}:{}", flags.device, flags.ib_port);
}

OperationCode operation(const Tool& tool, const Flags& flags) {
  if (flags.compare_swap) return OperationCode::compare_swap;
  if (!flags.immediate) return tool.operation;
  return tool.operation == OperationCode::send ? OperationCode::send_imm : OperationCode::write_imm;
}

std::vector<std::uint64_t> sizes(const Tool& tool, const Flags& flags) {
  if (!flags.all_sizes) {
    const std::uint64_t usual = transport::is_atomic(tool.operation) ? transport::kAtomicBytes
                                : tool.latency                       ? 2
                                                                     : 65536;
    return {flags.size.value_or(usual)};
  }
  std::uint64_t largest = std::uint64_t{1} << 23;
  if (flags.service == transport::Service::ud) {
    if (flags.mtu == 0) {
      throw Error(Fault::usage, "-a with -c UD",
                  "Give -m too: an unreliable datagram is not larger than the MTU.");
    }
    largest = static_cast<std::uint64_t>(flags.mtu);
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t size = 2; size <= largest; size *= 2) all.push_back(size);
  return all;
}

std::uint32_t signal_every(const Tool& tool, const Flags& flags) {
  if (flags.signal_every != 0) return flags.signal_every;
  if (tool.latency) return 0;
  if (flags.post_list > 1) return flags.post_list;
  const bool large = sizes(tool, flags).front() > kSmall;  // -a begins small, and has 100 for all
  return large ? 1 : std::min(kSignalEvery, flags.depth == 0 ? kDepth : flags.depth);
}

run::Config to_config(const Tool& tool, const Flags& flags) {
  refuse_unknown(flags);
  run::Config config;
  config.shape = tool.latency ? workload::Shape::latency : workload::Shape::stream;
  config.operation = operation(tool, flags);
  config.sizes = sizes(tool, flags);
  config.stop = stop_rule(tool, flags);
  config.backend = flags.backend;
  config.provider = flags.provider;
  config.timeout = flags.timeout;
  config.device = device(flags);
  config.gid_index = flags.gid_index;
  config.mtu = flags.mtu;
  config.depth = flags.depth != 0 || tool.latency ? flags.depth : kDepth;
  config.signal_every = signal_every(tool, flags);
  config.inline_limit = flags.inline_limit;
  config.validate = flags.validate;
  return config;
}

}  // namespace rdmabench::tools::perftest
