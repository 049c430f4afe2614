#include "netplugin/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/fields.h"
#include "base/refuse.h"
#include "case_runner.h"
#include "netplugin/net.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "results/row.h"
#include "task.h"

namespace rdmabench::inline v1::netplugin {
namespace {

using Json = nlohmann::json;

bool wanted(const Options& options, std::string_view id) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), id) != options.only.end();
}

Task task_of(const Options& options, std::string_view id, int version) {
  return {.id = std::string(id),
          .version = version,
          .device = options.device,
          .bytes = 0,
          .iterations = 0,
          .timeout = options.timeout};
}

/// Runs the cases of one version. False if init failed, so that measuring makes no sense.
bool run_cases(Check& check, int version, const OnProgress& on_progress,
               const std::function<TaskResult(const Task&)>& run) {
  std::string obstacle;
  for (const CaseInfo& info : cases()) {
    const bool first = info.id == "init";
    if (!first && (!check.asked.conformance || !wanted(check.asked, info.id))) continue;
    CaseResult row{.id = std::string(info.id),
                   .version = version,
                   .status = Status::skip,
                   .reason = obstacle,
                   .side = "both",
                   .took_ms = 0};
    if (obstacle.empty()) {
      on_progress(fmt::format("v{} {}", version, info.id));
      const auto begin = Deadline::Clock::now();
      const TaskResult result = run(task_of(check.asked, info.id, version));
      row.took_ms =
          std::chrono::duration<double, std::milli>(Deadline::Clock::now() - begin).count();
      row.status = result.status;
      row.reason = result.reason;
      row.side = result.side.empty() ? "both" : result.side;
      if (first && result.status == Status::fail) obstacle = kNotRun;
    }
    // A failed init is reported even if no cases were asked for.
    if (check.asked.conformance || row.status == Status::fail)
      check.cases.push_back(std::move(row));
  }
  return obstacle.empty();
}

}  // namespace

Measurement measurement_of(const Task& task, const TaskResult& result) {
  Measurement one{.metric = task.id == kLatency ? Metric::latency : Metric::bandwidth,
                  .version = task.version,
                  .size_bytes = task.bytes,
                  .iterations = task.iterations,
                  .latency = {},
                  .bits_per_s = {},
                  .error = {}};
  if (result.status != Status::pass) {
    one.error = result.reason.empty() ? "it did not pass, and does not say why" : result.reason;
    return one;
  }
  const Json& json = result.values;
  if (one.metric == Metric::bandwidth) {
    one.iterations = get_uint(json, "messages", 1, kMaxIterations);
    for (const Json& value : get_list(json, "bits_per_s", kEpochs)) {
      one.bits_per_s.push_back(value.is_number() ? value.get<double>() : 0);
    }
    if (one.bits_per_s.empty()) one.error = "it passed without a measured epoch";
    return one;
  }
  const auto ns = [&](const char* key) { return get_double(json, key, 0, 1e18); };
  one.latency.count = get_uint(json, "count", 1, kMaxIterations);
  one.latency.min_ns = ns("min_ns");
  for (const report::Percentile& percentile : report::kPercentiles) {
    if (!json.contains(percentile.key)) continue;
    one.latency.*percentile.value = ns(percentile.key.data());
    one.latency.*percentile.low = ns(percentile.low_key.data());
    one.latency.*percentile.high = json.value(percentile.high_key, Json()).is_null()
                                       ? std::numeric_limits<double>::infinity()
                                       : ns(percentile.high_key.data());
  }
  one.latency.max_ns = ns("max_ns");
  one.latency.mean_ns = ns("mean_ns");
  one.latency.stddev_ns = ns("stddev_ns");
  return one;
}

bool Check::failed() const {
  return !error.empty() || std::any_of(cases.begin(), cases.end(), [](const CaseResult& row) {
    return row.status == Status::fail;
  }) || std::any_of(measurements.begin(), measurements.end(), [](const Measurement& one) {
    return !one.error.empty();
  });
}

