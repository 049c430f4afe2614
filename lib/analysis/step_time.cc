#include "analysis/projection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/shortage.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::analysis {
namespace {

/// The geometric mean over units of those of their launches, except `without`: launches of a unit
/// are alike, so that a unit of many counts no more than one of few.
template <class Value>
double geometric_mean(const std::vector<LinkSample>& samples, std::optional<std::size_t> without,
                      Value value) {
  struct Logs {
    double sum = 0;
    double count = 0;
  };
  std::map<std::string_view, Logs> units;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (without == i) continue;
    Logs& logs = units[samples[i].unit];
    logs.sum += std::log(value(samples[i]));
    ++logs.count;
  }
  double sum = 0;
  for (const auto& [name, logs] : units) sum += logs.sum / logs.count;
  return std::exp(sum / static_cast<double>(units.size()));
}

/// Interpolates the percentiles of one row: linear in the log of the share beyond, and of the time.
std::optional<double> quantile_ns(const std::vector<Percentile>& tail, double quantile) {
  for (std::size_t i = 0; i + 1 < tail.size(); ++i) {
    const double q1 = tail[i].percent / 100;
    const double q2 = tail[i + 1].percent / 100;
    if (quantile < q1 || quantile > q2) continue;
    const double share = std::log((1 - quantile) / (1 - q1)) / std::log((1 - q2) / (1 - q1));
    return tail[i].value_ns * std::pow(tail[i + 1].value_ns / tail[i].value_ns, share);
  }
  return std::nullopt;
}

[[noreturn]] void refuse_tail(const LinkSample& sample, const Tail& tail, double links,
                              double quantile) {
  const double needed = std::ceil(10 / (1 - quantile) - 1e-6);
  // Interpolation also needs the tabulated percentile above the quantile.
  const double above = samples_for_links(links);
  throw Error(
      Fault::usage,
      fmt::format("the slowest of {:g} links is the {:.5g}th percentile of one: that takes "
                  "{:.0f} samples, with the next percentile that documents hold {:.0f}, and "
                  "{} has {} of {:g} bytes",
                  links, 100 * quantile, needed, std::max(needed, above), sample.source,
                  tail.samples, tail.size_bytes),
      "Measure longer, or set `stragglers` to none.");
}

/// One launch's quantile at a size, interpolated between the neighbouring sizes, or of the nearest
/// one.
double quantile_at(const LinkSample& sample, double size_bytes, double links, double quantile) {
  std::vector<std::pair<double, double>> points;
  for (const Tail& tail : tails_beside(sample, size_bytes)) {
    const auto value = quantile_ns(tail.percentiles, quantile);
    if (!value) refuse_tail(sample, tail, links, quantile);
    points.emplace_back(tail.size_bytes, *value);
  }
  return Curve(std::move(points)).at(size_bytes);
}

void require_of_job(bool good, const char* name, double value, const char* remedy) {
  refuse_if(!good, fmt::format("{} of {:g}", name, value), remedy);
}

bool whole(double value, double most) {
  return value >= 1 && value <= most && value == std::floor(value);
}

/// The collectives of one step.
struct Traffic {
  double seconds = 0;
  double steps = 0;  ///< messages in sequence in one collective
};

Traffic all_reduce(const Job& job, const MessageTime& message, double bytes) {
  const double p = job.nodes;
  if (job.algorithm == Algorithm::ring) {
    const double steps = 2 * (p - 1);
    return {steps * message.seconds(bytes / p / job.rails), steps};
  }
  const double depth = std::ceil(std::log2(p));
  const double smallest = message.seconds(message.smallest());
  const double rest = std::max(0.0, message.seconds(bytes / job.rails) - smallest);
  return {2 * (depth * smallest + rest), 2 * depth};
}

double in_node_seconds(const Job& job, double rounds, double bytes) {
  if (job.bytes_per_s_in_node <= 0) return 0;
  return rounds * (job.gpus_per_node - 1) / job.gpus_per_node * bytes / job.bytes_per_s_in_node;
}

