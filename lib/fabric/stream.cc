#include "fabric/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "base/new_file.h"
#include "base/refuse.h"
#include "base/walk.h"
#include "fabric/nodes.h"
#include "fabric/verdict_words.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"
#include "report/body.h"
#include "report/fabric_document.h"
#include "report/sections.h"
#include "results/csv.h"
#include "results/row.h"

namespace rdmabench::inline v1::fabric {
namespace {

std::string line(const Json& json) {
  return dump(json) + "\n";
}

Json to_list(const std::vector<Finding>& findings) {
  return report::list_of_each(findings, [](const Finding& finding) {
    return Json{{"part", name(finding.part)},
                {"a", finding.a},
                {"b", report::or_null(finding.b)},
                {"rail", report::or_null(finding.rail)},
                {"element", finding.element},
                {"metric", name(finding.metric)},
                {"size_bytes", finding.size_bytes},
                {"ratio", finding.ratio},
                {"score", finding.score},
                {"confirmed", finding.confirmed},
                {"action", action_of(finding)},
                {"evidence", finding.evidence},
                {"text", finding.text}};
  });
}

Json to_object(const Attribution& attribution) {
  const Json typical = report::list_of_each(attribution.typical, [](const Typical& item) {
    return Json{{"metric", name(item.metric)}, {"size_bytes", item.size_bytes},
                {"value", item.value},         {"noise", item.noise},
                {"cells", item.cells},         {"failed", item.failed}};
  });
  const Json rails = report::list_of_each(attribution.rails, [](const RailSummary& item) {
    return Json{{"metric", name(item.metric)},
                {"size_bytes", item.size_bytes},
                {"rail", item.rail},
                {"ratio", item.ratio}};
  });
  const Json nodes = report::list_of_each(attribution.nodes, [](const NodeSummary& item) {
    return Json{{"metric", name(item.metric)},
                {"size_bytes", item.size_bytes},
                {"rank", item.rank},
                {"sender_ratio", item.sender_ratio},
                {"receiver_ratio", item.receiver_ratio},
                {"partners", item.partners},
                {"verdict", name(item.verdict)}};
  });
  Json json{{"findings", to_list(attribution.findings)},
            {"leads", to_list(attribution.leads)},
            {"withdrawn", to_list(attribution.withdrawn)},
            {"typical", typical},
            {"rails", rails},
            {"nodes", nodes},
            {"not_judged", attribution.not_judged}};
  if (attribution.crossed) {
    json["links"] = {{"directions", attribution.crossed->directions},
                     {"crossed", attribution.crossed->crossed},
                     {"fewest_pairs", attribution.crossed->fewest_pairs},
                     {"leaves", attribution.crossed->leaves},
                     {"within", attribution.crossed->within}};
  }
  return json;
}

Json to_object(const FabricPlan& plan, const std::vector<Node>& nodes, std::uint32_t launch) {
  Json list = Json::array();
  for (const Node& node : nodes) list.push_back(write_fields(node));
  Json json{{"schema", report::kFabricSchema},
            {"record", "plan"},
            {"nodes", std::move(list)},
            {"plan", write_fields(plan)}};
  if (launch > 0) json["launch"] = launch;
  return json;
}

Json to_object(const Measurement& measurement) {
  Json json{{"record", "measurement"}};
  json.update(write_fields(measurement));
  return json;
}

Json to_object(const LostNode& lost) {
  Json json{{"record", "lost"}};
  json.update(write_fields(lost));
  return json;
}

report::Document without_verdict(const Matrix& matrix) {
  Json body = to_object(matrix.plan, matrix.nodes, matrix.launch);
  body.erase("record");
  body["lost"] =
      report::list_of_each(matrix.lost, [](const LostNode& one) { return to_object(one); });
  return {{}, std::string(report::kFabricSchema), report::body_of(std::move(body)), {}};
}

Json to_object(const Matrix& matrix, const Attribution& verdict) {
  Json json{{"record", "verdict"}, {"summary", ""}};
  json.update(to_object(verdict));
  json["slow_pairs"] = report::list_of_each(slow_pairs(matrix, verdict), [](const SlowPair& one) {
    return Json{{"metric", name(one.pair->metric)}, {"size_bytes", one.pair->size_bytes},
                {"sender", one.pair->sender},       {"receiver", one.pair->receiver},
                {"rail", one.pair->rail},           {"why_no_finding", one.why}};
  });
  if (const std::optional<NotRdma> without = not_rdma(matrix)) {
    json["not_rdma"] = {{"nodes", without->nodes},
                        {"devices", without->devices},
                        {"over", without->over},
                        {"allowed", matrix.allow_tcp}};
  }
  const health::NodeComparison comparison = compared(matrix);
  json["compared"] = comparison.words;
  json["node_differences"] =
      report::list_of_each(comparison.differences, [](const health::NodeDifference& one) {
        const health::Finding& found = one.finding;
        return Json{{"rank", one.node},
                    {"check", found.id},
                    {"title", health::find_check(found.id)->title},
                    {"status", name(found.status)},
                    {"observed", found.observed},
                    {"expected", found.expected},
                    {"action", health::action_of(found)},
                    {"remedy", found.remedy}};
      });
  report::Document whole = without_verdict(matrix);
  json_of(whole)["verdict"] = json;
  json["summary"] = report::text_of(report::summary_of(whole));
  return json;
}

}  // namespace

std::string plan_record(const FabricPlan& plan, const std::vector<Node>& nodes,
                        std::uint32_t launch) {
  return line(to_object(plan, nodes, launch));
}

std::string record(const Measurement& measurement) {
  return line(to_object(measurement));
}

std::string record(const LostNode& lost) {
  return line(to_object(lost));
}

std::string record(const NodeBytes& bytes) {
  Json json{{"record", "carried"}, {"rank", bytes.rank}, {"told", bytes.told}};
  json.update(write_fields(bytes.devices));
  return line(json);
}

std::string verdict_record(const Matrix& matrix, const Attribution& verdict) {
  return line(to_object(matrix, verdict));
}

report::Document to_document(const Matrix& matrix, const Attribution* verdict) {
  report::Document whole = without_verdict(matrix);
  json_of(whole)["verdict"] = verdict != nullptr ? to_object(matrix, *verdict) : Json(nullptr);
  whole.pairs = matrix.measurements;
  return whole;
}

std::string to_table(const Matrix& matrix, const Attribution& verdict, std::size_t width) {
  return "Verdict: " + report::to_text(to_document(matrix, &verdict), width);
}

std::string to_csv(const Matrix& matrix) {
  report::Csv csv({"round", "pattern", "sender", "receiver", "rail", "metric", "size_bytes",
                   "value", "p99_ns", "error", "confirming", "over", "notes"});
  for (const Measurement& one : matrix.measurements) {
    Json row = write_fields(one);
    if (!one.error.empty()) row["value"] = nullptr;
    csv.add(row);
  }
  return csv.text();
}

std::string to_json_lines(const Matrix& matrix) {
  std::string text = plan_record(matrix.plan, matrix.nodes, matrix.launch);
  for (const Measurement& one : matrix.measurements) text += record(one);
  for (const LostNode& one : matrix.lost) text += record(one);
  for (const NodeBytes& one : matrix.bytes) text += record(one);
  return text;
}

std::string to_json_lines(const report::Document& document) {
  Json plan = json_of(document);
  plan["record"] = "plan";
  for (const char* const key : {"lost", "verdict", "expectations"}) plan.erase(key);
  const auto as_read = [](Json json) {
    json.erase("schema");  // of the reader
    return line(json);
  };
  std::string text = line(plan);
  for (const Measurement& one : document.pairs) text += record(one);
  for (const Json& one : json_of(document)["lost"]) text += as_read(one);
  if (const Json& verdict = json_of(document)["verdict"]; !verdict.is_null())
    text += as_read(verdict);
  return text;
}

Matrix matrix_from_json_lines(std::string_view text, const std::string& source) {
  constexpr std::size_t kAny = std::string::npos;  // of what this program wrote itself
  std::vector<report::Document> documents = report::parse_documents(
      text, source, {}, {.file_bytes = kAny, .document_bytes = kAny, .pairs = kAny});
  refuse_if(documents.size() != 1 || documents[0].schema != report::kFabricSchema,
            fmt::format("'{}' is not one run of a fabric", source),
            "Give the file that 'rdmabench fabric --output' wrote.");
  const auto read = [&]<class T>(const Json& from, T& into) {
    try {
      into = read_fields<T>(from);
    } catch (const Error& error) {
      throw Error(Fault::usage, fmt::format("'{}': {}", source, error.what()));
    }
  };
  const Json& body = json_of(documents[0]);
  Matrix matrix;
  read(body["plan"], matrix.plan);
  for (const Json& node : body["nodes"]) read(node, matrix.nodes.emplace_back());
  for (const Json& lost : body["lost"]) read(lost, matrix.lost.emplace_back());
  matrix.measurements = std::move(documents[0].pairs);
  return matrix;
}

Matrix read_stream(const std::string& path) {
  return matrix_from_json_lines(read_document(path, std::string::npos), path);
}

void check_resumable(const Matrix& earlier, const FabricPlan& plan, std::size_t nodes) {
  refuse_if(earlier.nodes.size() != nodes,
            fmt::format("a run of {} nodes where there are {} now", earlier.nodes.size(), nodes),
            "Start it with as many, or begin a new file with `output`.");
  refuse_if(earlier.plan != plan,
            "a run with another plan (pattern, rounds, seed, sizes, times, rails "
            "or what is measured)",
            "Give the options that it was begun with, or begin a new file with `output`.");
}

void check_hosts(const Matrix& earlier, const std::vector<Node>& nodes) {
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const std::string& before = earlier.nodes[rank].host;
    const std::string& now = nodes[rank].host;
    if (before.empty() || now.empty() || before == now) continue;
    throw Error(Fault::usage, fmt::format("rank {} was on {} and is on {} now", rank, before, now),
                "Start it on the same hosts in the same order, or begin a new file with `output`.");
  }
}

