#include "to_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/refuse.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::tools::perftest {
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
                                       flags.config.endpoint.queue_pairs);
}

std::string memory(const Flags& flags) {
  if (!flags.gpu.empty()) return fmt::format("cuda:{}", flags.gpu);
  if (!flags.gpu_address.empty()) return fmt::format("cuda:{}", flags.gpu_address);
  if (flags.huge_pages) return "huge";
  if (flags.file.empty()) return "host";
  return flags.file_offset == 0 ? fmt::format("file:{}", flags.file)
                                : fmt::format("file:{}@{}", flags.file, flags.file_offset);
}

/// Without --use_cuda_dmabuf perftest uses nvidia_peermem; rdmabench tries every mapping.
memory::GpuMapping gpu_mapping(const Flags& flags) {
  if (flags.gpu_data_direct) return memory::GpuMapping::data_direct;
  if (flags.gpu_pcie) return memory::GpuMapping::pcie;
  return flags.gpu_dma_buf ? memory::GpuMapping::standard : memory::GpuMapping::automatic;
}

void set_rate(run::Config& config, const Flags& flags) {
  const double limit = flags.rate_limit.value_or(0);
  switch (flags.rate_unit) {
    case RateUnit::messages:
      config.rate = limit;
      break;
    case RateUnit::gigabits:
      config.bit_rate = limit * kBitsPerGigabit;
      break;
    case RateUnit::mebibytes:
      config.bit_rate = limit * kBitsPerMebibyte;
      break;
  }
}

workload::Shape shape(const Tool& tool, const Flags& flags) {
  if (tool.latency) return workload::Shape::latency;
  return flags.both_ways ? workload::Shape::bidirectional : workload::Shape::bandwidth;
}

/// The target of a latency test of write polls the last byte, so bytes must arrive in order. Other
/// back ends than verbs do not have the option, which perftest sets by default.
std::optional<bool> relaxed_ordering(const Tool& tool, const Flags& flags) {
  if (flags.config.backend != "verbs") return std::nullopt;
  return flags.config.endpoint.relaxed_ordering.value_or(false) &&
         !(tool.latency && tool.operation == OperationCode::write);
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
  if (flags.config.endpoint.service == transport::Service::ud) {
    const std::int32_t mtu =
        flags.config.endpoint.verbs.mtu != 0 ? flags.config.endpoint.verbs.mtu : flags.port_mtu;
    refuse_if(mtu == 0, "-a with -c UD",
              "Give -m too: an unreliable datagram is not larger than the MTU.");
    largest = static_cast<std::uint64_t>(mtu);
  }
  std::vector<std::uint64_t> all;
  for (std::uint64_t size = 2; size <= largest; size *= 2) all.push_back(size);
  return all;
}

std::optional<std::uint32_t> signal_every(const Tool& tool, const Flags& flags) {
  const run::Config& given = flags.config;
  if (given.traffic.signal_every || tool.latency) return given.traffic.signal_every;
  if (given.endpoint.post_list > 1) return given.endpoint.post_list;
  const bool large = sizes(tool, flags).front() > kSmall;  // -a starts small: perftest takes 100
  return large ? 1 : std::min(kSignalEvery, given.traffic.depth.value_or(kDepth));
}

run::Config to_config(const Tool& tool, const Flags& flags) {
  run::Config config = flags.config;
  config.traffic.shape = shape(tool, flags);
  config.traffic.operation = operation(tool, flags);
  config.sizes = sizes(tool, flags);
  config.stop = stop_rule(tool, flags);
  if (!flags.device.empty()) config.placement.devices = {device(flags)};
  // Other back ends do not offer RC, which is perftest's default.
  if (config.backend != "verbs" && config.endpoint.service == transport::Service::rc) {
    config.endpoint.service = transport::Service::automatic;
  }
  if (!config.traffic.depth && !tool.latency) config.traffic.depth = kDepth;
  config.traffic.signal_every = signal_every(tool, flags);
  set_rate(config, flags);
  config.placement.memory = memory(flags);
  config.endpoint.gpu_mapping = gpu_mapping(flags);
  config.endpoint.relaxed_ordering = relaxed_ordering(tool, flags);
  return config;
}

}  // namespace rdmabench::inline v1::tools::perftest