double wait_seconds(const Job& job, const MessageTime& message, double steps) {
  if (job.stragglers == Stragglers::none || steps == 0) return 0;
  const double excess = message.excess_seconds(message_bytes(job), job.nodes * job.rails);
  return excess * (job.stragglers == Stragglers::step ? steps : 1);
}

void add_collectives(const Job& job, const MessageTime& message, double count, double bytes,
                     StepTime& time) {
  if (job.nodes <= 1 || bytes <= 0 || count <= 0) return;
  Traffic traffic = all_reduce(job, message, bytes);
  if (job.parallel == Parallel::sharded) traffic = {traffic.seconds / 2, traffic.steps / 2};
  const double wait = wait_seconds(job, message, traffic.steps);
  time.communication_s += count * (traffic.seconds + wait);
  time.stragglers_s += count * wait;
  time.collectives += count;
  time.message_bytes = message_bytes(job);
  time.message_s = message.seconds(time.message_bytes);
}

}  // namespace

void Job::check() const {
  require_of_job(parameters >= 1 && parameters <= 1e15, "a parameter count", parameters,
                 "Give the model's, as `parameters` 8B.");
  require_of_job(bytes_per_element > 0 && bytes_per_element <= 16, "an element size",
                 bytes_per_element, "It is in bytes: 2 for bf16, 4 for fp32.");
  require_of_job(tokens_per_gpu >= 1 && tokens_per_gpu <= 1e12, "tokens per GPU", tokens_per_gpu,
                 "They are at least 1.");
  require_of_job(flops_per_gpu >= 1e6 && flops_per_gpu <= 1e21, "FLOP/s per GPU", flops_per_gpu,
                 "Write 989T for 989e12.");
  require_of_job(mfu > 0 && mfu <= 1, "an MFU", mfu, "It lies between 0 and 100 %.");
  require_of_job(flops_per_token > 0 && flops_per_token <= 100, "FLOP per token and parameter",
                 flops_per_token, "It is 6, or 8 with recomputation.");
  require_of_job(whole(nodes, 1e6), "a number of nodes", nodes, "It is whole, 1 to 1000000.");
  require_of_job(whole(gpus_per_node, 1024), "GPUs per node", gpus_per_node,
                 "They are whole, 1 to 1024.");
  require_of_job(whole(rails, 64), "a number of rails", rails, "It is whole, 1 to 64.");
  require_of_job(bucket_bytes >= 1 && bucket_bytes <= 1e15, "a bucket", bucket_bytes,
                 "It is in bytes.");
  require_of_job(whole(layers, 1e5), "a number of layers", layers, "It is whole, at least 1.");
  require_of_job(overlap >= 0 && overlap <= 1, "an overlap", overlap,
                 "It lies between 0 and 100 %.");
  require_of_job(bytes_per_s_in_node >= 0 && std::isfinite(bytes_per_s_in_node),
                 "a bandwidth within the node", bytes_per_s_in_node, "It is in bytes per second.");
  refuse_if(parallel == Parallel::sharded && algorithm == Algorithm::tree,
            "`algorithm` tree with `parallel` sharded",
            "All-gather and reduce-scatter go round a ring.");
}

const std::vector<Model>& models() {
  static const std::vector<Model> list{
      {"bert-large", 340e6, 24, "Devlin et al. 2018"},
      {"gpt-3-175b", 175e9, 96, "Brown et al. 2020, table 2.1"},
      {"llama-3-8b", 8e9, 32, "Grattafiori et al. 2024, table 3"},
      {"llama-3-70b", 70e9, 80, "Grattafiori et al. 2024, table 3"},
      {"llama-3-405b", 405e9, 126, "Grattafiori et al. 2024, table 3"}};
  return list;
}

