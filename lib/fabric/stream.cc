#include "fabric/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_map>

#include "base/file.h"
#include "base/new_file.h"
#include "base/walk.h"
#include "fabric/table.h"
#include "json_fields.h"
#include "rdmabench/base/error.h"
#include "report/fabric_stream.h"
#include "report/row.h"

namespace rdmabench::fabric {
namespace {

constexpr const char* kSchema = "rdmabench-fabric/1";

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
            {"doubts", attribution.doubts}};
  if (attribution.crossed) {
    json["links"] = {{"directions", attribution.crossed->directions},
                     {"crossed", attribution.crossed->crossed},
                     {"fewest_pairs", attribution.crossed->fewest_pairs},
                     {"leaves", attribution.crossed->leaves},
                     {"within", attribution.crossed->within}};
  }
  return json;
}

Json to_object(const FabricPlan& plan, const std::vector<Node>& nodes) {
  Json list = Json::array();
  for (const Node& node : nodes) list.push_back(write_fields(node));
  return {{"schema", kSchema},
          {"record", "plan"},
          {"nodes", std::move(list)},
          {"plan", write_fields(plan)}};
}

Json to_object(const Measurement& measurement) {
  Json json{{"record", "measurement"},
            {"round", measurement.round},
            {"pattern", measurement.pattern},
            {"sender", measurement.sender}};
  json.update(cell_json(measurement));
  json["confirming"] = measurement.confirming;
  return json;
}

Json to_object(const LostNode& lost) {
  Json json{{"record", "lost"}};
  json.update(write_fields(lost));
  return json;
}

Json to_object(const Matrix& matrix, const Attribution& verdict) {
  Json json{{"record", "verdict"}, {"summary", headline(matrix, verdict)}};
  json.update(to_object(verdict));
  return json;
}

/// Assembles the records of a run.
class Reader {
 public:
  void take(const nlohmann::json& object) {
    const std::string kind = get_string(object, "record", kMaxWord);
    if (kind == "plan") return take_plan(object);
    if (!has_plan_) throw Error(Fault::failed, "a record before the plan");
    if (kind == "measurement") return take_measurement(object);
    if (kind == "lost") {
      matrix_.lost.push_back(read_fields<LostNode>(object));
      check_rank(matrix_.lost.back().rank);
    }
  }

  Matrix finish() {
    if (!has_plan_)
      throw Error(Fault::usage, "it has no plan", "Is it a file of 'rdmabench fabric'?");
    return std::move(matrix_);
  }

 private:
  void take_plan(const nlohmann::json& object) {
    if (get_string(object, "schema", kMaxWord) != kSchema) {
      throw Error(Fault::failed, "it is of another kind, or of another version",
                  fmt::format(R"(Its first record has "schema": "{}".)", kSchema));
    }
    auto plan = read_fields<FabricPlan>(get_object(object, "plan"));
    std::vector<Node> nodes;
    for (const nlohmann::json& item : get_list(object, "nodes", kMaxNodes)) {
      nodes.push_back(read_fields<Node>(item));
      if (nodes.back().rank + 1 != nodes.size()) {
        throw Error(Fault::failed, "the nodes are not in the order of their ranks");
      }
    }
    if (has_plan_) {
      check_resumable(matrix_, plan, nodes.size());
      check_hosts(matrix_, nodes);
    }
    has_plan_ = true;
    matrix_.plan = std::move(plan);
    matrix_.nodes = std::move(nodes);
    matrix_.lost.clear();
  }

  void take_measurement(const nlohmann::json& object) {
    Measurement one = cell_from(object);
    one.round = get_uint<std::uint32_t>(object, "round");
    one.pattern = get_string(object, "pattern", kMaxWord);
    one.sender = get_uint<std::uint32_t>(object, "sender", 0, kMaxNodes - 1);
    one.confirming = get_bool(object, "confirming");
    check_rank(one.sender);
    check_rank(one.receiver);
    const auto [place, is_new] = index_.emplace(key_of(one), matrix_.measurements.size());
    if (is_new) {
      matrix_.measurements.push_back(std::move(one));
    } else {
      matrix_.measurements[place->second] = std::move(one);
    }
  }

