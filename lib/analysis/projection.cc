#include "analysis/projection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/power.h"
#include "analysis/shortage.h"
#include "base/refuse.h"
#include "measure/distributions.h"
#include "rdmabench/base/error.h"
#include "rdmabench/measure/statistics.h"
#include "values.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// The log of a step time, with the variance that each set of launches contributes.
struct LogStep {
  double value = 0;
  std::vector<VariancePart> parts;
  bool single = false;  ///< some set has only one launch: no interval
  std::size_t fewest = SIZE_MAX;
  std::size_t units = 1;  ///< that the variance is over; 1: over launches
};

/// Jackknife variance: leaves out each launch in turn. Source: Efron & Tibshirani, An Introduction
/// to the Bootstrap, 11.
template <class Evaluate>
void add_jackknife(LogStep& step, std::size_t launches, Evaluate evaluate) {
  if (launches == 0) return;
  step.fewest = std::min(step.fewest, launches);
  if (launches == 1) {
    step.single = true;
    return;
  }
  std::vector<double> values;
  for (std::size_t i = 0; i < launches; ++i) values.push_back(evaluate(i));
  const auto n = static_cast<double>(launches);
  const double deviation = measure::stddev(values);
  step.parts.push_back({deviation * deviation * (n - 1) * (n - 1) / n, n - 1});
}

bool uses_latency(const Job& job, TimeSource source) {
  return source != TimeSource::bandwidth || job.stragglers != Stragglers::none;
}

/// The launches of each pair of nodes and session, where they are of all kinds that are needed.
std::vector<LinkSamples> by_unit(const LinkSamples& samples, bool latency, bool bandwidth) {
  std::map<std::string, LinkSamples> units;
  for (const LinkSample& one : samples.latency) units[one.unit].latency.push_back(one);
  for (const LinkSample& one : samples.bandwidth) units[one.unit].bandwidth.push_back(one);
  std::vector<LinkSamples> whole;
  for (auto& [name, unit] : units) {
    if ((latency && unit.latency.empty()) || (bandwidth && unit.bandwidth.empty())) continue;
    whole.push_back(std::move(unit));
  }
  return whole;
}

LogStep log_step(const Job& job, const LinkSamples& samples, TimeSource source, bool extrapolate) {
  const auto evaluate = [&](Without without) {
    return std::log(step_time(job, MessageTime(samples, source, extrapolate, without)).step_s);
  };
  LogStep step;
  step.value = evaluate({});
  if (uses_latency(job, source)) {
    add_jackknife(step, samples.latency.size(),
                  [&](std::size_t i) { return evaluate({.latency = i, .bandwidth = {}}); });
  }
  if (source != TimeSource::latency) {
    add_jackknife(step, samples.bandwidth.size(),
                  [&](std::size_t i) { return evaluate({.latency = {}, .bandwidth = i}); });
  }
  const auto units = by_unit(samples, uses_latency(job, source), source != TimeSource::latency);
  if (units.size() < 2) return step;
  std::vector<double> values;
  for (const LinkSamples& unit : units) {
    values.push_back(std::log(step_time(job, MessageTime(unit, source, extrapolate)).step_s));
  }
  const auto count = static_cast<double>(units.size());
  const double deviation = measure::stddev(values);
  step.units = units.size();
  step.single = false;
  step.parts = {{deviation * deviation / count, count - 1}};
  return step;
}

double total(const std::vector<VariancePart>& parts) {
  double sum = 0;
  for (const VariancePart& part : parts) sum += part.variance;
  return sum;
}

ProjectedStep projected(const Job& job, const LinkSamples& samples, const LogStep& log,
                        const Projection& projection, const std::optional<double>& price) {
  const MessageTime message(samples, projection.source, projection.options.extrapolate);
  ProjectedStep step;
  step.time = step_time(job, message);
  if (!log.single && !log.parts.empty()) {
    const double t =
        measure::t_quantile(1 - projection.options.settings.alpha, welch_degrees(log.parts));
    const double width = t * std::sqrt(total(log.parts));
    step.low_s = std::exp(log.value - width);
    step.high_s = std::exp(log.value + width);
  }
  Job other = job;
  other.overlap = 0;
  step.nothing_hidden_s = step_time(other, message).step_s;
  other.overlap = 1;
  step.all_hidden_s = step_time(other, message).step_s;
  if (price) step.cost = *price * job.nodes * step.time.step_s / 3600;
  return step;
}

