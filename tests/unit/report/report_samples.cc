// Writes the JSON of every sample into the directory it is given, and in `columns` what the schema
// says of rows, for schema_test.py.
#include <array>
#include <fstream>
#include <string>

#include "rdmabench/results/result.h"
#include "results/row.h"
#include "samples.h"

namespace rdmabench::inline v1::report {
namespace {

template <class Result>
Json properties() {
  Json all = Json::object();
  for (const Field& field : fields_of(Result{}, Resolved{})) {
    if (field.key.empty()) continue;
    Json one{{"$ref", "#/$defs/" + std::string(field.kind)}};
    if (!field.about.empty()) one["description"] = field.about;
    all[std::string(field.key)] = std::move(one);
  }
  return all;
}

}  // namespace
}  // namespace rdmabench::inline v1::report

int main(int argc, char** argv) {
  using namespace rdmabench::report;
  if (argc != 2) return 2;
  const auto save = [&](const char* name, const std::string& json) {
    std::ofstream(std::string(argv[1]) + "/" + name) << json;
  };
  const std::array all{latency_sample(), bandwidth_sample(), hostile_sample(), failed_sample()};
  save("latency.json", to_json(all[0]));
  save("bandwidth.json", to_json(all[1]));
  save("hostile.json", to_json(all[2]));
  save("failed.json", to_json(all[3]));
  save("several.json", to_json(all));
  save("columns", Json{{"latencyResult", properties<LatencyResult>()},
                       {"bandwidthResult", properties<BandwidthResult>()},
                       {"loadResult", properties<LoadResult>()}}
                      .dump());
  return 0;
}
