// rdmabench project
#include <optional>
#include <string>
#include <vector>

#include "analysis/projection.h"
#include "base/refuse.h"
#include "commands.h"
#include "flags/fields.h"
#include "job_options.h"
#include "output.h"

namespace rdmabench::inline v1::tools {
namespace {

struct ProjectOptions : Output {
  std::vector<std::string> paths;
  std::vector<std::string> against;
  std::string program;  ///< of --as
  std::string a_name;   ///< "" = by the paths
  std::string b_name;
  JobOptions job;
};

int run(ProjectOptions& options) {
  settle_format(options, kReportHint);
  check_writable(options.output);
  check_writable(options.json);
  settle_axis(options.job);
  const std::string& operation = options.job.operation;
  refuse_if(options.job.projection.price_b && options.against.empty(),
            "--price-b without --against", "B is the fabric of --against.");
  const auto names = analysis::side_names(options.paths, options.against);
  options.job.projection.a_name = options.a_name.empty() ? names.first : options.a_name;
  options.job.projection.b_name = options.b_name.empty() ? names.second : options.b_name;
  std::vector<std::string> left_out;
  const std::vector<analysis::Launch> of_a =
      analysis::load_launches(options.paths, options.program, &left_out);
  analysis::LinkSamples a = analysis::collect_link(of_a, operation);
  std::optional<analysis::LinkSamples> b;
  if (!options.against.empty()) {
    const std::vector<analysis::Launch> of_b =
        analysis::load_launches(options.against, options.program, &left_out);
    analysis::refuse_copies(of_a, of_b);
    b = analysis::collect_link(of_b, operation.empty() ? a.operation : operation);
  }
  const analysis::Projection projection =
      analysis::project(std::move(a), std::move(b), options.job.projection);
  write_result(
      for_reading(with_flags(to_table(projection, table_width(options.wide))), options.output),
      with_flags(to_json(projection)), options);
  return tell_left_out(left_out);
}

constexpr const char* kProjectFooter =
    R"(FILES are JSON documents of 'lat' (send, write) and 'bw' over sizes, one launch each;
directories stand for their *.json, or without them for what other tools printed (*.txt, *.log,
*.out). The time of a message is read from the measured curve by straight lines between the logs,
and a size that was not measured is refused. With both kinds of documents it is the latency of the
smallest size plus size over bandwidth.

  data     each bucket is all-reduced: 2(p-1) messages of bucket/(p rails) round a ring, or a tree
  sharded  two all-gathers and a reduce-scatter of each layer: p-1 messages each
  slowest  P(max <= t) = F(t)^links: a collective waits for the median of the slowest link, from the
           measured percentiles; refused where they rest on too few samples
  step     compute + communication - what is hidden: overlap, at most all computation beside it

Intervals are a jackknife's over launches: five of each kind for a verdict. With --against there
are the verdicts of 'compare' on the step time, which side is better from where on along --nodes,
--params or --tokens. Every assumption is printed with where it comes from.

Examples:
  rdmabench project ib/ --model llama-3-8b --nodes 2:256
  rdmabench project ib/ --against roce/ --model llama-3-70b --parallel sharded --nodes 8:512
  rdmabench project ib/ --against roce/ --params 1B:64B --nodes 32 --overlap 80% --margin 2%
  rdmabench project a.json --params 7B --stragglers none --extrapolate --format json

Where the data are not enough, all that is missing is said at once, with the commands that measure
it.

Exit codes: 0 projected; 2 wrong usage, or data that are not enough. docs/project.md has the
formulas.)";

}  // namespace

void add_project(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<ProjectOptions>(
      app, command, "project", "Project measured curves onto the step time of a training job",
      kProjectFooter, run);
  const OptionGroup group(sub);
  group.operand("FILES", options.paths, "documents of the fabric, A")->required();
  group.add("--against=FILES", options.against, "documents of another fabric, B");
  add_program(group, options.program);
  group.add("--a-name=NAME", options.a_name, "what A is called [by its path]");
  group.add("--b-name=NAME", options.b_name, "what B is called [by its path]");
  add_job(sub, options.job);
  add_projection(sub, options.job);
  add_formats(group, options, {{"table", ".txt"}, {"json", ".json"}});
  add_wide(group, options.wide);
}

}  // namespace rdmabench::inline v1::tools
