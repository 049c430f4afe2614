// The documents of decisions, whose page is drawn from its own sentences.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "compared.h"
#include "kinds.h"

namespace rdmabench::inline v1::report {

std::string said(const Json& object, std::string_view key) {
  return text_of(object_of(object, key), "text");
}

std::vector<std::string> all_said(const Json& object, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& one : list_of(object, key)) list.push_back(text_of(one, "text"));
  return list;
}

std::vector<Section> decision_sections(const Json& body) {
  std::vector<Section> all;
  for (const Json& part : list_of(object_of(body, "page"), "sections")) {
    std::string title = said(part, "title");
    for (const Json& block : list_of(part, "blocks")) {
      if (block.contains("chart")) continue;  // the table has it
      Section& section = all.emplace_back();
      section.title = std::exchange(title, "");
      const Json& command = object_of(block, "command");
      section.command = text_of(command, "line");
      const std::string small = fmt::format("{}", fmt::join(all_said(block, "small"), "; "));
      for (const std::string& words : {said(block, "sentence"), said(command, "why"), small}) {
        if (!words.empty()) section.words.emplace_back(words);
      }
      const Json& table = object_of(block, "table");
      for (const std::string& head : all_said(table, "heads")) {
        section.columns.push_back({head, !section.columns.empty() && !flag_of(table, "words")});
      }
      for (const Json& row : list_of(table, "rows")) {
        TableRow& cells = section.rows.emplace_back();
        for (const Json& one : row) cells.cells.emplace_back(text_of(one, "text"));
        cells.cells.resize(section.columns.size());
      }
    }
  }
  return all;
}

namespace {

std::vector<Judgement> judge_decision(const Document& document) {
  std::vector<Judgement> list;
  const Json& page = object_of(json_of(document), "page");
  if (const std::string without = text_of(json_of(document), "not_rdma"); !without.empty()) {
    list.push_back({"decide", said(page, "question"), "RDMA", Status::warn, without});
    list.back().headline = true;
  }
  const std::size_t before = list.size();
  for (const Section& section : decision_sections(json_of(document))) {
    if (!section.title.empty() || list.size() == before) {
      list.push_back({"decide", said(page, "question"),
                      section.title.empty() ? said(page, "answer") : section.title, Status::pass});
    }
    std::string& text = list.back().text;
    const auto add_line = [&text](const std::string& line) {
      text += (text.empty() ? "" : "\n") + line;
    };
    for (const Cell& words : section.words) add_line(words.text);
    if (!section.command.empty()) text += ' ' + section.command;
    for (const TableRow& row : section.rows) {
      std::string line;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        line += fmt::format("{}{}: {}", i == 0 ? "" : "; ", section.columns[i].heading,
                            row.cells[i].text);
      }
      add_line(line);
    }
  }
  return list;
}

}  // namespace

const DocumentKind kDecideKind{kDecideSchema, "Decision", "rows", "decide", judge_decision};

}  // namespace rdmabench::inline v1::report