StreamFile::StreamFile(const std::string& path, Mode mode)
    : path_(path), file_(nullptr, &std::fclose) {
  int own = -1;
  if (mode == Mode::replace) {
    NewFile made(path);
    own = fcntl(made.descriptor(), F_DUPFD_CLOEXEC, 0);
    made.finish();  // who goes on with an unfinished run finds it by its name
  } else {
    own = fcntl(find_place(path).open(O_RDWR).get(), F_DUPFD_CLOEXEC, 0);
  }
  if (own >= 0) file_.reset(fdopen(own, mode == Mode::append ? "r+" : "w"));
  if (file_ == nullptr) {
    const int code = errno;
    if (own >= 0) close(own);
    throw Error(Fault::failed, fmt::format("open '{}' to write", path),
                "Name a place that can be written.", code);
  }
  if (mode == Mode::replace) return;
  long whole = 0;  // bytes of complete lines
  long at = 0;
  for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get())) {
    ++at;
    if (c == '\n') whole = at;
  }
  if (ftruncate(fileno(file_.get()), whole) != 0 || std::fseek(file_.get(), whole, SEEK_SET) != 0) {
    throw Error(Fault::failed, fmt::format("append to '{}'", path), {}, errno);
  }
}

StreamFile::~StreamFile() = default;

void StreamFile::write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() && failure_ == 0) {
    failure_ = errno;
  }
}

void StreamFile::begin(const FabricPlan& plan, const std::vector<Node>& nodes,
                       std::uint32_t launch) {
  write(plan_record(plan, nodes, launch));
  end_round();
}

void StreamFile::add(const Measurement& measurement) {
  write(record(measurement));
}

void StreamFile::add(const LostNode& lost) {
  write(record(lost));
}

void StreamFile::end_round() {
  if (std::fflush(file_.get()) != 0 && failure_ == 0) failure_ = errno;
  if (failure_ == 0) return;
  throw Error(Fault::failed, fmt::format("write to '{}'", path_),
              "Make room there, then go on with `resume`.", failure_);
}

void StreamFile::end(const Matrix& matrix, const Attribution& verdict) {
  for (const NodeBytes& one : matrix.bytes) write(record(one));
  write(verdict_record(matrix, verdict));
  end_round();
}

}  // namespace rdmabench::inline v1::fabric
