// The time of a training step over one measured fabric, or over two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/analysis/comparison.h"
#include "rdmabench/analysis/launch.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::analysis {

/// A positive quantity at sizes, interpolated by straight lines between the logs of both: exact for
/// every power law, such as a constant bandwidth.
class Curve {
 public:
  /// Sizes in bytes, rising, each once; values > 0. At least one point. Throws Error(usage).
  explicit Curve(std::vector<std::pair<double, double>> points);

  double smallest() const { return points_.front().first; }
  double largest() const { return points_.back().first; }
  bool covers(double size_bytes) const;

  /// Within the measured sizes. Outside of them the value at the nearest end.
  double at(double size_bytes) const;

 private:
  std::vector<std::pair<double, double>> points_;
};

/// How the time of one message of a collective is read from the measurements.
enum class TimeSource : std::uint8_t {
  latency,    ///< half a round trip of that size: nothing overlaps
  bandwidth,  ///< size over the bandwidth at that size: no latency at all
  both,       ///< the latency of the smallest message, and size over bandwidth
};

std::string_view name(TimeSource source) noexcept;

/// The percentiles of the latency of one size.
struct Tail {
  double size_bytes = 0;
  std::uint64_t samples = 0;
  std::vector<Percentile> percentiles;  ///< the supported ones only: rising
};

/// The measurements of one launch, of one operation. Either curve may be missing.
struct LinkSample {
  std::string source;               ///< of the launch
  std::string unit;                 ///< its pair of nodes and session: launches of one are alike
  std::optional<Curve> latency_ns;  ///< medians; of a tool that prints none, means
  std::optional<Curve> bits_per_s;
  std::vector<Tail> tails;  ///< by size, as latency_ns
};

/// Where launches come from, each value once.
struct Provenance {
  std::optional<double> first_s;  ///< when, in seconds since 1970; none where no document says it
  std::optional<double> last_s;
  std::set<std::string> releases;  ///< "rdmabench 0.3.0", or another tool's name
  std::set<std::string> pairs;     ///< of nodes, as Launch has it
  std::set<std::string> devices;
};

/// Which launches a projection takes, and over which sizes.
struct LinkSamples {
  std::string operation;
  std::vector<LinkSample> latency;
  std::vector<LinkSample> bandwidth;
  /// Sizes that not every launch has, "1K, 2K", by test: "latency", "bandwidth".
  std::map<std::string, std::string> left_out;
  bool has_means = false;                          ///< a latency has no median
  std::size_t suspect_launches = 0;                ///< of those that were taken
  std::size_t unwatched_launches = 0;              ///< nobody recorded what disturbed them
  std::map<std::string, std::uint32_t> suspected;  ///< launches by code of suspicion
  std::map<std::string, std::string> remedies;     ///< by code, where the documents have one
  std::map<std::string, std::uint32_t> not_rdma;   ///< launches by what they say
  Provenance provenance;
};

/// The launches' rows of `operation`; empty: the only operation that all of them have. Only latency
/// of kind half_round_trip and only bandwidth of one way. Sizes that not every launch of a test has
/// are left out. Throws Error(usage) if there is nothing of the operation, no size in common, a
/// launch that ended early, or a value that is missing or 0.
LinkSamples collect_link(const std::vector<Launch>& launches, std::string operation);

enum class Parallel : std::uint8_t {
  data,     ///< every GPU has the model; gradients are all-reduced in buckets
  sharded,  ///< ZeRO-3, FSDP: two all-gathers and one reduce-scatter of every layer
};
enum class Algorithm : std::uint8_t { ring, tree };

/// How often all links wait for the slowest one.
enum class Stragglers : std::uint8_t {
  none,        ///< never: every link takes its median time
  collective,  ///< once in a collective
  step,        ///< in every step of a collective, as if each ended in a barrier: an upper bound
};

inline constexpr std::string_view kParallelNames[]{"data", "sharded"},
    kAlgorithmNames[]{"ring", "tree"}, kStragglersNames[]{"none", "collective", "step"};

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

