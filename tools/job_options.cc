#include "job_options.h"

#include <fmt/format.h>

#include "base/refuse.h"
#include "flags/values.h"
#include "options.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools {
namespace {

using analysis::Axis;
using analysis::Job;

void use_model(JobOptions& options, const std::string& text) {
  std::string names;
  for (const analysis::Model& model : analysis::models()) {
    names += (names.empty() ? "" : ", ") + std::string(model.name);
    if (model.name != text) continue;
    options.model = text;
    auto& origins = options.projection.origins;
    const std::string origin = fmt::format("model {}", model.name);
    // What --params or --layers say counts, wherever on the line they stand.
    if (!origins.contains("parameters")) {
      options.parameters = {model.parameters};
      origins["parameters"] = origin;
    }
    if (!origins.contains("layers")) {
      options.projection.job.layers = model.layers;
      origins["layers"] = origin;
    }
    return;
  }
  throw Error(Fault::usage, fmt::format("unknown model '{}'", text),
              fmt::format("There are {}; any other by --params and --layers.", names));
}

/// Notes under the assumption's name that its option was given.
void note(CLI::Option* option, JobOptions& options, const char* assumption) {
  option->each([&origins = options.projection.origins, assumption](const std::string& /*text*/) {
    origins[assumption] = "given";
  });
}

}  // namespace

void settle_axis(JobOptions& options) {
  analysis::ProjectionOptions& projection = options.projection;
  refuse_if(options.parameters.empty(), "no model was given",
            "Give --model llama-3-8b, or --params 8B.");
  const bool others = options.parameters.size() > 1 || options.tokens.size() > 1;
  if (others && !projection.origins.contains("nodes")) options.nodes = {16};
  const int varied = (options.nodes.size() > 1 ? 1 : 0) + (options.parameters.size() > 1 ? 1 : 0) +
                     (options.tokens.size() > 1 ? 1 : 0);
  refuse_if(varied > 1, "several values of more than one of --nodes, --params and --tokens",
            "Vary one at a time.");
  projection.job.nodes = options.nodes[0];
  projection.job.parameters = options.parameters[0];
  projection.job.tokens_per_gpu = options.tokens[0];
  projection.axis = options.parameters.size() > 1 ? Axis::parameters
                    : options.tokens.size() > 1   ? Axis::tokens
                                                  : Axis::nodes;
  projection.values = projection.axis == Axis::parameters ? options.parameters
                      : projection.axis == Axis::tokens   ? options.tokens
                                                          : options.nodes;
}

void add_job(CLI::App& sub, JobOptions& options) {
  const OptionGroup group(sub);
  Job& job = options.projection.job;
  const auto number = [&](const char* flag, const char* assumption, auto& value, const char* help,
                          const auto& read) {
    note(group.add(flag, value, help, read), options, assumption);
  };
  group.add("--op=OP", options.operation, "which operation's curve [the only one]");
  group.call(
      "--model=NAME",
      "bert-large, gpt-3-175b, llama-3-8b, llama-3-70b or llama-3-405b: --params and --layers",
      [&options](const Given& given) { use_model(options, given.text); });
  number("--params=LIST", "parameters", options.parameters,
         "parameters of the model: 7B, or 1B,7B, or 1B:64B", parse_quantities);
  number("--nodes=LIST", "nodes", options.nodes,
         "number of nodes: 8, or 2:1024 for every doubling [2:128]", parse_quantities);
  number("--tokens=LIST", "tokens_per_gpu", options.tokens,
         "tokens that each GPU processes in a step [4096]", parse_quantities);
  number("--element-bytes=N", "bytes_per_element", job.bytes_per_element,
         "bytes of a gradient or parameter on the wire [2]", parse_quantity);
  number("--gpu-flops=N", "flops_per_gpu", job.flops_per_gpu,
         "peak FLOP/s of one GPU [989T: H100 SXM, dense bf16]", parse_quantity);
  number("--mfu=PERCENT", "mfu", job.mfu, "share of the peak that the model reaches [40%]",
         parse_percent);
  number("--flops-per-token=N", "flops_per_token", job.flops_per_token,
         "FLOP of each token and parameter; 8 with recomputation [6]", parse_quantity);
  number("--gpus=N", "gpus_per_node", job.gpus_per_node, "GPUs per node [8]", parse_quantity);
  number("--rails=N", "rails", job.rails,
         "links of a node that work at once, each as fast as the measured one [1]", parse_quantity);
  number("--parallel=NAME", "parallel", job.parallel,
         "data (all-reduce of gradients) or sharded (ZeRO-3, FSDP) [data]",
         analysis::kParallelNames);
  number("--algorithm=NAME", "algorithm", job.algorithm, "ring or tree [ring]",
         analysis::kAlgorithmNames);
  number("--bucket=SIZE", "bucket_bytes", job.bucket_bytes,
         "most bytes of one all-reduce, with data [25M]",
         [](const std::string& text) { return static_cast<double>(parse_size(text)); });
  number("--layers=N", "layers", job.layers,
         "number of layers; with sharded each is gathered separately [32]", parse_quantity);
  number("--overlap=PERCENT", "overlap", job.overlap,
         "share of the communication that may run beside computation [0%]", parse_percent);
  number(
      "--node-bytes-per-s=N", "bytes_per_s_in_node", job.bytes_per_s_in_node,
      "bandwidth between GPUs of a node, bytes/s; its time is added to the network's [0: no time]",
      parse_quantity);
  number("--stragglers=NAME", "stragglers", job.stragglers,
         "wait for the slowest link: none, collective (once each) or step (upper bound) "
         "[collective]",
         analysis::kStragglersNames);
}

void add_projection(CLI::App& sub, JobOptions& options) {
  static constexpr std::string_view kSources[]{"latency", "bandwidth", "both"};  // TimeSource
  analysis::ProjectionOptions& projection = options.projection;
  const OptionGroup group(sub);
  note(group.add("--curve=NAME", projection.source,
                 "time of a message from latency, bandwidth or both [both where there are both]",
                 kSources),
       options, "curve");
  group.add("--extrapolate", projection.extrapolate, "go beyond the measured sizes, and say so");
  group.add("--margin=PERCENT", projection.settings.margin,
            "of the step time: what does not matter, fixed beforehand [5%]", parse_percent);
  group.add("--alpha=PERCENT", projection.settings.alpha,
            "chance of a wrong verdict at the margin [5%]", parse_percent);
  group.add("--price-a=N", projection.price_a, "of one node of A for an hour: cost of a step",
            parse_quantity);
  group.add("--price-b=N", projection.price_b, "of one node of B for an hour", parse_quantity);
}

}  // namespace rdmabench::inline v1::tools
