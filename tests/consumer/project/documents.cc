// A dashboard's job: reads a result, holds it against a limit and writes what JUnit's readers take.
// It measures nothing.
#include <rdmabench/report/documents.h>
#include <cstdio>

namespace report = rdmabench::report;

int main() {
  report::Report measured;
  auto& row = measured.results.emplace<std::vector<report::LatencyResult>>().emplace_back();
  row.size_bytes = 8;
  row.operation = "write";
  row.latency.count = 1000;
  row.latency.p50_ns = 900;
  const std::vector<report::Document> read =
      report::parse_documents(to_json(to_document(measured)), "night 3");
  report::Document judged = read.at(0);
  const auto findings = judge(judged, {report::parse_limit("p50<=1us")});
  const std::string suite = report::to_junit({&judged, 1});
  std::printf("%s", suite.c_str());
  return findings.size() == 1 && suite.find("<testsuite") != std::string::npos ? 0 : 1;
}
