#include "agent.h"

#include <algorithm>
#include <barrier>
#include <cmath>
#include <iterator>
#include <system_error>
#include <thread>

#include "fabric/plan.h"
#include "json_fields.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/run/client.h"
#include "results/facts.h"
#include "results/line_rate.h"

namespace rdmabench::inline v1::fabric {
namespace {

constexpr double kP99 = 99;

/// "verbs, provider mlx5, device mlx5_0:1, relaxed ordering"
std::string over(const report::Resolved& taken) {
  std::string text = taken.backend;
  if (!taken.provider.empty()) text += ", provider " + taken.provider;
  if (!taken.device.empty()) text += ", device " + taken.device;
  if (report::value_of<std::string>(taken.details, "relaxed_ordering") == "true") {
    text += ", relaxed ordering";
  }
  return ascii_only(text, kMaxText - 4);
}

/// One target on one rail, in a thread of its own.
class Task {
 public:
  Task(const MeasureOrder& order, const Target& target, std::uint32_t rail, const FabricPlan& plan,
       const run::Config& base)
      : order_(order), target_(target), rail_(rail), plan_(plan), base_(base) {}

  void measure(Metric metric) {
    if (sizes(metric).empty()) return;
    if (!silent_.empty()) return fail(metric, silent_);
    const Deadline patience = Deadline::after(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(plan_.timeout_s / 2)));
    std::string error;
    try {
      run::Config config = config_of(plan_, base_, metric, rail_);
      config.traffic.incast_clients = order_.senders;
      const report::Report report = run::run(config, target_.address, target_.ports[rail_]);
      add(metric, report);
      if (!report.error) return;
      error = *report.error;
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    if (patience.passed()) silent_ = error;
    fail(metric, error);
  }

  /// The cells of `metric` that there are not yet.
  void fail(Metric metric, const std::string& error) {
    for (const std::uint64_t size : sizes(metric)) {
      bool there = false;
      for (const Measurement& one : measured_.cells) {
        there = there || (one.metric == metric && one.size_bytes == size);
      }
      if (there) continue;
      measured_.cells.push_back(cell(metric, size));
      measured_.cells.back().error = ascii_only(error, kMaxText - 4);
    }
  }

  Measured& measured() { return measured_; }

 private:
  void add(Metric metric, const report::Report& report) {
    line_ = report::line_rate(report.resolved);
    if (!std::isfinite(line_.bits_per_s)) line_.bits_per_s = 0;
    line_.origin = ascii_only(line_.origin, kMaxText - 4);
    if (metric == Metric::latency) {
      for (const auto& row : std::get<std::vector<report::LatencyResult>>(report.results)) {
        if (!row.complete) continue;
        Measurement& one = add_cell(metric, report, row);
        one.value = row.latency.p50_ns;
        if (std::isfinite(row.latency.median_high_ns)) {
          one.low = row.latency.median_low_ns;
          one.high = row.latency.median_high_ns;
        }
        if (!row.latency.supports(kP99)) continue;
        one.p99_ns = row.latency.p99_ns;
        one.p99_low_ns = row.latency.p99_low_ns;
        if (std::isfinite(row.latency.p99_high_ns)) one.p99_high_ns = row.latency.p99_high_ns;
      }
    } else {
      for (const auto& row : std::get<std::vector<report::BandwidthResult>>(report.results)) {
        if (!row.complete) continue;
        Measurement& one = add_cell(metric, report, row);
        one.value = row.bits_per_s;
        one.low = row.bits_per_s_low;
        one.high = row.bits_per_s_high;
        if (row.lost && *row.lost > 0) {
          one.notes.push_back(std::to_string(*row.lost) + " messages were lost");
        }
      }
    }
  }

  Measurement& add_cell(Metric metric, const report::Report& report, const auto& row) {
    Measurement& one = measured_.cells.emplace_back(cell(metric, row.size_bytes));
    one.over = over(report.resolved);
    one.line_bits_per_s = line_.bits_per_s;
    one.line_origin = line_.origin;
    one.notes = row.notes;
    TransferredBytes& transferred = measured_.transferred[report.resolved.device];
    transferred.bytes +=
        static_cast<double>(row.iterations + row.warmup_iterations) * double(row.size_bytes);
    ++transferred.measurements;
    return one;
  }

  Measurement cell(Metric metric, std::uint64_t size) const {
    return {.receiver = target_.rank, .rail = rail_, .metric = metric, .size_bytes = size};
  }
  const std::vector<std::uint64_t>& sizes(Metric metric) const {
    return metric == Metric::latency ? plan_.latency_sizes : plan_.bandwidth_sizes;
  }

  const MeasureOrder& order_;
  const Target& target_;
  std::uint32_t rail_;
  const FabricPlan& plan_;
  const run::Config& base_;
  Measured measured_;
  report::LineRate line_;
  std::string silent_;  // the error of a peer that kept us waiting: once is enough
};

/// Within what the coordinator takes.
void clip(Measurement& cell) {
  if (cell.error.empty() && !(cell.value > 0)) cell.error = "nothing arrived";
  if (cell.notes.size() > kMaxNotes) cell.notes.resize(kMaxNotes);
  for (std::string& note : cell.notes) note = ascii_only(note, kMaxText - 4);
}

}  // namespace

Measured run_measure_order(const MeasureOrder& order, const FabricPlan& plan,
                           const run::Config& base) {
  std::vector<Task> tasks;
  for (const Target& target : order.targets) {
    for (const std::uint32_t rail : order.rails)
      tasks.emplace_back(order, target, rail, plan, base);
  }
  // Bandwidth on one rail would disturb the latency of another.
  std::barrier together(static_cast<std::ptrdiff_t>(tasks.size()));
  const auto drive = [&together](Task& task) {
    task.measure(Metric::latency);
    together.arrive_and_wait();
    task.measure(Metric::bandwidth);
  };
  std::vector<std::thread> threads;
  threads.reserve(tasks.size());
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    try {
      threads.emplace_back([&drive, &task = tasks[i]] { drive(task); });
    } catch (const std::system_error& error) {
      for (const Metric metric : {Metric::latency, Metric::bandwidth}) {
        tasks[i].fail(metric, std::string("no thread for it: ") + error.what());
      }
      together.arrive_and_drop();
    }
  }
  drive(tasks.front());
  for (std::thread& thread : threads) thread.join();
  Measured all;
  for (Task& task : tasks) {
    Measured& one = task.measured();
    std::for_each(one.cells.begin(), one.cells.end(), clip);
    std::move(one.cells.begin(), one.cells.end(), std::back_inserter(all.cells));
    for (const auto& [device, transferred] : one.transferred) {
      all.transferred[device].bytes += transferred.bytes;
      all.transferred[device].measurements += transferred.measurements;
    }
  }
  return all;
}

}  // namespace rdmabench::inline v1::fabric
