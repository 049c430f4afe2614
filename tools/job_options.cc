#include "job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "options.h"
#include "quantity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools {
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

/// Options of one number of the job. The origin of each is kept under the assumption's name.
class JobFlags {
 public:
  JobFlags(const OptionGroup& group, JobOptions& options) : group_(group), options_(options) {}

  void quantity(const char* flag, const char* assumption, double Job::*member, const char* help) {
    add(flag, assumption, help, "N",
        [member](Job& job, const std::string& text) { job.*member = parse_quantity(text); });
  }
  void percent(const char* flag, const char* assumption, double Job::*member, const char* help) {
    add(flag, assumption, help, "PERCENT",
        [member](Job& job, const std::string& text) { job.*member = parse_percent(text); });
  }
  void bytes(const char* flag, const char* assumption, double Job::*member, const char* help) {
    add(flag, assumption, help, "SIZE", [member](Job& job, const std::string& text) {
      job.*member = static_cast<double>(parse_size(text));
    });
  }
  template <class Enumeration>
  void choice(const char* flag, const char* assumption, Enumeration Job::*member,
              std::vector<Enumeration> all, const char* help) {
    add(flag, assumption, help, "NAME",
        [member, flag, all = std::move(all)](Job& job, const std::string& text) {
          std::string names;
          for (const Enumeration one : all) {
            if (name(one) == text) {
              job.*member = one;
              return;
            }
            names += (names.empty() ? "" : ", ") + std::string(name(one));
          }
          throw Error(Fault::usage, fmt::format("{} '{}'", flag, text),
                      fmt::format("It may be {}.", names));
        });
  }

 private:
  template <class Parse>
  void add(const char* flag, const char* assumption, const char* help, const char* type,
           Parse parse) {
    JobOptions& options = options_;
    group_.parsed(
        flag,
        [&options, assumption, parse](const std::string& text) {
          parse(options.projection.job, text);
          options.projection.origins[assumption] = "given";
        },
        type, help);
  }

  const OptionGroup& group_;
  JobOptions& options_;
};

}  // namespace

void settle_axis(JobOptions& options) {
  analysis::ProjectionOptions& projection = options.projection;
  if (options.parameters.empty()) {
    throw Error(Fault::usage, "no model was given", "Give --model llama-3-8b, or --params 8B.");
  }
  const bool others = options.parameters.size() > 1 || options.tokens.size() > 1;
  if (others && !options.nodes_given) options.nodes = {16};
  const int varied = (options.nodes.size() > 1 ? 1 : 0) + (options.parameters.size() > 1 ? 1 : 0) +
                     (options.tokens.size() > 1 ? 1 : 0);
  if (varied > 1) {
    throw Error(Fault::usage, "several values of more than one of --nodes, --params and --tokens",
                "Vary one at a time.");
  }
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
  using analysis::Algorithm;
  using analysis::Parallel;
  using analysis::Stragglers;
  const OptionGroup group(sub);
  const auto varied = [&](const char* flag, const char* assumption, std::vector<double>& values,
                          const char* help) {
    return group.parsed(
        flag,
        [&options, &values, assumption](const std::string& text) {
          values = parse_quantities(text);
          options.projection.origins[assumption] = "given";
        },
        "LIST", help);
  };
  group.plain("--op", options.operation, "OP", "which operation's curve [the only one]");
  group.parsed(
      "--model", [&options](const std::string& text) { use_model(options, text); }, "NAME",
      "bert-large, gpt-3-175b, llama-3-8b, llama-3-70b or llama-3-405b: --params and --layers");
  varied("--params", "parameters", options.parameters,
         "parameters of the model: 7B, or 1B,7B, or 1B:64B");
  varied("--nodes", "nodes", options.nodes,
         "number of nodes: 8, or 2:1024 for every doubling [2:128]")
      ->each([&options](const std::string&) { options.nodes_given = true; });
  varied("--tokens", "tokens_per_gpu", options.tokens,
         "tokens that each GPU processes in a step [4096]");
  JobFlags job(group, options);
  job.quantity("--element-bytes", "bytes_per_element", &Job::bytes_per_element,
               "bytes of a gradient or parameter on the wire [2]");
  job.quantity("--gpu-flops", "flops_per_gpu", &Job::flops_per_gpu,
               "peak FLOP/s of one GPU [989T: H100 SXM, dense bf16]");
  job.percent("--mfu", "mfu", &Job::mfu, "share of the peak that the model reaches [40%]");
  job.quantity("--flops-per-token", "flops_per_token", &Job::flops_per_token,
               "FLOP of each token and parameter; 8 with recomputation [6]");
  job.quantity("--gpus", "gpus_per_node", &Job::gpus_per_node, "GPUs per node [8]");
  job.quantity("--rails", "rails", &Job::rails,
               "links of a node that work at once, each as fast as the measured one [1]");
  job.choice("--parallel", "parallel", &Job::parallel,
             std::vector{Parallel::data, Parallel::sharded},
             "data (all-reduce of gradients) or sharded (ZeRO-3, FSDP) [data]");
  job.choice("--algorithm", "algorithm", &Job::algorithm,
             std::vector{Algorithm::ring, Algorithm::tree}, "ring or tree [ring]");
  job.bytes("--bucket", "bucket_bytes", &Job::bucket_bytes,
            "most bytes of one all-reduce, with data [25M]");
  job.quantity("--layers", "layers", &Job::layers,
               "number of layers; with sharded each is gathered separately [32]");
  job.percent("--overlap", "overlap", &Job::overlap,
              "share of the communication that may run beside computation [0%]");
  job.quantity(
      "--node-bytes-per-s", "bytes_per_s_in_node", &Job::bytes_per_s_in_node,
      "bandwidth between GPUs of a node, bytes/s; its time is added to the network's [0: no time]");
  job.choice("--stragglers", "stragglers", &Job::stragglers,
             std::vector{Stragglers::none, Stragglers::collective, Stragglers::step},
             "wait for the slowest link: none, collective (once each) or step (upper bound) "
             "[collective]");
}

void add_projection(CLI::App& sub, JobOptions& options) {
  analysis::ProjectionOptions& projection = options.projection;
  const OptionGroup group(sub);
  group.parsed(
      "--curve",
      [&projection](const std::string& text) {
        constexpr std::array kSources{"latency", "bandwidth",
                                      "both"};  // in the order of TimeSource
        const auto* const found = std::find(kSources.begin(), kSources.end(), text);
        if (found == kSources.end()) {
          throw Error(Fault::usage, fmt::format("--curve '{}'", text),
                      "It may be latency, bandwidth or both.");
        }
        projection.source = static_cast<analysis::TimeSource>(found - kSources.begin());
        projection.origins["curve"] = "given";
      },
      "NAME", "time of a message from latency, bandwidth or both [both where there are both]");
  group.flag("--extrapolate", projection.extrapolate, "go beyond the measured sizes, and say so");
  group.percent("--margin", projection.settings.margin,
                "of the step time: what does not matter, fixed beforehand [5%]");
  group.percent("--alpha", projection.settings.alpha,
                "chance of a wrong verdict at the margin [5%]");
  group.quantity("--price-a", projection.price_a, "of one node of A for an hour: cost of a step");
  group.quantity("--price-b", projection.price_b, "of one node of B for an hour");
}

}  // namespace rdmabench::tools
