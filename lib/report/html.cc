#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <map>
#include <string_view>
#include <tuple>

#include "digest.h"
#include "rdmabench/features.h"
#include "rdmabench/report/text_table.h"

// web/report.html, as it lies in this program: page_template.cc.
extern "C" {
extern const char rdmabench_page_begin[];
extern const char rdmabench_page_end[];
}

namespace rdmabench::report {
namespace {

/// Stands once in the page, where the data go.
constexpr std::string_view kDataMark = "@RDMABENCH_DATA@";

/// Errors of single cells that are told in words; a dead switch gives a million alike.
constexpr std::size_t kErrors = 2000;

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
              {"body", safe_words(document.body)}};
  if (document.schema == kFabricSchema) {
    object["series"] = to_series(document.pairs);
    object["errors"] = to_errors(document.pairs);
  }
  return object;
}

}  // namespace

std::string to_html(std::span<const Document> documents, std::string_view generated) {
  const std::string_view page(rdmabench_page_begin, rdmabench_page_end);
  const std::size_t at = page.find(kDataMark);
  Json data{{"generated", generated}, {"version", RDMABENCH_VERSION}, {"documents", Json::array()}};
  for (const Document& document : documents) data["documents"].push_back(to_object(document));
  std::string text(page.substr(0, at));
  text += to_script_text(data);
  text += page.substr(at + kDataMark.size());
  return text;
}

}  // namespace rdmabench::report
