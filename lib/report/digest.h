// What every writer of documents asks of them: what was judged, and what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_values.h"
#include "rdmabench/results/result.h"
#include "report/body.h"
#include "results/number_column.h"

namespace rdmabench::inline v1::report {

using Json = nlohmann::ordered_json;

/// "pass", "warn", ...
std::string word(Status status);

/// The order in which judgements are told.
inline constexpr std::array<Status, 6> kWorstFirst{Status::fail, Status::error, Status::warn,
                                                   Status::open, Status::skip,  Status::pass};
std::ptrdiff_t place_of(Status status) noexcept;
inline Status worse(Status a, Status b) noexcept {
  return place_of(b) < place_of(a) ? b : a;
}

struct Judgement {
  std::string group;    ///< "doctor.port", "fabric.node", "compare"
  std::string subject;  ///< of whom: a host, "host, mlx5_0:1", a pair
  std::string id;       ///< "port.state", "bandwidth 1M"
  Status outcome = Status::pass;
  std::string text{};    ///< why; may be empty where it passed
  std::string remedy{};  ///< what to do; may be empty
  std::string alike{};   ///< where many may be told as one: what all of them say
  /// Observed, expected, evidence, ...
  std::vector<std::pair<std::string, std::string>> details{};
  bool measured = false;  ///< a row of what was measured says the same
  bool finding = true;    ///< false of one measurement: of a run, of a fabric's pair
  bool headline = false;  ///< it judges the first sentence of its document

  /// Those of `keys` that the object has a value of.
  void add_details(const Json& object, std::initializer_list<const char*> keys);
};

std::vector<Judgement> judgements(const Document& document);

/// As one of `all`: none of a launch, whose findings the document of its file has that is over all
/// launches.
std::vector<Judgement> judgements(const Document& document, std::span<const Document> all);

/// One value of a measurement, by its key in the documents: "p50_ns", "bits_per_s".
using Value = std::pair<std::string_view, double>;
using Label = std::pair<std::string_view, std::string>;

struct Measured {
  std::string_view kind;  ///< "latency", "bandwidth", "load", "registration", "pair", "comparison",
                          ///< "projection", "collective"
  std::vector<Label> labels;
  std::vector<Value> values;
  std::string error;        ///< why there are none
  std::string line_origin;  ///< of a pair's "line_bits_per_s"
  bool replaced = false;    ///< a screening round's pair that a confirming round measured again
};

// For the functions that measure a kind of document.
using Keys = std::initializer_list<std::string_view>;
void add_label(Measured& measured, std::string_view key, std::string value);
/// `read` is text_of() or any_text_of().
void add_labels(Measured& measured, const Json& object,
                std::string (*read)(const Json&, std::string_view), Keys keys);
void add_values(Measured& measured, const Json& object, Keys keys);
/// A row's labels, and as values all else that is a number, or true or false.
void add_row(Measured& measured, const Json& row, Keys labels);

/// In the file's order. A visitor, because a fabric may have millions.
void for_each_measured(const Document& document, const std::function<void(const Measured&)>& visit);

// Beside the overloads for Fact.
using rdmabench::text_of;

/// The value of the fact of that name in a list of {"name", "value"}, or in an object.
std::string fact_of(const Json& facts, std::string_view name);

/// Whether the fact differs between any two machines, which says nothing.
bool is_own_fact(std::string_view name) noexcept;

}  // namespace rdmabench::inline v1::report
