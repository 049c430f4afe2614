// rdmabench demo

#include <chrono>
#include <memory>
#include <vector>

#include "commands.h"
#include "ending.h"
#include "flags/fields.h"
#include "interruption.h"
#include "options.h"
#include "output.h"
#include "process.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/units.h"
#include "rdmabench/report/writers.h"
#include "rdmabench/run/client.h"

namespace rdmabench::tools {
namespace {

using transport::OperationCode;
using workload::Shape;

constexpr std::size_t kParts = 4;  // latency and bandwidth of two operations

int write_all(const std::vector<report::Report>& reports, const Options& options,
              const std::string& json) {
  if (!json.empty()) write_file(report::to_json(reports), json);
  return write(reports, options);
}

int demo(const Options& options, const std::string& json) {
  check_writable(options.output);
  check_writable(json);
  // Two spinning processes on one processor would measure the scheduler's time slice.
  const std::vector<int> cpus = processors();
  const bool apart = cpus.size() >= 2;
  const ServerProcess server(apart ? cpus[0] : -1, options.config.provider);

  std::vector<report::Report> reports;
  std::size_t part = 0;
  for (const Shape shape : {Shape::latency, Shape::stream}) {
    for (const OperationCode operation : {OperationCode::send, OperationCode::write}) {
      run::Config config = options.config;
      config.authentication = server.authentication();
      if (apart) config.cpus = {cpus[1]};
      config.shape = shape;
      config.operation = operation;
      const run::RunHooks hooks = interruptible(progress_line(part++, kParts));
      try {
        reports.push_back(run::run(config, "127.0.0.1", server.port(), hooks));
      } catch (const Error&) {
        if (interrupted().empty()) throw;
        return write_all(reports, options, json);  // of the runs before
      }
      if (reports.back().error && !interrupted().empty()) reports.back().error = interrupted();
      name_flags(reports.back());
      if (reports.back().error) return write_all(reports, options, json);
    }
  }
  return write_all(reports, options, json);
}

}  // namespace

void add_demo(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "demo", "Measure between two processes of this machine over libfabric; needs no hardware");
  sub->footer(
      "Measures latency and bandwidth of send and write between this process and a server that it\n"
      "starts, 0.2 s per size. The results show this machine's loopback and libfabric's\n"
      "software, not a network.");
  struct State {
    Options options;
    std::string json;
  };
  auto state = std::make_shared<State>();
  run::Config& config = state->options.config;
  const OptionGroup group(*sub);
  config.backend = "ofi";
  config.stop = measure::StopRule::duration(std::chrono::milliseconds(200));
  config.sizes = parse_size_list("8,64,1K,8K,64K,1M");
  group.plain("--provider", config.provider, "NAME", "libfabric provider: tcp, shm ... [by route]");
  group.sizes("-s,--size", config.sizes, "message sizes in bytes [8,64,1K,8K,64K,1M]");
  add_output(group, state->options);
  group.plain("--json", state->json, "FILE", "write the same results as JSON to FILE too")
      ->take_last();
  sub->callback(
      [state, &command] { command = [state] { return demo(state->options, state->json); }; });
}

}  // namespace rdmabench::tools