MessageTime::MessageTime(const LinkSamples& samples, TimeSource source, bool extrapolate,
                         Without without)
    : samples_(samples), source_(source), extrapolate_(extrapolate), without_(without) {
  const bool latency = source != TimeSource::bandwidth;
  const bool bandwidth = source != TimeSource::latency;
  refuse_if((latency && samples.latency.empty()) || (bandwidth && samples.bandwidth.empty()),
            fmt::format("a projection from {} without a measured {} curve", name(source),
                        samples.latency.empty() ? "latency" : "bandwidth"),
            "Give documents of 'lat' and 'bw', or choose another `curve`.");
  const Curve& curve =
      bandwidth ? *samples.bandwidth[0].bits_per_s : *samples.latency[0].latency_ns;
  smallest_ = curve.smallest();
  largest_ = curve.largest();
}

double MessageTime::time_at(double size_bytes) const {
  const auto latency_ns = [&](double size) {
    return geometric_mean(samples_.latency, without_.latency,
                          [size](const LinkSample& one) { return one.latency_ns->at(size); });
  };
  if (source_ == TimeSource::latency) return latency_ns(size_bytes) / kNsPerSecond;
  const double rate =
      geometric_mean(samples_.bandwidth, without_.bandwidth,
                     [&](const LinkSample& one) { return one.bits_per_s->at(size_bytes); });
  const double streamed = size_bytes * kBitsPerByte / rate;
  if (source_ == TimeSource::bandwidth) return streamed;
  return latency_ns(samples_.latency[0].latency_ns->smallest()) / kNsPerSecond + streamed;
}

double MessageTime::seconds(double size_bytes) const {
  constexpr double kRounding = 1e-9;
  const bool below = size_bytes < smallest_ * (1 - kRounding);
  const bool above = size_bytes > largest_ * (1 + kRounding);
  refuse_if((below || above) && !extrapolate_,
            fmt::format("a message of {:.0f} bytes, where {:.0f} to {:.0f} bytes were measured",
                        size_bytes, smallest_, largest_),
            "Measure that size too, or allow `extrapolate`.");
  if (below) return time_at(smallest_);
  if (!above) return time_at(size_bytes);
  const double largest = time_at(largest_);
  if (source_ == TimeSource::latency) return largest * size_bytes / largest_;
  return time_at(size_bytes);  // with the bandwidth of the largest size
}

double MessageTime::excess_seconds(double size_bytes, double links) const {
  if (links <= 1) return 0;
  refuse_if(samples_.latency.empty(), "stragglers without a measured latency",
            "Give documents of 'lat' too, or set `stragglers` to none.");
  const double quantile = slowest_quantile(links);
  const double slow = geometric_mean(
      samples_.latency, without_.latency,
      [&](const LinkSample& one) { return quantile_at(one, size_bytes, links, quantile); });
  const double typical =
      geometric_mean(samples_.latency, without_.latency,
                     [&](const LinkSample& one) { return one.latency_ns->at(size_bytes); });
  return std::max(0.0, slow - typical) / kNsPerSecond;
}

double slowest_quantile(double links) noexcept {
  return std::pow(0.5, 1 / links);
}

StepTime step_time(const Job& job, const MessageTime& message) {
  StepTime time;
  const double bytes = job.parameters * job.bytes_per_element;
  time.compute_s =
      job.flops_per_token * job.parameters * job.tokens_per_gpu / (job.flops_per_gpu * job.mfu);
  double hideable = time.compute_s;
  if (job.parallel == Parallel::data) {
    const double buckets = std::ceil(bytes / job.bucket_bytes);  // of equal size
    add_collectives(job, message, buckets, bytes / buckets, time);
    time.communication_s += in_node_seconds(job, 2, bytes);
    // Gradients are sent from the backward pass on, which is all but 2 FLOP per parameter.
    hideable *= std::max(0.0, 1 - 2 / job.flops_per_token);
  } else {
    add_collectives(job, message, 3 * job.layers, bytes / job.layers, time);
    time.communication_s += in_node_seconds(job, 3, bytes);
  }
  time.hidden_s = std::min(job.overlap * time.communication_s, hideable);
  time.step_s = time.compute_s + time.communication_s - time.hidden_s;
  return time;
}

}  // namespace rdmabench::inline v1::analysis