ProjectionRow project_row(const Projection& projection, double value) {
  const ProjectionOptions& options = projection.options;
  const Job job = job_at(options, value);
  ProjectionRow row;
  row.value = value;
  try {
    LogStep a = log_step(job, projection.a, projection.source, options.extrapolate);
    row.a = projected(job, projection.a, a, projection, options.price_a);
    if (!projection.b) return row;
    const LogStep b = log_step(job, *projection.b, projection.source, options.extrapolate);
    row.b = projected(job, *projection.b, b, projection, options.price_b);
    std::vector<VariancePart> parts = a.parts;
    parts.insert(parts.end(), b.parts.begin(), b.parts.end());
    const bool single = a.single || b.single;
    const std::size_t fewest = single ? 1 : std::min(a.fewest, b.fewest);
    row.difference = judge_estimate(b.value - a.value, std::sqrt(total(parts)),
                                    parts.empty() ? 1 : welch_degrees(parts),
                                    static_cast<std::uint32_t>(fewest), options.settings);
    row.units = std::min(a.units, b.units);
    if (row.units < 2) {
      plan_further(*row.difference, options.settings);
    } else {  // more launches of the same units would not narrow it
      row.difference->deviation =
          row.difference->estimate->standard_error * std::sqrt(static_cast<double>(row.units) / 2);
    }
    set_direction(*row.difference, false);
  } catch (const Error& error) {
    row.a.reset();
    row.b.reset();
    row.difference.reset();
    row.refusal = error.what();
  }
  return row;
}

/// Of B, as it was estimated; none within the margin.
Direction beyond(double difference, const Settings& settings) {
  if (std::abs(difference) <= std::log1p(settings.margin)) return Direction::none;
  return difference < 0 ? Direction::better : Direction::worse;
}

/// Bisects until the interval is one node, or 0.1 %.
double find_crossing(const Projection& projection, double from, double to, Direction after) {
  const bool whole = projection.options.axis == Axis::nodes;
  for (int i = 0; i < 60 && to - from > (whole ? 1 : from / 1000); ++i) {
    double middle = std::sqrt(from * to);
    if (whole) middle = std::clamp(std::round(middle), from + 1, to - 1);
    const auto ratio = step_ratio(projection, job_at(projection.options, middle));
    if (!ratio) break;
    (beyond(std::log(*ratio), projection.options.settings) == after ? to : from) = middle;
  }
  return to;
}

void find_break_evens(Projection& projection) {
  const Settings& settings = projection.options.settings;
  const ProjectionRow* last = nullptr;
  for (const ProjectionRow& row : projection.rows) {
    if (!row.difference) continue;
    // With one launch on each side there is no estimate, but still a difference.
    const double now = std::log(row.b->time.step_s / row.a->time.step_s);
    if (last != nullptr) {
      const double before = std::log(last->b->time.step_s / last->a->time.step_s);
      const Direction after = beyond(now, settings);
      if (after != beyond(before, settings)) {
        projection.break_evens.push_back(
            {.from = last->value,
             .to = row.value,
             .about = find_crossing(projection, last->value, row.value, after),
             .beyond_after = after != Direction::none,
             .after = after});
      }
    }
    last = &row;
  }
}

TimeSource choose(const LinkSamples& a, const std::optional<LinkSamples>& b) {
  const bool latency = !a.latency.empty() && (!b || !b->latency.empty());
  const bool bandwidth = !a.bandwidth.empty() && (!b || !b->bandwidth.empty());
  if (latency && bandwidth) return TimeSource::both;
  refuse_if(!latency && !bandwidth,
            "one side has a latency curve alone and the other a bandwidth alone",
            "Give the same kinds of documents for both.");
  return latency ? TimeSource::latency : TimeSource::bandwidth;
}

void list_assumptions(Projection& projection) {
  const ProjectionOptions& options = projection.options;
  const Job& job = options.job;
  const auto add = [&](const std::string& name, std::string value, std::string unit = {},
                       std::string origin = "default") {
    if (const auto found = options.origins.find(name); found != options.origins.end()) {
      origin = found->second;
    }
    projection.assumptions.push_back({name, std::move(value), std::move(unit), std::move(origin)});
  };
  const auto add_number = [&](const std::string& name, double value, std::string unit = {}) {
    add(name, fmt::format("{:.10g}", value), std::move(unit));
    projection.assumptions.back().number = value;
  };
  const auto add_word = [&](const std::string& name, const auto& words, auto value) {
    add(name, std::string(words[static_cast<std::size_t>(value)]));
  };
  const auto varied = [&](Axis axis, const char* name, double value, const char* unit) {
    if (options.axis != axis) return add_number(name, value, unit);
    add(name, fmt::format("{:.10g}", fmt::join(options.values, ", ")), unit);
  };
  varied(Axis::parameters, "parameters", job.parameters, "");
  varied(Axis::nodes, "nodes", job.nodes, "");
  varied(Axis::tokens, "tokens_per_gpu", job.tokens_per_gpu, "per step");
  add_number("bytes_per_element", job.bytes_per_element, "bytes");
  add_number("flops_per_gpu", job.flops_per_gpu, "FLOP/s, peak");
  add_number("mfu", job.mfu, "of the peak");
  add_number("flops_per_token", job.flops_per_token, "FLOP per token and parameter");
  add_number("gpus_per_node", job.gpus_per_node);
  add_number("rails", job.rails, "links per node, each as measured");
  add_word("parallel", kParallelNames, job.parallel);
  add_word("algorithm", kAlgorithmNames, job.algorithm);
  if (job.parallel == Parallel::data) {
    add_number("bucket_bytes", job.bucket_bytes, "bytes");
  } else {
    add_number("layers", job.layers);
  }
  add_number("overlap", job.overlap, "of communication beside computation");
  add_number("bytes_per_s_in_node", job.bytes_per_s_in_node,
             job.bytes_per_s_in_node > 0 ? "bytes/s" : "(transfers in a node take no time)");
  add_word("stragglers", kStragglersNames, job.stragglers);
  add("curve", std::string(name(projection.source)));
  add("operation", projection.a.operation, "", "measured");
  add("congestion", "none: links do not disturb one another", "", "model");
  add("computation of a reduction", "takes no time", "", "model");
  add("optimizer, input, checkpoints", "take no time", "", "model");
}

