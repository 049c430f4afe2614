// Writes the JSON of comparisons, a plan, projections and decisions into the directory it is given,
// for schema_test.py.
#include <cmath>
#include <fstream>
#include <string>

#include "analysis/decision.h"
#include "analysis/projection.h"
#include "documents.h"
#include "rdmabench/analysis/comparison.h"

namespace rdmabench::inline v1::analysis {
namespace {

Comparison confounded() {
  std::vector<Launch> a;
  std::vector<Launch> b;
  for (int i = 0; i < 6; ++i) {
    report::Report one = latency_report({{8, 1000.0 + i}, {64, 1010.0 + i}}, 2 * i, 5000);
    report::Report other = latency_report({{8, 1200.0 + i}, {64, 1011.0 + i}}, 2 * i + 1, 5000);
    set_fact(other.environment.client, "kernel", "6.5.0");
    other.resolved.provider = "tcp";  // and nobody asked for it
    other.suspicions = {{"migration", "text"}};
    other.counters.client = {{"mlx5_0:1", "ack_timeouts", "retransmission", "f", 3, false}};
    a.push_back(launch_of(one));
    b.push_back(launch_of(other));
  }
  report::Report failed = latency_report({}, 50);
  failed.error = "bytes that are no UTF-8: \xff";
  b.push_back(launch_of(failed));
  return compare(a, b,
                 {.factors = Factors({"mtu"}), .skip_failed = true, .a_name = "x", .b_name = "y"});
}

LinkSamples fabric(double ns_per_byte, int launches) {
  std::vector<Launch> list;
  for (int i = 0; i < launches; ++i) {
    list.push_back(launch_of(latency_report(
        {{1, 1000.0 + i}, {1 << 30, ns_per_byte * (1 << 30) * (1 + 0.001 * i)}}, i, 5000)));
  }
  list[0].not_rdma = "NOT RDMA: measured over ofi, provider tcp, device eth0, why";
  return collect_link(list, "");
}

Projection projection(bool against, int launches) {
  ProjectionOptions options;
  options.job.parameters = 1e9;
  options.values = {1, 8, 4096};  // no network, carried by the samples, not carried
  options.price_a = 20;
  return against ? project(fabric(0.02, launches), fabric(0.04, launches), options)
                 : project(fabric(0.02, launches), std::nullopt, options);
}

/// Of constant bandwidth and latency.
std::vector<Launch> network(double ns_per_byte, int launches) {
  std::vector<Launch> list;
  for (int i = 0; i < launches; ++i) {
    const double ns = ns_per_byte * (1 + 0.001 * i);
    list.push_back(launch_of(latency_report({{8, 1000.0 + i + ns}, {1 << 30, ns * (1 << 30)}}, i)));
    list.push_back(launch_of(bandwidth_report({{8, 8e9 / ns}, {1 << 30, 8e9 / ns}}, i)));
  }
  list[0].suspicions = {"noise"};
  list[0].not_rdma = "NOT RDMA: measured over ofi, provider tcp, device eth0, why";
  return list;
}

std::string decision(bool priced, int launches, Language language) {
  DecisionOptions options;
  options.projection.job.parameters = 1e9;
  options.projection.values = {1, 8, 64};
  options.plan_command = "rdmabench decide --plan";
  options.command = "rdmabench decide";
  if (priced) {
    options.projection.price_a = 33;
    options.projection.price_b = 20;
    options.steps = 1000;
  }
  return to_document(decide(network(0.04, launches), network(0.08, launches), options),
                     DecisionFormat::json, language);
}

}  // namespace
}  // namespace rdmabench::inline v1::analysis

int main(int argc, char** argv) {
  using namespace rdmabench::analysis;
  if (argc != 2) return 2;
  const auto save = [&](const char* name, const std::string& json) {
    std::ofstream(std::string(argv[1]) + "/" + name) << json;
  };
  save("compare.json", to_json(compare(bandwidth_launches(6, 1e11, 0.01, 1, 0, 2),
                                       bandwidth_launches(6, 1e11, 0.01, 2, 1, 2), {})));
  save("compare-confounded.json", to_json(confounded()));
  save("compare-few.json", to_json(compare(bandwidth_launches(1, 1e11, 0.01, 1, 0, 2),
                                           bandwidth_launches(2, 1e11, 0.01, 2, 1, 2), {})));
  save("compare-plan.json", to_json(plan_from(bandwidth_launches(6, 1e11, 0.02, 1), 0, {})));
  save("project.json", to_json(projection(false, 6)));
  save("project-against.json", to_json(projection(true, 6)));
  save("decide.json", decision(true, 6, Language::english));
  save("decide-unpriced.json", decision(false, 6, Language::korean));
  save("decide-single.json", decision(true, 1, Language::english));
  save("project-single.json", to_json(projection(true, 1)));
  return 0;
}
