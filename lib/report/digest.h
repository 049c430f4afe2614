// What every writer of documents asks of them: what was judged, and what was measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_values.h"
#include "rdmabench/base/status.h"
#include "rdmabench/report/documents.h"
#include "report/number_column.h"

namespace rdmabench::report {

using Json = nlohmann::ordered_json;

/// "pass", "warn", ...
std::string word(Status status);

/// The order in which judgements are told.
inline constexpr std::array<Status, 6> kWorstFirst{Status::fail, Status::error, Status::warn,
                                                   Status::open, Status::skip,  Status::pass};
std::ptrdiff_t place_of(Status status) noexcept;

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

  /// Those of `keys` that the object has a value of.
  void add_details(const nlohmann::ordered_json& object, std::initializer_list<const char*> keys);
};

std::vector<Judgement> judgements(const Document& document);

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

/// The value of the fact of that name in a list of {"name", "value"}.
std::string fact_of(const nlohmann::ordered_json& facts, std::string_view name);

/// "node 3", and its host where the plan names it.
std::string host_of(const Document& fabric, std::uint64_t rank);
/// "mlx5_0", or "rail 1" where the plan names none.
std::string rail_of(const Document& fabric, std::uint64_t rank, std::uint64_t rail);

/// The hosts of a fabric's nodes, with the rank where several nodes are on one host.
class FabricNames {
 public:
  explicit FabricNames(const Document& fabric);
  std::string host(std::uint64_t rank) const;
  const Document& fabric() const { return fabric_; }

 private:
  const Document& fabric_;
  std::set<std::string> shared_;
};

/// A rank or the number of a rail; 0 where there is none.
std::uint64_t rank_in(const nlohmann::ordered_json& object, std::string_view key);

/// Who is at fault, by the part that the finding names.
std::string suspect_of(const FabricNames& names, const nlohmann::ordered_json& finding);

/// Whether the fact differs between any two machines, which says nothing.
bool is_own_fact(std::string_view name) noexcept;

/// A cell of a fabric's matrix, without what came of it.
Judgement cell_of(const Document& fabric, const PairMeasurement& pair);

/// A row of collectives, `body`: wrong, late, left out or fine.
Judgement judge_row(const nlohmann::ordered_json& row, const nlohmann::ordered_json& body);

/// What a side, "a" or "b", of a comparison or projection is called; "A" or "B" where the document
/// has no name.
std::string side_name(const nlohmann::ordered_json& body, std::string_view side);

/// Of a verdict, for people: "WORSE", "EQUIVALENT", "DIFFERENT BUT IMMATERIAL".
std::string verdict_text(std::string_view verdict, std::string_view direction);

/// As the exit code judges a cell of a comparison: what is DIFFERENT by itself alone, and not after
/// the correction for many quantities, does not fail.
Status status_of_cell(const nlohmann::ordered_json& body, const nlohmann::ordered_json& cell,
                      std::string_view direction);

/// "better", "worse" or empty, of a cell of a comparison; by its ratio where an older document does
/// not say.
std::string direction_of(const nlohmann::ordered_json& family, const nlohmann::ordered_json& cell);

/// The text with other words in place of some characters.
std::string replaced(std::string_view text,
                     std::initializer_list<std::pair<char, std::string_view>> words);

/// Every character that could begin markup is escaped; a line break would end a row of a table. A
/// zero-width space after an @ keeps a host's name from calling a person.
std::string escaped_for_markdown(std::string_view text);

/// The page of a decision as Markdown, its question as a heading of that level.
std::string decision_markdown(const nlohmann::ordered_json& body, std::size_t level);
/// The same as text of 80 columns.
std::string decision_text(const nlohmann::ordered_json& body);

// What comparisons, projections and decisions judge.

/// A verdict of all, and one of each quantity; by what the comparison was asked to fail on.
std::vector<Judgement> judge_comparison(const Document& document);

/// Of each row, none of which fails: a difference is what was asked for.
std::vector<Judgement> judge_projection(const Document& document);

/// The answer, and what each section of the page says. No answer fails.
std::vector<Judgement> judge_decision(const Document& document);

/// The text of a phrase of a decision's page, and of each phrase in a list.
std::string said(const nlohmann::ordered_json& object, std::string_view key);
std::vector<std::string> all_said(const nlohmann::ordered_json& object, std::string_view key);

// A fabric's pairs by node: what each gives as sender and as receiver.

/// The medians over a node's partners, of one metric and size on one rail.
struct NodeMedian {
  std::uint32_t rank = 0;
  std::uint32_t rail = 0;
  bool latency = false;
  std::uint64_t size_bytes = 0;
  double as_sender = 0;  ///< bits per second or nanoseconds; 0 = it never was one
  double as_receiver = 0;
  double typical = 0;  ///< median of all the measurements of that metric, size and rail
};

/// Confirming tests left out: they choose their pairs. Ordered by metric, size, rail and rank.
std::vector<NodeMedian> node_medians(const Document& fabric);

/// 1 = as the typical one, 0.5 = half as good: of latency the smaller is the better.
double relative(bool latency, double value, double typical);

}  // namespace rdmabench::report
