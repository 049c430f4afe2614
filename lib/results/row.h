// Rows and facts as JSON: the one model that every command's JSON and CSV are written from.
//
// A row is a JSON object. Its keys are the names in documents and the columns in CSV.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "number_column.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

using Json = nlohmann::ordered_json;

struct Percentile {
  std::string_view key;
  std::string_view name;  ///< in a table
  double percent;
  double measure::LatencySummary::*value;
  std::string_view low_key;
  std::string_view high_key;
  double measure::LatencySummary::*low;  ///< of its 95 % confidence interval
  double measure::LatencySummary::*high;
  std::string_view about{};
};
inline constexpr std::array<Percentile, 5> kPercentiles{{
    {"p50_ns", "p50", 50, &measure::LatencySummary::p50_ns, "median_low_ns", "median_high_ns",
     &measure::LatencySummary::median_low_ns, &measure::LatencySummary::median_high_ns,
     "Percentiles are nearest-rank: the sample at index ceil(p * n) of the sorted ones."},
    {"p90_ns", "p90", 90, &measure::LatencySummary::p90_ns, "p90_low_ns", "p90_high_ns",
     &measure::LatencySummary::p90_low_ns, &measure::LatencySummary::p90_high_ns},
    {"p99_ns", "p99", 99, &measure::LatencySummary::p99_ns, "p99_low_ns", "p99_high_ns",
     &measure::LatencySummary::p99_low_ns, &measure::LatencySummary::p99_high_ns},
    {"p999_ns", "p99.9", 99.9, &measure::LatencySummary::p999_ns, "p999_low_ns", "p999_high_ns",
     &measure::LatencySummary::p999_low_ns, &measure::LatencySummary::p999_high_ns, "99.9 %."},
    {"p9999_ns", "p99.99", 99.99, &measure::LatencySummary::p9999_ns, "p9999_low_ns",
     "p9999_high_ns", &measure::LatencySummary::p9999_low_ns,
     &measure::LatencySummary::p9999_high_ns, "99.99 %."},
}};

/// Null where the number is not finite.
Json finite(double value);

/// Null where nothing is known, which is written as 0 or less.
Json positive(double value);

/// Null where the text is empty.
Json text_or_null(const std::string& text);

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// A list of what `make` makes of each item.
template <class Items, class Make>
Json list_of_each(const Items& items, Make make) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(make(item));
  return list;
}

/// How a column stands in tables; without a heading it is in JSON and CSV alone.
struct Shown {
  std::string heading{};
  Scale scale{};        ///< of words none
  int dispensable = 0;  ///< in a text table
};

/// One column of a row. All that is known of it stands here: JSON, CSV, the schema
/// (docs/schema/rdmabench-1.schema.json), the text table, Markdown and the page are made of it.
struct Field {
  std::string_view key;  ///< empty: in the text table alone
  Json value;
  std::string_view kind;     ///< of the "$defs" of the schema
  std::string_view about{};  ///< description in the schema; may be empty
  Shown shown{};

  /// By which a table finds it in its row.
  std::string_view name() const { return key.empty() ? std::string_view(shown.heading) : key; }
};
using Fields = std::vector<Field>;

/// The minimum, the percentiles up to `most_percent`, the maximum, the mean, the standard deviation
/// and the intervals of those percentiles.
Fields latency_fields(const measure::LatencySummary& latency, double most_percent = 99.9);

/// Appends those of latency_fields() to `row`.
void add_latency(Json& row, const measure::LatencySummary& latency);

/// The keys of the percentiles up to `most_percent` that the samples do not support.
Json unsupported_percentiles(const measure::LatencySummary& latency, double most_percent = 99.9);

Json to_json(const Fact& fact);
Json to_object(const Facts& facts);
Json to_object(const Resolved& resolved);
/// A list of {"name", "value"}.
Json to_list(const Facts& facts);
Json to_list(const std::vector<Counter>& counters);

Json to_json(const Failure& failure);

/// One row of a document's "results". The keys and their order do not depend on the result.
Fields fields_of(const LatencyResult& result, const Resolved& resolved);
Fields fields_of(const BandwidthResult& result, const Resolved& resolved);
Fields fields_of(const LoadResult& result, const Resolved& resolved);

Json to_row(const Fields& fields);

/// The key "test", in the order of the variant of results.
inline constexpr std::array kTests{"latency", "bandwidth", "load"};

/// The body of to_document().
Json document_body(const Report& report);

/// A record of JSON Lines, in ASCII and ended by a newline.
std::string line_of(const Json& record);

/// A document's text, in ASCII: indented and ended by a newline. Bytes that are not UTF-8 become
/// U+FFFD.
std::string document_text(const Json& document);

}  // namespace rdmabench::inline v1::report