/// What the measurements lack for a step of a job; all that is 0 or false is there.
struct Shortage {
  double smallest_bytes = 0;  ///< messages that are smaller or larger than what was measured
  double largest_bytes = 0;   ///< 0: none is missing
  bool latency = false;       ///< stragglers ask for a measured latency, and there is none
  double samples = 0;         ///< that stragglers ask for, of a latency of one size
  bool beyond_percentiles =
      false;  ///< stragglers ask for more than the largest percentile there is

  bool any() const;
  void add(const Shortage& other);
};

/// Does not throw where MessageTime would: it returns everything that is missing, at once.
Shortage find_shortage(const Job& job, const LinkSamples& samples, TimeSource source,
                       bool extrapolate);

/// What is varied from row to row.
enum class Axis : std::uint8_t { nodes, parameters, tokens };

std::string_view name(Axis axis) noexcept;

struct ProjectionOptions {
  Job job;  ///< what is not varied
  Axis axis = Axis::nodes;
  std::vector<double> values;        ///< of the axis, rising
  std::optional<TimeSource> source;  ///< none: both where there are both, else what there is
  bool extrapolate = false;
  Settings settings;              ///< of the verdict; the margin is of the step time
  std::optional<double> price_a;  ///< of one node for an hour, in any currency
  std::optional<double> price_b;
  std::string a_name = "A";  ///< of the sides, in texts
  std::string b_name = "B";
  /// Where a value comes from, by the assumption's name: "given", "model llama-3-8b". What is not
  /// here is a default.
  std::map<std::string, std::string> origins;
};

/// A value that the result rests on.
struct Assumption {
  std::string name;
  std::string value;
  std::string unit;                ///< may be empty
  std::string origin;              ///< "given", "default", "measured", ...
  std::optional<double> number{};  ///< what `value` says; none of a word or of several
};

/// One side at one value of the axis.
struct ProjectedStep {
  StepTime time;
  std::optional<double> low_s;  ///< 1 - 2 alpha interval of the step; none from a single launch
  std::optional<double> high_s;
  double nothing_hidden_s = 0;  ///< the step, were there no overlap
  double all_hidden_s = 0;      ///< were all communication hidden that can be
  std::optional<double> cost;   ///< of one step on all nodes
};

struct ProjectionRow {
  double value = 0;  ///< of the axis
  std::optional<ProjectedStep> a;
  std::optional<ProjectedStep> b;
  std::optional<Judgement> difference;  ///< of B's step against A's
  /// The pairs of nodes and sessions that the interval of `difference` is over, of the side that
  /// has fewer. 1: it is over the launches of one pair, that day.
  std::size_t units = 1;
  std::string refusal;  ///< why there is no step
};

/// Between two values of the axis the difference passes the margin.
struct BreakEven {
  double from = 0;
  double to = 0;
  double about = 0;           ///< where the difference, as it was estimated, is the margin itself
  bool beyond_after = false;  ///< beyond the margin from there on; else within it
  Direction after = Direction::none;  ///< of B from there on; none within the margin
};

struct Projection {
  ProjectionOptions options;
  TimeSource source = TimeSource::both;
  LinkSamples a;
  std::optional<LinkSamples> b;
  std::vector<Assumption> assumptions;
  std::vector<ProjectionRow> rows;
  std::vector<BreakEven> break_evens;
  std::vector<std::string> notes;

  std::size_t suspect_launches() const {
    return a.suspect_launches + (b ? b->suspect_launches : 0);
  }
};

/// Projects A, and B beside it where it is given. The interval of a side is Student's t over its
/// units, where there are several with all kinds of curve; else a jackknife's over launches, of
/// both kinds of curve apart. Degrees of freedom are Satterthwaite's. Throws Error(usage) for a job
/// that check() refuses, and where no row could be projected: it names all that is missing for all
/// rows, and the commands that measure it.
Projection project(LinkSamples a, std::optional<LinkSamples> b, const ProjectionOptions& options);

/// Which side is better and from where on, or how long a step takes: in a sentence or a few.
std::string summary(const Projection& projection);

std::vector<std::string> break_even_sentences(const Projection& projection);

/// For people: the summary first, the assumptions last.
std::string to_table(const Projection& projection, std::size_t width = report::kUsualWidth);

/// A document of docs/schema/rdmabench-project-1.schema.json, ended by a newline.
std::string to_json(const Projection& projection);

}  // namespace rdmabench::inline v1::analysis