/// Notes tails that were not measured at the size of the messages.
void note_tail(Projection& projection, const std::string& label, const LinkSamples& samples,
               std::optional<ProjectedStep> ProjectionRow::*side) {
  if (projection.options.job.stragglers == Stragglers::none || samples.latency.empty()) return;
  const Curve& measured = *samples.latency[0].latency_ns;
  const bool outside =
      std::any_of(projection.rows.begin(), projection.rows.end(), [&](const ProjectionRow& row) {
        const auto& step = row.*side;
        return step && step->time.message_bytes > 0 && !measured.covers(step->time.message_bytes);
      });
  if (!outside) return;
  projection.notes.push_back(
      fmt::format("{}: of some messages' size no latency was measured: their stragglers are those "
                  "of the nearest of {:.0f} to {:.0f} bytes.",
                  label, measured.smallest(), measured.largest()));
}

void add_notes(Projection& projection) {
  const auto add_side = [&](const std::string& label, const LinkSamples& samples) {
    for (const auto& [test, sizes] : samples.left_out) {
      projection.notes.push_back(fmt::format(
          "{}: Sizes that not every {} launch has are left out: {}.", label, test, sizes));
    }
    if (samples.has_means) {
      projection.notes.push_back(
          fmt::format("{}: some latencies are means, for want of a median.", label));
    }
    std::string suspicions;
    for (const auto& [code, launches] : samples.suspected) {
      suspicions += (suspicions.empty() ? "" : ", ") + code;
    }
    if (!suspicions.empty()) {
      projection.notes.push_back(
          fmt::format("{}: some launches are suspect of {}.", label, suspicions));
    }
    const bool latency = uses_latency(projection.options.job, projection.source);
    const bool single = (latency && samples.latency.size() == 1) ||
                        (projection.source != TimeSource::latency && samples.bandwidth.size() == 1);
    if (single) {
      projection.notes.push_back(fmt::format(
          "{}: one launch says nothing about how launches differ: no interval, and no verdict.",
          label));
    }
  };
  const ProjectionOptions& options = projection.options;
  note_tail(projection, options.a_name, projection.a, &ProjectionRow::a);
  if (projection.b) note_tail(projection, options.b_name, *projection.b, &ProjectionRow::b);
  add_side(options.a_name, projection.a);
  if (projection.b) add_side(options.b_name, *projection.b);
  if (options.extrapolate) {
    projection.notes.emplace_back(
        "Messages beyond the measured sizes are extrapolated: the largest one's bandwidth, the "
        "smallest one's time.");
  }
}

}  // namespace

std::optional<double> step_ratio(const Projection& projection, const Job& job) {
  try {
    job.check();
    const auto step = [&](const LinkSamples& samples) {
      const MessageTime message(samples, projection.source, projection.options.extrapolate);
      return step_time(job, message).step_s;
    };
    return step(*projection.b) / step(projection.a);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Job job_at(const ProjectionOptions& options, double value) {
  Job job = options.job;
  switch (options.axis) {
    case Axis::nodes:
      job.nodes = value;
      break;
    case Axis::parameters:
      job.parameters = value;
      break;
    case Axis::tokens:
      job.tokens_per_gpu = value;
      break;
  }
  job.check();
  return job;
}

std::string_view name(Axis axis) noexcept {
  return axis == Axis::nodes ? "nodes" : axis == Axis::parameters ? "parameters" : "tokens_per_gpu";
}

Projection project(LinkSamples a, std::optional<LinkSamples> b, const ProjectionOptions& options) {
  options.settings.check();
  refuse_if(options.values.empty(), "a projection without a value of its axis");
  if (b) check_names(options.a_name, options.b_name);
  if (b && b->operation != a.operation) {
    throw Error(Fault::usage, fmt::format("{} against {}", a.operation, b->operation),
                "Project the same operation on both sides.");
  }
  Projection projection;
  projection.options = options;
  projection.source = options.source ? *options.source : choose(a, b);
  projection.a = std::move(a);
  projection.b = std::move(b);
  for (const double value : options.values) {
    projection.rows.push_back(project_row(projection, value));
  }
  const bool none = std::all_of(projection.rows.begin(), projection.rows.end(),
                                [](const ProjectionRow& row) { return !row.a; });
  if (none) refuse_all(projection);
  refuse_rows(projection);
  if (projection.b) find_break_evens(projection);
  list_assumptions(projection);
  add_notes(projection);
  return projection;
}

}  // namespace rdmabench::inline v1::analysis
