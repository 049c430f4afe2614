#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/fields.h"
#include "base/nesting.h"
#include "base/refuse.h"
#include "c/guard.h"
#include "rdmabench.h"
#include "rdmabench/analysis/comparison.h"
#include "rdmabench/fabric/run.h"
#include "rdmabench/health/doctor.h"
#include "report/body.h"
#include "report/formats.h"
#include "report/launches.h"
#include "report/limits.h"
#include "results/row.h"
#include "run/node.h"
#include "run/user_options.h"

namespace rdmabench::inline v1::c {
namespace {

using report::Document;
using report::Json;

constexpr std::size_t kMost = std::size_t{256} << 20;  // bytes of a request with its documents
// Of all objects in it, which are in memory before the limit of one document is known to be kept.
constexpr std::size_t kMostValues = 8'000'000;

/// A request with lists of documents, which are taken out of it: the rest are options.
class Request {
 public:
  Request(const char* text, std::string_view what, std::initializer_list<const char*> lists)
      : what_(what) {
    const std::string_view given = required(text, what);
    const report::ReadLimits limits;
    refuse_if(given.size() > kMost, fmt::format("{} has {} bytes", what, given.size()),
              fmt::format("It has at most {}.", kMost));
    const std::string excess =
        json_excess(given, {.depth = limits.depth + 2, .values = kMostValues, .keys = limits.keys});
    refuse_if(!excess.empty(), fmt::format("{} has {}", what, excess),
              "Give the paths of files in place of documents.");
    Json object = Json::parse(given, nullptr, false);
    for (const char* const list : lists) {
      const auto found = object.is_object() ? object.find(list) : object.end();
      if (found != object.end()) lists_[list] = std::exchange(*found, nullptr);
    }
    options_.emplace(object.is_discarded() ? std::string(given) : dump(object), what, kMost);
    for (const char* const list : lists) options_->has(list);
  }

  run::UserOptions& options() { return *options_; }

  /// Each item as load_launches() takes it: the text of a document, or a path.
  std::vector<std::string> texts(const char* list) const {
    constexpr const char* kRemedy =
        "Give a list of documents: of each the object, its text, or the path of a file or folder.";
    const auto found = lists_.find(list);
    if (found == lists_.end() || found->second.is_null()) return {};
    const auto wrong = [&](const std::string& name, const Json& value) {
      return Error(Fault::usage,
                   fmt::format("`{}` of {} is {}", name, what_, ascii_only(dump(value), kShown)),
                   kRemedy);
    };
    if (!found->second.is_array()) throw wrong(list, found->second);
    std::vector<std::string> texts;
    for (const Json& item : found->second) {
      if (!item.is_object() && !item.is_string()) {
        throw wrong(fmt::format("{}[{}]", list, texts.size()), item);
      }
      texts.push_back(item.is_object() ? dump(item) : item.get<std::string>());
    }
    return texts;
  }

  std::vector<Document> documents(const char* list) const {
    std::vector<Document> all;
    const std::vector<std::string> each = texts(list);
    for (std::size_t i = 0; i < each.size(); ++i) {
      report::FolderDocuments read;
      if (each[i].starts_with('{')) {
        read.documents = report::parse_documents(each[i], fmt::format("document {}", i + 1));
      } else {
        read = report::read_folders({each[i]}, {".json", ".jsonl"});
      }
      refuse_if(!read.left_out.empty(), read.left_out.empty() ? "" : read.left_out.front(),
                "Remove it from the folder, or name the other files.");
      std::move(read.documents.begin(), read.documents.end(), std::back_inserter(all));
    }
    refuse_if(all.empty(), fmt::format("`{}` of {} has no document", list, what_),
              "Give one at least.");
    return all;
  }

 private:
  static constexpr std::size_t kShown = 60;  // characters

  std::string what_;
  std::map<std::string, Json, std::less<>> lists_;
  std::optional<run::UserOptions> options_;
};

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

int compare(const char* text, std::string& result) {
  Request request(text, "the comparison", {"a", "b"});
  run::UserOptions& given = request.options();
  std::vector<std::string> factors;
  std::vector<std::string> metrics;
  analysis::ComparisonOptions options;
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
      analysis::compare(analysis::load_launches(request.texts("a")),
                        analysis::load_launches(request.texts("b")), options);
  result = to_json(comparison);
  return comparison.failed() ? RDMABENCH_FAILED : RDMABENCH_OK;
}

int judge(const char* text, std::string& result) {
  Request request(text, "the request", {"documents"});
  std::vector<std::string> texts;
  std::string profile;
  request.options().texts("limits", texts);
  request.options().text("profile", profile);
  request.options().refuse_others();
  std::vector<report::Limit> limits;
  if (!profile.empty()) limits = report::read_profile(profile);
  for (const std::string& one : texts) limits.push_back(report::parse_limit(one));
  refuse_if(limits.empty(), "the request has no limit",
            R"(Give "limits": ["p99<=5us"], or a "profile".)");
  std::vector<Document> launches = request.documents("documents");
  // --launches writes one over them before them.
  std::erase_if(launches,
                [](const Document& one) { return report::launches_of(json_of(one)) > 1; });
  const bool early = std::ranges::any_of(launches, report::ended_early);
  Document judged = launches.size() == 1 ? launches.front() : report::over_launches(launches);
  if (launches.size() == 1) launches.clear();
  const bool broken = failed(report::judge(judged, limits, launches));
  result = judged.schema == report::kFabricSchema
               ? fabric::to_json_lines(judged) + report::limits_record(judged)
               : to_json(judged);
  return broken || early ? RDMABENCH_FAILED : RDMABENCH_OK;
}

int write_report(const char* text, std::string& result) {
  Request request(text, "the request", {"documents"});
  std::size_t format = 0;
  request.options().name("format", report::kFormats, format);
  request.options().refuse_others();
  result = report::to_format(request.documents("documents"), report::kFormats.at(format));
  return RDMABENCH_OK;
}

}  // namespace
}  // namespace rdmabench::inline v1::c

extern "C" {

int rdmabench_doctor(const char* options, char** result) {
  return rdmabench::c::guarded(result, [&](std::string& text) {
    return rdmabench::c::examine(options != nullptr ? options : "{}", text);
  });
}

int rdmabench_compare(const char* request, char** result) {
  return rdmabench::c::guarded(
      result, [&](std::string& text) { return rdmabench::c::compare(request, text); });
}

int rdmabench_judge(const char* request, char** result) {
  return rdmabench::c::guarded(
      result, [&](std::string& text) { return rdmabench::c::judge(request, text); });
}

int rdmabench_report(const char* request, char** result) {
  return rdmabench::c::guarded(
      result, [&](std::string& text) { return rdmabench::c::write_report(request, text); });
}

}  // extern "C"
