// rdmabench report
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "commands.h"
#include "health/peers.h"
#include "import/run.h"
#include "options.h"
#include "output.h"
#include "report/body.h"
#include "report/formats.h"
#include "report/kinds.h"

namespace rdmabench::inline v1::tools {
namespace {

using report::Document;

struct ReportOptions : Output {
  std::vector<std::string> files;
  std::string program;  ///< of --as
};

std::string known_commands() {
  std::vector<std::string_view> names;
  for (const report::DocumentKind* kind : report::document_kinds()) {
    names.push_back(kind->written_by);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// `summary` of a doctor's document whose findings have changed.
void count_again(report::Json& body) {
  report::Json summary{{"pass", 0}, {"warn", 0}, {"fail", 0}, {"skip", 0}, {"error", 0}};
  for (const report::Json& one : body["findings"]) {
    const auto at = summary.find(lower(text_of(one, "status")));
    if (at != summary.end()) *at = at->get<std::uint64_t>() + 1;
  }
  body["summary"] = std::move(summary);
}

/// Nodes of which there are documents, by each other: what FAILs or warns in comparison alone is
/// said in the document of the node.
void compare_nodes(std::vector<Document>& documents) {
  std::vector<Document*> nodes;
  std::vector<health::Peer> peers;
  for (Document& document : documents) {
    if (document.schema != report::kDoctorSchema) continue;
    nodes.push_back(&document);
    peers.push_back(health::read_peer(report::to_json(document), document.source));
  }
  const health::NodeComparison comparison = health::compare_nodes(peers);
  std::set<std::size_t> changed;
  for (const auto* list : {&comparison.differences, &comparison.alike}) {
    for (const auto& [node, found] : *list) {
      for (report::Json& one : report::json_of(*nodes[node])["findings"]) {
        if (text_of(one, "id") != found.id || text_of(one, "subject") != found.subject) continue;
        const std::string before = text_of(one, "status");
        if (before != name(Status::skip) &&
            (before != name(Status::pass) || found.status == Status::pass)) {
          continue;
        }
        changed.insert(node);
        one["status"] = name(found.status);
        one["reason"] = "";
        one["expected"] = found.expected;
        one["expected_source"] = name(found.source);
        one["remedy"] = found.remedy;
        one["action"] = health::action_of(found);
      }
    }
  }
  for (const std::size_t node : changed) count_again(report::json_of(*nodes[node]));
  if (!comparison.words.empty()) tell(comparison.words);
}

int make_report(ReportOptions& options) {
  settle_format(options);
  const std::string& format = options.format;
  check_writable(options.output);
  std::vector<Document> documents;
  std::vector<std::string> left_out;
  for (const std::string& file : options.files) {
    report::FolderDocuments read;
    if (file == "-") {
      read.documents = report::parse_documents(read_standard_input(report::ReadLimits().file_bytes),
                                               "standard input", options.program);
    } else {
      read = report::read_folders({file}, {".json", ".jsonl"}, options.program);
    }
    std::move(read.documents.begin(), read.documents.end(), std::back_inserter(documents));
    std::move(read.left_out.begin(), read.left_out.end(), std::back_inserter(left_out));
  }
  compare_nodes(documents);
  write_page(options, report::to_format(documents, format),
             [&] { return report::to_markdown(documents); });
  for (const Document& document : documents) {
    for (const std::string& note : document.notes) {
      tell(fmt::format("{}: {}", document.source, note));
    }
  }
  return tell_left_out(left_out);
}

}  // namespace

void add_report(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<ReportOptions>(
      app, command, "report",
      "Make one page, or JUnit, Prometheus, CSV or Markdown, of saved results",
      "FILE is the JSON or JSON Lines, also of a run that was killed, of these commands:\n" +
          known_commands() +
          ";\n"
          "and what these tools printed:\n" +
          import::known_tools() +
          ".\n"
          "'-' is standard input, a folder stands for its *.json and *.jsonl, or, without them, for its\n"
          "*.txt, *.log and *.out. Several files come into one report: curves into the same chart, the\n"
          "checks of many nodes into one list. Of three nodes of one model or more each is compared with the\n"
          "others: fewer devices, ports, GPUs, NVLinks or memory FAIL, what else differs is WARN.\n"
          "\n"
          "Formats:\n"
          "  html        one file that needs no network and no server: heat map of node pairs on a fixed\n"
          "              scale with those that stand out named, curves, findings with remedies,\n"
          "              environments; has a dark mode, fits a phone and paper, works by keyboard\n"
          "  junit       a testcase for each finding, measurement and cell, for CI\n"
          "  prometheus  gauges for node_exporter's textfile collector; --output replaces at once\n"
          "  csv         a row for each measurement and each judgement\n"
          "  markdown    for a chat or an issue\n"
          "\n"
          "Exit codes: 0 written, also where documents have failures; 1 it could not be written; 2 a file\n"
          "is not a document of rdmabench (file and line are named); of a folder the others are written.\n"
          "\n"
          "Examples:\n"
          "  rdmabench report fabric.jsonl node*.json -o report.html\n"
          "  rdmabench report doctor.json -o doctor.xml\n"
          "  rdmabench report night.json -o /var/lib/node_exporter/rdmabench.prom\n"
          "  rdmabench bw node2 --format json | rdmabench report - --format markdown",
      make_report);
  const OptionGroup group(sub);
  group.operand("FILE", options.files, "results, or folders of them; may be many")->required();
  add_formats(group, options,
              {{"html", ".html"},
               {"junit", ".xml"},
               {"prometheus", ".prom"},
               {"csv", ".csv"},
               {"markdown", ".md"},
               {"html", ".htm"}});
  add_program(group, options.program);
}

}  // namespace rdmabench::inline v1::tools
