#include "fabric/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "base/refuse.h"
#include "fabric/schedule.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kMaxDuration = 600;  // seconds of one cell
constexpr double kMinTimeout = 0.1;
constexpr double kMaxTimeout = 600;
constexpr std::size_t kMaxName = 256;

std::chrono::nanoseconds seconds(double s) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
}

transport::OperationCode operation_of(const FabricPlan& plan) {
  return value_of_word<transport::OperationCode>("`operation`", plan.operation,
                                                 transport::kOperationNames);
}

void check_sizes(const char* field, const std::vector<std::uint64_t>& sizes) {
  refuse_if(sizes.size() > kMaxSizes, fmt::format("{} sizes for {}", sizes.size(), field),
            fmt::format("There may be {}.", kMaxSizes));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    refuse_if(sizes[i] == 0 || sizes[i] > run::kMaxSize,
              fmt::format("invalid size {} in {}", sizes[i], field),
              fmt::format("Sizes go from 1 to {}.", format_size(run::kMaxSize)));
    refuse_if(std::find(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i), sizes[i]) !=
                  sizes.begin() + static_cast<std::ptrdiff_t>(i),
              fmt::format("size {} twice in {}", format_size(sizes[i]), field),
              "Name each size once.");
  }
}

void check_names(const FabricPlan& plan) {
  refuse_if(plan.rails.size() > kMaxRails, fmt::format("{} rails", plan.rails.size()),
            fmt::format("There may be {}.", kMaxRails));
  for (const std::string& rail : plan.rails) {
    refuse_if(rail.empty() || rail.size() > kMaxName ||
                  std::count(plan.rails.begin(), plan.rails.end(), rail) > 1,
              fmt::format("invalid or repeated rail '{}'", ascii_only(rail, kMaxName)),
              "Each rail is another device, by its name.");
  }
}

}  // namespace

void check(const FabricPlan& plan) {
  static_cast<void>(parse_pattern(plan.pattern));
  refuse_if(plan.bandwidth_sizes.empty() && plan.latency_sizes.empty(),
            "neither a size for bandwidth nor one for latency",
            "Give `bandwidth_sizes` or `latency_sizes`.");
  check_sizes("`bandwidth_sizes`", plan.bandwidth_sizes);
  check_sizes("`latency_sizes`", plan.latency_sizes);
  check_names(plan);
  refuse_if(!(plan.timeout_s >= kMinTimeout && plan.timeout_s <= kMaxTimeout),
            fmt::format("invalid `timeout_s` {}", plan.timeout_s), "It may be 100ms to 10m.");
  refuse_if(plan.iterations == 0 && !(plan.duration_s > 0 && plan.duration_s <= kMaxDuration),
            fmt::format("invalid `duration_s` {}", plan.duration_s),
            fmt::format("It may be up to {} s for each size.", kMaxDuration));
  refuse_if(plan.iterations > run::kMaxEpoch,
            fmt::format("invalid `iterations` {}", plan.iterations),
            fmt::format("It may be 1 to {}.", run::kMaxEpoch));
  static_cast<void>(config_of(plan, {}, Metric::latency, 0));
}

std::uint32_t rails_of(const FabricPlan& plan) noexcept {
  return std::max(1U, static_cast<std::uint32_t>(plan.rails.size()));
}

std::size_t cells_of(const FabricPlan& plan) noexcept {
  return rails_of(plan) * (plan.bandwidth_sizes.size() + plan.latency_sizes.size());
}

report::Flow flow_of(const FabricPlan& plan) {
  return transport::is_from_target(operation_of(plan)) ? report::Flow::received
                                                       : report::Flow::sent;
}

std::chrono::nanoseconds step_limit(const FabricPlan& plan) {
  const double metrics =
      (plan.bandwidth_sizes.empty() ? 0 : 1) + (plan.latency_sizes.empty() ? 0 : 1);
  const auto sizes = static_cast<double>(plan.bandwidth_sizes.size() + plan.latency_sizes.size());
  const double each = (plan.iterations == 0 ? plan.duration_s : 0) + plan.timeout_s;
  return seconds(2 * metrics * plan.timeout_s + sizes * each);
}

run::Config config_of(const FabricPlan& plan, const run::Config& base, Metric metric,
                      std::uint32_t rail) {
  run::Config config = base;
  const bool latency = metric == Metric::latency;
  config.traffic.shape = latency ? workload::Shape::latency : workload::Shape::bandwidth;
  config.sizes = latency ? plan.latency_sizes : plan.bandwidth_sizes;
  config.traffic.operation = operation_of(plan);
  config.endpoint.service =
      value_of_word<transport::Service>("`transport`", plan.transport, transport::kServiceNames);
  config.backend = plan.backend;
  config.endpoint.ofi.provider = plan.provider;
  config.placement.devices.clear();
  if (rail < plan.rails.size()) config.placement.devices.push_back(plan.rails[rail]);
  if (!base.placement.cpus.empty())
    config.placement.cpus = {base.placement.cpus[rail % base.placement.cpus.size()]};
  config.stop = plan.iterations != 0 ? measure::StopRule::iterations(plan.iterations)
                                     : measure::StopRule::duration(seconds(plan.duration_s));
  config.timeout = seconds(plan.timeout_s);
  config.traffic.watch = false;  // it takes 50 ms a side, too long for many pairs
  return config;
}

}  // namespace rdmabench::inline v1::fabric
