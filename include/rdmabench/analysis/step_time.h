// The time of one training step on N nodes, from the time of one message on one link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/analysis/curve.h"

namespace rdmabench::analysis {

enum class Parallel : std::uint8_t {
  data,     ///< every GPU has the model; gradients are all-reduced in buckets
  sharded,  ///< ZeRO-3, FSDP: two all-gathers and one reduce-scatter of every layer
};
enum class Algorithm : std::uint8_t { ring, tree };

/// How often everybody waits for the slowest link.
enum class Stragglers : std::uint8_t {
  none,        ///< never: every link takes its median time
  collective,  ///< once in a collective
  step,        ///< in every step of a collective, as if each ended in a barrier: an upper bound
};

std::string_view name(Parallel parallel) noexcept;
std::string_view name(Algorithm algorithm) noexcept;
std::string_view name(Stragglers stragglers) noexcept;

/// A training job and the cluster it runs on. Bytes are bytes and not bits.
struct Job {
  double parameters = 0;          ///< of the model; > 0
  double bytes_per_element = 2;   ///< of a gradient or parameter on the wire
  double tokens_per_gpu = 4096;   ///< in one step
  double flops_per_gpu = 989e12;  ///< peak of one GPU, per second
  double mfu = 0.4;               ///< share of the peak that the model reaches; 0 < mfu <= 1
  double flops_per_token = 6;  ///< for each parameter: 2 forward, 4 backward; 8 with recomputation
  double nodes = 2;            ///< whole
  double gpus_per_node = 8;    ///< whole
  double rails = 1;  ///< links of a node that work at once, each as fast as the measured one
  Parallel parallel = Parallel::data;
  Algorithm algorithm = Algorithm::ring;
  double bucket_bytes = 25.0 * 1024 * 1024;  ///< most of one all-reduce (data)
  double layers = 32;                        ///< each is gathered by itself (sharded); whole
  double overlap = 0;              ///< share of the communication that may run beside computation
  double bytes_per_s_in_node = 0;  ///< between GPUs of a node, each way; 0: takes no time
  Stragglers stragglers = Stragglers::collective;

  /// Throws Error(usage) that names the value which is out of range.
  void check() const;
};

/// A model whose size is published: "llama-3-8b".
struct Model {
  std::string_view name;
  double parameters = 0;
  double layers = 0;
  std::string_view source;
};
const std::vector<Model>& models();

/// What one step is made of, in seconds.
struct StepTime {
  double compute_s = 0;
  double communication_s = 0;  ///< with what follows
  double stragglers_s = 0;     ///< of it: waiting for the slowest link
  double hidden_s = 0;         ///< of it: beside computation
  double step_s = 0;           ///< compute + communication - hidden
  double collectives = 0;
  double message_bytes = 0;  ///< that a collective is made of
  double message_s = 0;      ///< its time on one link
};

/// Leaves one launch out of the mean: for a jackknife.
struct Without {
  std::optional<std::size_t> latency;
  std::optional<std::size_t> bandwidth;
};

/// The time of a message on one link: the geometric mean over launches of the measured curves.
class MessageTime {
 public:
  /// `samples` outlives it. Throws Error(usage) where the source needs a curve that is not there.
  MessageTime(const LinkSamples& samples, TimeSource source, bool extrapolate,
              Without without = {});

  /// In seconds. Throws Error(usage) for a size beyond what was measured. With `extrapolate`, a
  /// larger message has the bandwidth of the largest, and a smaller one the time of the smallest.
  double seconds(double size_bytes) const;

  /// By how much the slowest of `links` is over the median, in seconds: the median of the maximum,
  /// from P(max <= t) = F(t)^links. Of a size that no latency was measured for, that of the
  /// nearest. Throws Error(usage), with how many samples it takes, where they are too few.
  double excess_seconds(double size_bytes, double links) const;

  double smallest() const { return smallest_; }
  double largest() const { return largest_; }

 private:
  double time_at(double size_bytes) const;

  const LinkSamples& samples_;
  TimeSource source_;
  bool extrapolate_;
  Without without_;
  double smallest_ = 0;
  double largest_ = 0;
};

/// The quantile of one link that is the median of the slowest of so many: 0.5^(1/links).
double slowest_quantile(double links) noexcept;

/// The step of `job` over such links. Ring: 2(p-1) messages of S/(p rails) for an all-reduce, half
/// of them for an all-gather or reduce-scatter. Tree: 2 ceil(log2 p) times the smallest message's
/// time and twice the rest of the whole bucket's. Sources: Thakur, Rabenseifner & Gropp 2005; Li et
/// al., PyTorch Distributed, 2020; Rajbhandari et al., ZeRO, 2020. Throws what MessageTime throws.
StepTime step_time(const Job& job, const MessageTime& message);

}  // namespace rdmabench::analysis
