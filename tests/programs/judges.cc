// In process: the doctor on a node of two files, and two sides of results that are compared.
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <rdmabench/analysis/comparison.h>
#include <rdmabench/health/doctor.h>
#include <rdmabench/rdmabench.h>
#include <rdmabench/report/writers.h>

namespace analysis = rdmabench::analysis;
namespace health = rdmabench::health;

namespace {

health::Tally of_port(const std::string& state) {
  const auto files = std::make_shared<health::MemoryStore>();
  files->add_file("sys/class/infiniband/mlx5_0/ports/1/state", state);
  files->add_file("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  health::DoctorOptions options;
  options.only = {"port.state"};
  return health::diagnose(health::FileTree(files), "memory", options).tally();
}

/// Five launches of each side, in turn. Those of B take `ratio` times as long.
analysis::Comparison compare_at(double ratio) {
  rdmabench::run::Config config;
  config.backend = "loop";
  config.sizes = {8};
  config.stop = rdmabench::measure::StopRule::iterations(1000);
  const std::string text = rdmabench::report::to_json(rdmabench::run::run_in_process(config));
  std::array<std::vector<analysis::Launch>, 2> sides;
  for (int i = 0; i < 10; ++i) {
    analysis::Launch launch = analysis::read_launches(text, "run " + std::to_string(i)).at(0);
    launch.document += std::string(i, ' ');  // a launch of its own
    launch.time_s = i;
    for (auto& percentile : launch.rows.at(0).percentiles) {
      percentile.value_ns = (i % 2 == 0 ? 1 : ratio) * (1000 + i % 3);
    }
    sides[i % 2].push_back(std::move(launch));
  }
  return analysis::compare(sides[0], sides[1], {});
}

}  // namespace

int main() try {
  const bool examined = of_port("4: ACTIVE\n").pass == 1 && of_port("1: DOWN\n").fail == 1;
  const analysis::Comparison slower = compare_at(2);
  std::puts(analysis::summary(slower).c_str());
  return examined && slower.failed() && !compare_at(1).failed() ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
