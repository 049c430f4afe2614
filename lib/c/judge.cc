#include "c/guard.h"
#include "rdmabench.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/health/doctor.h"
#include "run/node.h"
#include "run/user_options.h"

namespace rdmabench::c {
namespace {

constexpr std::size_t kMostToCompare = std::size_t{256} << 20;  // bytes of all documents

int examine(std::string_view text, std::string& result) {
  run::UserOptions given(text, "the options");
  std::string root = "/";
  std::vector<std::string> expectations;
  health::DoctorOptions options;
  given.text("root", root);
  given.texts("only", options.only);
  given.texts("expect", expectations);
  given.refuse_others();
  for (const std::string& one : expectations) options.expectations.add_user(one);
  const health::Diagnosis diagnosis =
      health::diagnose(health::FileTree(run::open_node(root)), root, options);
  result = to_json(diagnosis);
  return diagnosis.tally().failed() ? RDMABENCH_FAILED : RDMABENCH_OK;
}

int compare(std::string_view text, std::string& result) {
  run::UserOptions given(text, "the comparison", kMostToCompare);
  std::vector<std::string> a;
  std::vector<std::string> b;
  std::vector<std::string> factors;
  std::vector<std::string> metrics;
  analysis::ComparisonOptions options;
  given.texts("a", a);
  given.texts("b", b);
  given.real("margin", 0, 1, options.settings.margin);
  given.real("alpha", 0, 1, options.settings.alpha);
  given.texts("factors", factors);
  given.texts("metrics", metrics);
  given.flag("skip_failed", options.skip_failed);
  given.text("a_name", options.a_name);
  given.text("b_name", options.b_name);
  given.refuse_others();
  options.settings.check();
  options.factors = analysis::Factors(std::move(factors));
  for (const std::string& one : metrics) options.metrics.push_back(analysis::parse_metric(one));
  const analysis::Comparison comparison =
      analysis::compare(analysis::load_launches(a), analysis::load_launches(b), options);
  result = to_json(comparison);
  return comparison.failed() ? RDMABENCH_FAILED : RDMABENCH_OK;
}

}  // namespace
}  // namespace rdmabench::c

extern "C" {

int rdmabench_doctor(const char* options, char** result) {
  return rdmabench::c::guarded(result, [&](std::string& text) {
    return rdmabench::c::examine(options != nullptr ? options : "{}", text);
  });
}

int rdmabench_compare(const char* request, char** result) {
  return rdmabench::c::guarded(result, [&](std::string& text) {
    return rdmabench::c::compare(rdmabench::c::required(request, "the comparison"), text);
  });
}

}  // extern "C"