void check_options(const Options& options) {
  for (const std::string& id : options.only) {
    if (find_case(id) != nullptr) continue;
    std::string known;
    for (const CaseInfo& info : cases())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", info.id);
    throw Error(Fault::usage, fmt::format("unknown case '{}'", id),
                fmt::format("The cases are {}.", known));
  }
  for (const int version : options.versions) {
    if (version >= kOldestVersion && version <= kNewestVersion) continue;
    throw Error(Fault::usage, fmt::format("invalid version {} of the plugin interface", version),
                fmt::format("It may be {} to {}.", kOldestVersion, kNewestVersion));
  }
  for (const std::uint64_t size : options.sizes) {
    if (size > 0 && size <= kMaxBytes) continue;
    throw Error(Fault::usage, fmt::format("invalid message size of {} bytes", size),
                fmt::format("It may be 1 to {}.", format_size(kMaxBytes)));
  }
  refuse_if(options.iterations == 0 || options.iterations > kMaxIterations,
            fmt::format("invalid number of iterations {}", options.iterations),
            fmt::format("It may be 1 to {}.", kMaxIterations));
  refuse_if(options.timeout < kMinTimeout || options.timeout > kMaxTimeout,
            fmt::format("invalid timeout of {} ms", options.timeout.count()),
            "It may be 100ms to 10m.");
  refuse_if(options.device < 0 || options.device > 4095,
            fmt::format("invalid device {}", options.device), "It may be 0 to 4095.");
}

std::vector<int> versions_of(const Options& options, const std::vector<int>& there) {
  if (options.every_version) return there;
  if (options.versions.empty()) return {there.front()};
  for (const int version : options.versions) {
    if (std::find(there.begin(), there.end(), version) != there.end()) continue;
    throw Error(Fault::usage, fmt::format("the plugin has no interface version {}", version),
                fmt::format("It has {}.", fmt::join(there, ", ")));
  }
  return options.versions;
}

PluginFacts look(const std::string& file, std::chrono::milliseconds timeout, const OnLog& on_log) {
  const TaskResult result = run_here(file, {.id = std::string(kLook), .timeout = timeout}, on_log);
  if (result.status != Status::pass) {
    const auto fault = result.values.find("fault");
    const bool known = result.values.is_object() && fault != result.values.end() &&
                       fault->is_number_integer() && *fault >= 1 && *fault <= 3;
    throw Error(known ? static_cast<Fault>(fault->get<int>()) : Fault::failed, result.reason);
  }
  const Json& json = result.values;
  PluginFacts facts;
  facts.name = ascii_only(get_string(json, "name", 4096), 100);
  for (const std::uint64_t one :
       get_uint_list(json, "versions", 16, kOldestVersion, kNewestVersion)) {
    facts.versions.push_back(static_cast<int>(one));
  }
  if (facts.versions.empty()) {
    throw Error(Fault::failed, "the plugin's process named no interface version",
                "Something in it wrote to descriptors that are not its own.");
  }
  // A plugin that fails here, however it does, does so in the case "init", too.
  const TaskResult devices =
      run_here(file, {.id = std::string(kDevices), .timeout = timeout}, on_log);
  if (devices.status != Status::pass) {
    facts.trouble = devices.reason;
    return facts;
  }
  try {
    for (const Json& from : get_list(devices.values, "devices", 256)) {
      facts.devices.push_back(read_fields<Properties>(from));
    }
  } catch (const FieldError& error) {
    facts.trouble = fmt::format("of a device: {} is {}, not {}", error.key(),
                                error.shown().empty() ? "missing" : error.shown(), error.wanted());
  }
  return facts;
}

void run_all(Check& check, const OnProgress& on_progress,
             const std::function<TaskResult(const Task&)>& run) {
  for (const int version : check.asked.versions) {
    const bool works = run_cases(check, version, on_progress, run);
    if (!works || !check.asked.performance) continue;
    for (const std::string_view metric : {kLatency, kBandwidth}) {
      for (const std::uint64_t size : check.asked.sizes) {
        on_progress(fmt::format("v{} {} {}", version, metric, format_size(size)));
        Task task = task_of(check.asked, metric, version);
        task.bytes = size;
        task.iterations = check.asked.iterations;
        check.measurements.push_back(measurement_of(task, run(task)));
      }
    }
  }
}

Check check_in_process(const Options& options, const OnProgress& on_progress, const OnLog& on_log) {
  check_options(options);
  Check check;
  check.file = options.file;
  check.asked = options;
  check.environment.client = report::collect_environment();
  check.plugin = look(options.file, options.timeout, on_log);
  check.asked.versions = versions_of(options, check.plugin.versions);
  try {
    run_all(check, on_progress,
            [&](const Task& task) { return run_here(options.file, task, on_log); });
  } catch (const Error& error) {
    check.error = error.what();
  }
  return check;
}

}  // namespace rdmabench::inline v1::netplugin