  void check_rank(std::uint32_t rank) const {
    if (rank >= matrix_.nodes.size()) {
      throw Error(Fault::failed, fmt::format("rank {} of {}", rank, matrix_.nodes.size()));
    }
  }

  /// Identifies a measurement: two with the same key are repetitions.
  using Key = std::string;
  static Key key_of(const Measurement& m) {
    return fmt::format("{} {} {} {} {} {} {}", m.round, m.sender, m.receiver, m.rail,
                       static_cast<int>(m.metric), m.size_bytes, m.confirming);
  }

  Matrix matrix_;
  bool has_plan_ = false;
  std::unordered_map<Key, std::size_t> index_;
};

/// Like parse_object(), whose remedy speaks of a peer's messages.
nlohmann::json object_of(std::string_view line) {
  try {
    return parse_object(line, "record", line.size());  // a user's own file
  } catch (const Error&) {
    throw Error(Fault::usage, "it is not a JSON object", "Is it a file of 'rdmabench fabric'?");
  }
}

}  // namespace

std::string plan_record(const FabricPlan& plan, const std::vector<Node>& nodes) {
  return line(to_object(plan, nodes));
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

report::Document to_document(const FabricResult& result) {
  std::vector<report::Document> documents;
  report::FabricStream stream{report::ReadLimits{}};
  const auto add = [&](Json record) {
    stream.add(record, documents, [](const std::string& why) { throw Error(Fault::failed, why); });
  };
  const Matrix& matrix = result.matrix;
  add(to_object(matrix.plan, matrix.nodes));
  for (const Measurement& one : matrix.measurements) add(to_object(one));
  for (const LostNode& one : matrix.lost) add(to_object(one));
  if (result.complete) add(to_object(matrix, result.verdict));
  return std::move(documents.front());
}

std::string to_json(const Attribution& attribution) {
  return dump(to_object(attribution));
}

std::string to_json_lines(const Matrix& matrix) {
  std::string text = plan_record(matrix.plan, matrix.nodes);
  for (const Measurement& one : matrix.measurements) text += record(one);
  for (const LostNode& one : matrix.lost) text += record(one);
  for (const NodeBytes& one : matrix.bytes) text += record(one);
  return text;
}

Matrix matrix_from_json_lines(std::string_view text) {
  Reader reader;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // incomplete: the writer was interrupted
    ++number;
    try {
      reader.take(object_of(text.substr(0, end)));
    } catch (const Error& error) {
      throw Error(Fault::usage, fmt::format("line {}: {}", number, error.what()));
    }
    text.remove_prefix(end + 1);
  }
  return reader.finish();
}

Matrix read_stream(const std::string& path) {
  const std::string text = read_document(path, std::string::npos);
  try {
    return matrix_from_json_lines(text);
  } catch (const Error& error) {
    throw Error(Fault::usage, fmt::format("{}: {}", path, error.what()));
  }
}

void check_resumable(const Matrix& earlier, const FabricPlan& plan, std::size_t nodes) {
  if (earlier.nodes.size() != nodes) {
    throw Error(
        Fault::usage,
        fmt::format("a run of {} nodes where there are {} now", earlier.nodes.size(), nodes),
        "Start it with as many, or begin a new file with `output`.");
  }
  if (earlier.plan != plan) {
    throw Error(Fault::usage,
                "a run with another plan (pattern, rounds, seed, sizes, times, rails "
                "or what is measured)",
                "Give the options that it was begun with, or begin a new file with `output`.");
  }
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

void StreamFile::begin(const FabricPlan& plan, const std::vector<Node>& nodes) {
  write(plan_record(plan, nodes));
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

}  // namespace rdmabench::fabric
