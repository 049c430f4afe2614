// A node is accepted: what the doctor finds, five launches held against limits and compared with
// five others, and all of it on one page.
//
//   acceptance [PAGE.html]
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <rdmabench/analysis/comparison.h>
#include <rdmabench/health/doctor.h>
#include <rdmabench/rdmabench.h>
#include <rdmabench/report/documents.h>

using namespace rdmabench;

namespace {

/// A node whose one port is down. This machine is live_store(), a saved one open_store().
health::Diagnosis examine() {
  const auto files = std::make_shared<health::MemoryStore>();
  files->add_file("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
  files->add_file("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  return health::diagnose(health::FileTree(files), "memory",
                          {.expectations = {}, .only = {"port.state"}});
}

std::vector<report::Report> launch(int count) {
  run::Config config;
  config.backend = "loop";
  config.sizes = {64};
  config.stop = measure::StopRule::iterations(2000);
  config.traffic.watch = false;
  std::vector<report::Report> reports;
  for (int i = 0; i < count; ++i) reports.push_back(run::run_in_process(config));
  return reports;
}

/// The launches of the second half took `ratio` times as long as the first: here by what is written
/// over the values that were measured, because of a real program the verdict is not known before.
analysis::Comparison compare_at(const std::vector<report::Report>& reports, double ratio) {
  std::vector<analysis::Launch> sides[2];
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const std::size_t side = i % 2;
    analysis::Launch one = analysis::to_launch(reports[i], "launch " + std::to_string(i));
    one.time_s = static_cast<double>(i);
    for (analysis::Percentile& percentile : one.rows.at(0).percentiles) {
      percentile.value_ns = (side == 0 ? 1 : ratio) * (1000 + static_cast<double>(i % 3));
    }
    sides[side].push_back(one);
  }
  return analysis::compare(sides[0], sides[1],
                           {.metrics = {analysis::Metric::p50}, .a_name = "old", .b_name = "new"});
}

/// What a room writes as JSON is a document again, for the page.
void add(std::vector<report::Document>& documents, const std::string& json, const char* source) {
  for (report::Document& one : report::parse_documents(json, source)) documents.push_back(one);
}

bool contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

int main(int argc, char** argv) try {
  const health::Diagnosis node = examine();
  const std::vector<report::Report> reports = launch(10);
  std::vector<report::Document> launches;
  for (const report::Report& one : reports) launches.push_back(to_document(one));

  report::Document all = report::over_launches(launches);
  const auto kept = judge(all, {report::parse_limit("p50<=1s")}, launches);
  const auto broken = judge(reports.front(), {report::parse_limit("p50<=1ns")});
  const analysis::Comparison same = compare_at(reports, 1), slower = compare_at(reports, 2);
  std::printf("%s\n%s\n", kept.at(0).text.c_str(), analysis::summary(slower).c_str());

  std::vector<report::Document> documents{all};
  add(documents, to_json(node), "doctor");
  add(documents, to_json(slower), "old against new");
  const std::string page = report::to_html(documents, "2026-03-01 12:00 UTC");
  if (argc > 1) std::ofstream(argv[1]) << page;
  const bool judged = kept.at(0).status == Status::pass && !failed(kept) && failed(broken);
  const bool compared = slower.failed() && !same.failed() && same.complete();
  const bool written = contains(page, "rdmabench-doctor/1") && contains(page, "rdmabench/1") &&
                       contains(page, "rdmabench-compare/1");
  return node.tally().fail == 1 && judged && compared && written ? 0 : 1;
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
