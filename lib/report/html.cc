#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "fabric_document.h"
#include "rdmabench/features.h"
#include "results/row.h"
#include "results/text_table.h"
#include "sections.h"

// web/report.html, as it lies in this program: page_template.cc.
extern "C" {
extern const char rdmabench_page_begin[];
extern const char rdmabench_page_end[];
}

namespace rdmabench::inline v1::report {
namespace {

/// Stands once in the page, where the data go.
constexpr std::string_view kDataMark = "@RDMABENCH_DATA@";

/// Errors of single cells that are told in words; a dead switch gives a million alike.
constexpr std::size_t kErrors = 2000;
constexpr std::size_t kPageRows = 20'000;  // of a table
constexpr std::size_t kMostPoints = 16;    // of what to look at first

/// Text that no word can leave: outside of strings JSON has none of these three, and inside \u003c
/// is the same. All that is not ASCII is escaped too, U+2028 among it.
std::string to_script_text(const Json& json) {
  return replaced(json.dump(-1, ' ', true, Json::error_handler_t::replace),
                  {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string safe_words(std::string_view text) {
  return terminal_safe(text, "\t\r\n");
}

/// With the words of a document as they may be shown.
Json safe_words(const Json& json) {
  if (json.is_string()) return safe_words(std::string_view(json.get_ref<const std::string&>()));
  if (!json.is_structured()) return json;
  Json out = json.is_array() ? Json::array() : Json::object();
  if (json.is_array()) {
    for (const Json& item : json) out.push_back(safe_words(item));
  } else {
    for (const auto& [key, value] : json.items())
      out[safe_words(std::string_view(key))] = safe_words(value);
  }
  return out;
}

/// Four digits tell a page enough, and a million pairs are a million numbers.
Json rounded(double value) {
  return Json::parse(fmt::format("{:.5g}", value));
}

/// The pairs by metric, size and rail, each as columns: a tenth of what objects would take.
Json to_series(const std::vector<PairMeasurement>& pairs) {
  using Key = std::tuple<bool, std::uint64_t, std::uint32_t>;
  std::map<Key, std::vector<const PairMeasurement*>> groups;
  for (const PairMeasurement& pair : pairs) {
    groups[{pair.latency(), pair.size_bytes, pair.rail}].push_back(&pair);
  }
  Json list = Json::array();
  for (const auto& [key, group] : groups) {
    Json one{{"metric", std::get<0>(key) ? "latency" : "bandwidth"},
             {"size_bytes", std::get<1>(key)},
             {"rail", std::get<2>(key)},
             {"sender", Json::array()},
             {"receiver", Json::array()},
             {"value", Json::array()},
             {"confirming", Json::array()}};
    for (const PairMeasurement* const pair : group) {
      if (!pair->error.empty()) continue;
      if (pair->confirming) one["confirming"].push_back(one["value"].size());
      one["sender"].push_back(pair->sender);
      one["receiver"].push_back(pair->receiver);
      one["value"].push_back(rounded(pair->value));
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json to_errors(const std::vector<PairMeasurement>& pairs) {
  Json list = Json::array();
  for (const PairMeasurement& pair : pairs) {
    if (pair.error.empty()) continue;
    list.push_back({{"metric", pair.latency() ? "latency" : "bandwidth"},
                    {"size_bytes", pair.size_bytes},
                    {"sender", pair.sender},
                    {"receiver", pair.receiver},
                    {"rail", pair.rail},
                    {"round", pair.round},
                    {"confirming", pair.confirming},
                    {"error", list.size() < kErrors ? safe_words(std::string_view(pair.error))
                                                    : "as others"}});
  }
  return list;
}

Json to_object(const Document& document) {
  Json object{{"source", safe_words(std::string_view(document.source))},
              {"schema", document.schema},
              {"notes", safe_words(Json(document.notes))},
              {"body", safe_words(json_of(document))}};
  if (document.schema == kFabricSchema) {
    const FabricNames names(document);  // the page names rails too
    for (Json& node : object["body"]["nodes"]) {
      if (list_of(node, "rails").empty()) continue;
      std::uint64_t rail = 0;
      for (Json& one : node["rails"]) {
        one = safe_words(Json(names.rail(rank_in(node, "rank"), rail++)));
      }
    }
    object["series"] = to_series(document.pairs);
    object["errors"] = to_errors(document.pairs);
  }
  return object;
}

Json to_json(const Cell& cell) {
  const bool plain = !cell.status && cell.hint.empty() && cell.items.empty();
  if (plain) return safe_words(std::string_view(cell.text));
  Json object{{"text", cell.text}};
  if (cell.status) object["status"] = name(*cell.status);
  if (!cell.hint.empty()) object["hint"] = cell.hint;
  if (!cell.items.empty()) object["items"] = cell.items;
  return safe_words(object);
}

Json to_json(const Section& section) {
  const auto cells = [](const std::vector<Cell>& list) {
    return list_of_each(list, [](const Cell& cell) { return to_json(cell); });
  };
  const std::size_t shown = std::min(section.rows.size(), kPageRows);
  Json rows = list_of_each(std::span(section.rows).first(shown), [&](const TableRow& row) {
    return Json{{"cells", cells(row.cells)}, {"differs", row.differs}};
  });
  Json columns = list_of_each(section.columns, [](const Column& column) {
    return Json{{"name", safe_words(std::string_view(column.heading))}, {"number", column.number}};
  });
  Json words = cells(section.words);
  if (section.rows.empty() && section.left_out > 0) {
    words.push_back(fmt::format("{} more are left out.", section.left_out));
  }
  return {{"title", safe_words(std::string_view(section.title))},
          {"open", section.open},
          {"words", std::move(words)},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"left_out", section.left_out + section.rows.size() - shown}};
}

Json to_json(const Part& part) {
  const auto cells = [](const Cell& cell) { return to_json(cell); };
  const auto tables = [](const Section& section) { return to_json(section); };
  return {
      {"title", safe_words(std::string_view(part.title))},
      {"kind", part.kind},
      {"documents", part.documents},
      {"headlines", list_of_each(part.headlines, cells)},
      {"found", part.found.empty() ? Json(nullptr)
                                   : to_json(found_table(part.found, part.documents.size() > 1))},
      {"sections", list_of_each(part.sections, tables)}};
}

/// How many judgements have a status, and the worst ones, each in a line.
Json what_to_look_at_first(const std::vector<Part>& parts) {
  std::vector<const Found*> all;
  for (const Part& part : parts) {
    for (const Found& one : part.found) all.push_back(&one);
  }
  std::stable_sort(all.begin(), all.end(), [](const Found* a, const Found* b) {
    return place_of(a->first.outcome) < place_of(b->first.outcome);
  });
  Json counts = Json::array();
  for (const Status status : kWorstFirst) {
    const auto number = std::count_if(
        all.begin(), all.end(), [&](const Found* one) { return one->first.outcome == status; });
    if (number > 0) {
      counts.push_back(to_json(Cell(status, fmt::format("{} {}", number, name(status)))));
    }
  }
  const std::size_t shown = std::min(all.size(), kMostPoints);
  return {{"counts", std::move(counts)},
          {"points", list_of_each(std::span(all).first(shown),
                                  [](const Found* one) {
                                    return to_json(Cell(one->first.outcome, one->text()));
                                  })},
          {"more", all.size() - shown}};
}

}  // namespace

std::string to_html(std::span<const Document> documents, std::string_view generated) {
  const std::string_view page(rdmabench_page_begin, rdmabench_page_end);
  const std::size_t at = page.find(kDataMark);
  Json data{{"generated", generated}, {"version", RDMABENCH_VERSION}, {"documents", Json::array()}};
  for (const Document& document : documents) data["documents"].push_back(to_object(document));
  const std::vector<Part> all = parts(documents);
  data["first"] = what_to_look_at_first(all);
  Status worst = Status::pass;
  for (const Part& part : all) {
    for (const Found& one : part.found) worst = worse(worst, one.first.outcome);
  }
  data["title"] = safe_words(std::string_view(title_of(documents, worst)));
  data["parts"] = list_of_each(all, [](const Part& part) { return to_json(part); });
  std::string text(page.substr(0, at));
  text += to_script_text(data);
  text += page.substr(at + kDataMark.size());
  return text;
}

}  // namespace rdmabench::inline v1::report
