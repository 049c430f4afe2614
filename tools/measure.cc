// rdmabench lat, rdmabench bw, rdmabench load
#include <memory>

#include "commands.h"
#include "ending.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools {
namespace {

int measure(Options options) {
  settle(options);
  return run_and_write(
      options.config, options.host, options.port, progress_line(),
      [&](const report::Report& report) { return write(std::span(&report, 1), options); });
}

std::shared_ptr<Options> add(CLI::App& subcommand, Command& command, Test test) {
  auto options = std::make_shared<Options>();
  add_measuring(subcommand, *options, test);
  subcommand.callback([options, &command] { command = [options] { return measure(*options); }; });
  return options;
}

}  // namespace

void add_lat(CLI::App& app, Command& command) {
  CLI::App* lat = app.add_subcommand("lat", "Measure latency between this machine and a server");
  lat->footer(
      "send, write and write-imm are a ping-pong, closed loop: a figure is half a round trip of "
      "software,\n"
      "device and wire, and says nothing about latency under load. read is the time from the post "
      "to the\n"
      "data. All samples count; a percentile that they cannot support is shown as '-'.\n"
      "\n"
      "Examples:\n"
      "  rdmabench lat node2                       8 bytes, send, until the median is stable\n"
      "  rdmabench lat node2 --op write -s 1:64K   a sweep\n"
      "  rdmabench lat node2 -d mlx5_0 -n 10k --format json --output lat.json\n"
      "  rdmabench lat --backend loop              what rdmabench itself costs");
  add(*lat, command, Test::latency)->config.shape = workload::Shape::latency;
}

void add_bw(CLI::App& app, Command& command) {
  CLI::App* bw = app.add_subcommand("bw", "Measure bandwidth and message rate to a server");
  bw->footer(
      "Messages are kept outstanding up to --depth. The clock stops when the server has confirmed "
      "that\n"
      "everything arrived; for read, when the last data is here. Figures count payload, one way.\n"
      "\n"
      "Examples:\n"
      "  rdmabench bw node2 --op write             64 KiB messages until the rate is stable\n"
      "  rdmabench bw node2 --op send -s 64        message rate\n"
      "  rdmabench bw node2 --op read -a -D 2s     a sweep, two seconds a size");
  auto options = add(*bw, command, Test::bandwidth);
  options->config.shape = workload::Shape::stream;
  options->config.sizes = parse_size_list("64K");
}

void add_load(CLI::App& app, Command& command) {
  CLI::App* load = app.add_subcommand("load", "Measure latency under a given load of a server");
  load->footer(
      "An open loop: messages are posted at a steady rate whether or not earlier ones were "
      "answered, and each\n"
      "is timed from when it should have been posted, so that a stall is charged to all that it "
      "delays. send,\n"
      "send-imm and write-imm are answered by the server (a whole round trip); the others end with "
      "their\n"
      "completion. Without --rate: capacity first, then from 10 to 110 % of it, a second each, and "
      "the knee.\n"
      "\n"
      "Examples:\n"
      "  rdmabench load node2                      the latency-versus-load curve of 8 bytes\n"
      "  rdmabench load node2 --op read -s 4K -D 5s\n"
      "  rdmabench load node2 --rate 100k          one load");
  run::Config& config = add(*load, command, Test::load)->config;
  config.shape = workload::Shape::open_loop;
  config.operation =
      transport::OperationCode::send_imm;  // whose answers every transport can tell apart
}

}  // namespace rdmabench::tools
