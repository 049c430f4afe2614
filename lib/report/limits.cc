#include "limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "fabric_document.h"
#include "launches.h"
#include "limits_rows.h"
#include "measure/limit.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "results/line_rate.h"
#include "results/row.h"
#include "results/text_table.h"

namespace rdmabench::inline v1::report {
namespace {

using Of = Limit::Of;

struct Bound {
  double value = kNone;
  std::string origin;  ///< how it was computed, or why it could not be
};

/// The rate is that of a thread's queue pairs, which the transport opens; where they use fewer
/// ports than a bond has, another thread's may use the same ones or others.
bool threads_share_a_bond(const Document& document) {
  const Json& resolved = object_of(json_of(document), "resolved");
  const std::string device = text_of(resolved, "device");
  const auto devices = 1 + std::count(device.begin(), device.end(), ',');
  const std::string threads = asked_for(document, "threads");
  return std::strtod(threads.c_str(), nullptr) > static_cast<double>(devices) &&
         text_of(object_of(resolved, "details"), "rate_of_bond") == "true";
}

Bound line_bound(const Judged& of) {
  LineRate line = line_rate(object_of(json_of(of.document), "resolved"));
  if (of.row.kind == "pair") {
    const std::string pattern = label_of(of.row, "pattern");
    if (pattern == "one-to-many" || pattern == "many-to-one") {
      return {.value = kNone, .origin = "several flows share a link in the pattern " + pattern};
    }
    return {.value = value_of(of.row, "line_bits_per_s"),
            .origin = of.row.line_origin.empty() ? line.origin : of.row.line_origin};
  }
  if (!std::isfinite(line.bits_per_s)) return {.value = kNone, .origin = line.origin};
  if (threads_share_a_bond(of.document)) {
    return {.value = kNone,
            .origin =
                "which ports of a bond several threads use is not known: give an absolute "
                "limit, or each thread as many queue pairs as the bond has ports"};
  }
  const bool both = label_of(of.row, "direction") == "both_ways";
  return {.value = line.bits_per_s * (both ? 2 : 1),
          .origin = fmt::format("{}{}", line.origin, both ? ", both ways" : "")};
}

/// Logs of launches' values, and how far each interval reaches within its run.
struct Logs {
  double value = kNone;  ///< the geometric mean
  std::vector<double> logs;
  double below = 0;  ///< standard errors; infinite where too few samples bound that end
  double above = 0;

  explicit Logs(std::span<const RowValue> values) {
    constexpr double kLeast = 1e-30;  // in place of 0, which has no log
    for (const RowValue& one : values) {
      const double log = std::log(std::max(one.value, kLeast));
      logs.push_back(log);
      if (std::isnan(one.low)) continue;
      below = std::max(below, one.low > 0 ? (log - std::log(one.low)) / kNormal95 : HUGE_VAL);
      above = std::max(above, (std::log(one.high) - log) / kNormal95);
    }
    value = values.size() == 1 ? values[0].value : std::exp(measure::mean(logs));
  }
};

Bound baseline_bound(const Limit& limit, const std::optional<Logs>& baseline,
                     const Measure& measure) {
  if (!baseline)
    return {.value = kNone, .origin = "the baseline has no such row with a value above 0"};
  return {
      .value = baseline->value,
      .origin = fmt::format(
          "{} of {}{}", measure.text(baseline->value), limit.baseline,
          baseline->logs.size() > 1 ? fmt::format(" ({} launches)", baseline->logs.size()) : "")};
}

Bound bound_of(const Limit& limit, const Judged& of, const std::optional<Logs>& baseline,
               const Measure& measure) {
  if (limit.of == Of::absolute) return {.value = limit.value, .origin = {}};
  Bound whole = limit.of == Of::line ? line_bound(of) : baseline_bound(limit, baseline, measure);
  if (std::isfinite(whole.value)) {
    whole.origin = fmt::format("{:.4g} % of {}", limit.value * 100, whole.origin);
    whole.value *= limit.value;
  }
  return whole;
}

/// A row with a limit, and how far apart they are.
struct Case {
  std::string row;
  std::string cause{};  ///< cause_of()
  Logs measured;
  std::optional<Logs> baseline;
  double usual;  ///< deviation of runs
  Bound bound;
  double value = measured.value;
  bool keeps = false;        ///< by the value alone
  bool few_samples = false;  ///< towards the limit: only longer runs decide
  measure::Distance distance{};
  double to_pass = 1;  ///< the chance of such a value where the truth is at the limit
  double to_fail = 1;
  std::size_t at = 0;  ///< of the chances that are judged together, where there is a limit

  bool passes() const { return to_pass <= measure::kFalse && !few_samples; }
  measure::LaunchLogs held() const {
    if (!baseline) return {};
    const auto bounded = [](double within) { return std::isinf(within) ? 0 : within; };
    return {baseline->logs, std::max(bounded(baseline->below), bounded(baseline->above))};
  }
};

double usual_of(std::string_view key) {
  const bool tail =
      key.ends_with("p999_ns") || key.ends_with("p9999_ns") || key.ends_with("max_ns");
  return tail ? measure::kUsualOfTails : measure::kUsualDeviation;
}

void compare(Case& one, bool at_least) {
  if (!std::isfinite(one.bound.value)) return;
  const bool is_below = one.value < one.bound.value;
  one.keeps = one.value == one.bound.value || is_below != at_least;
  double within = is_below ? one.measured.above : one.measured.below;
  one.few_samples = std::isinf(within) && one.keeps;
  constexpr double kOfFewSamples = 0.1;  // what breaks the limit by far fails all the same
  if (std::isinf(within) && !one.keeps) within = kOfFewSamples;
  one.distance = measure::distance({one.measured.logs, within}, std::log(one.bound.value),
                                   one.held(), one.usual);
  one.to_pass = at_least ? one.distance.chance_above() : one.distance.chance_below();
  one.to_fail = at_least ? one.distance.chance_below() : one.distance.chance_above();
  if (one.distance.error == 0 && one.distance.difference == 0) one.to_pass = 0;
}

/// The rows that a limit is for; of those that keep it for sure the first kMostJudged, for a
/// fabric has millions.
struct Cases {
  Cases(const Document& document, std::span<const Document> launches, const Limit& expected,
        std::vector<double>& chances)
      : of(expected),
        of_fabric(document.schema == kFabricSchema),
        measure(*measure_of(key_of(of.quantity))) {
    const std::string_view key = key_of(of.quantity);
    std::optional<FabricNames> names;
    if (of_fabric) names.emplace(document);
    const LaunchValues values =
        launches.empty() ? LaunchValues() : launch_values(launches, key, false);
    for_each_measured(document, [&](const Measured& row) {
      if (!has_size(of, row) || !std::isfinite(value_of(row, key))) return;
      const Judged judged{document, row};
      if (!counts(judged, key)) return;
      any = true;
      if (row.replaced) return;  // many flows at once may have slowed it; the later value decides
      const auto found = values.empty() ? values.end() : values.find(identity_of(judged, true));
      const Logs measured =
          found != values.end() ? Logs(found->second) : Logs(std::array{row_value(row, key)});
      std::optional<Logs> baseline;
      if (of.read) {
        const auto same = of.read->rows.find(identity_of(judged, false));
        if (same != of.read->rows.end()) baseline.emplace(same->second);
      }
      Bound bound = bound_of(of, judged, baseline, measure);
      Case one{{}, {}, measured, std::move(baseline), usual_of(key), std::move(bound)};
      compare(one, of.at_least);
      if (std::isfinite(one.bound.value)) {
        any_bound = true;
        one.at = chances.size();
        chances.push_back(one.to_fail);
      }
      if (one.passes() && ++passing > kMostJudged) return;
      one.row = row_text(row, names ? &*names : nullptr);
      if (names) one.cause = cause_of(*names, object_of(json_of(document), "verdict"), row);
      list.push_back(std::move(one));
    });
  }

  const Limit& of;
  bool of_fabric;
  Measure measure;
  std::vector<Case> list{};
  std::size_t passing = 0;
  bool any = false;
  bool any_bound = false;
};

Status outcome_of(const Case& one, double adjusted) {
  if (one.passes()) return Status::pass;
  return adjusted <= measure::kFalse ? Status::fail : Status::open;
}

/// "185 Gb/s over 5 launches (180 Gb/s to 190 Gb/s)"
std::string range_text(double value, double low, double high, std::size_t launches,
                       const Measure& measure) {
  return fmt::format("{} {} ({} to {}{})", measure.text(value),
                     launches == 1 ? "in one run" : fmt::format("over {} launches", launches),
                     measure.text(low), std::isfinite(high) ? measure.text(high) : "unknown",
                     launches < measure::kLaunchesToJudge ? " as runs vary" : "");
}

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// `together`: how many rows were judged with this one.
LimitFinding finding_of(const std::string& limit, const Case& one, Status status,
                        std::size_t together, const Measure& measure) {
  const auto reach = [&](double within) {
    return measure::distance({one.measured.logs, within}, 0, one.held(), one.usual).reach();
  };
  const double low = one.value * std::exp(-reach(one.measured.below));
  const double high = one.value * std::exp(reach(one.measured.above));
  const std::size_t launches = one.measured.logs.size();
  LimitFinding found{.limit = limit,
                     .row = one.row,
                     .status = status,
                     .text = range_text(one.value, low, high, launches, measure),
                     .value = if_finite(one.value),
                     .low = if_finite(low),
                     .high = if_finite(high),
                     .bound = if_finite(one.bound.value),
                     .launches = static_cast<std::uint32_t>(launches)};
  if (!found.bound) {
    found.text += "; " + one.bound.origin;
    return found;
  }
  found.text += fmt::format(", limit {}{}", measure.text(one.bound.value),
                            one.bound.origin.empty() ? "" : ": " + one.bound.origin);
  if (status != Status::open) return found;
  if (one.few_samples) {
    found.text += "; a longer run would decide: there are too few samples for it";
    return found;
  }
  if (one.to_fail <= measure::kFalse) {
    found.text += fmt::format("; among {} rows chance may do that", together);
  }
  const double chance = measure::kFalse / (one.keeps ? 1 : static_cast<double>(together));
  found.launches_needed = measure::launches_to_decide(one.distance, chance);
  found.text += fmt::format("; about {} launches{} would decide", *found.launches_needed,
                            one.baseline ? " of each side" : "");
  return found;
}

std::string absent_text(const Limit& limit) {
  std::string text = fmt::format("no row that was measured has {}", limit.quantity);
  if (limit.least_size > 0) text += " at " + format_size(limit.least_size);
  if (limit.least_size > 0 && limit.most_size > limit.least_size) {
    text += " or more";
  }
  return text;
}

}  // namespace

Json to_json(const LimitFinding& finding) {
  const std::optional<std::uint32_t>& needed = finding.launches_needed;
  return {{"expectation", finding.limit},
          {"row", finding.row},
          {"status", name(finding.status)},
          {"value", or_null(finding.value)},
          {"low", or_null(finding.low)},
          {"high", or_null(finding.high)},
          {"limit", or_null(finding.bound)},
          {"launches", or_null(finding.launches)},
          {"launches_needed", or_null(needed)},
          {"more_runs", needed ? Json(*needed - finding.launches.value_or(0)) : Json(nullptr)},
          {"text", finding.text}};
}

void read_baseline(Limit& limit) {
  if (limit.of != Of::baseline || limit.read) return;
  const std::vector<Document> documents = read_documents(limit.baseline);
  const auto is_over = [](const Document& one) { return launches_of(json_of(one)) > 1; };
  if (std::ranges::all_of(documents, is_over)) {
    throw Error(Fault::usage,
                limit.baseline + ": it holds what launches had in common, and none of them",
                "Give the whole file that --launches wrote, with each launch's document.");
  }
  limit.read = std::make_shared<const Baseline>(
      Baseline{launch_values(documents, key_of(limit.quantity), true)});
}

std::vector<LimitFinding> judge(Document& document, const std::vector<Limit>& limits,
                                std::span<const Document> launches) {
  std::vector<LimitFinding> findings;
  std::vector<std::string> causes;                           // of the first of them
  std::vector<std::pair<const Limit*, std::string>> absent;  // and why
  bool profile_applies = false;
  std::vector<Limit> read = limits;
  std::vector<Cases> found;
  std::vector<double> chances;
  for (Limit& one : read) {
    read_baseline(one);
    found.emplace_back(document, launches, one, chances);
  }
  const std::vector<double> adjusted = measure::holm(chances);
  for (const Cases& cases : found) {
    const Limit& limit = cases.of;
    struct Sort {
      Status status;
      const char* rest;
      std::vector<LimitFinding> rows{};
      std::vector<std::string> causes{};
      std::size_t more = 0;
    };
    std::array<Sort, 3> sorts{Sort{Status::fail, "break it"}, Sort{Status::open, "are open"},
                              Sort{.status = Status::pass,
                                   .rest = "keep it",
                                   .more = cases.passing - std::min(cases.passing, kMostJudged)}};
    for (const Case& one : cases.list) {
      const bool known = std::isfinite(one.bound.value);
      const Status status = known ? outcome_of(one, adjusted[one.at]) : Status::open;
      Sort& sort = *std::ranges::find(sorts, status, &Sort::status);
      if (sort.rows.size() < kMostJudged) {
        sort.rows.push_back(finding_of(limit.text, one, status, adjusted.size(), cases.measure));
        sort.causes.push_back(status == Status::fail      ? one.cause
                              : known || !cases.of_fabric ? ""
                                                          : one.bound.origin);
      } else {
        ++sort.more;
      }
    }
    for (Sort& sort : sorts) {
      causes.resize(findings.size());
      std::move(sort.rows.begin(), sort.rows.end(), std::back_inserter(findings));
      std::move(sort.causes.begin(), sort.causes.end(), std::back_inserter(causes));
      if (sort.more == 0) continue;
      findings.push_back(
          {.limit = limit.text,
           .status = sort.status,
           .text = fmt::format("{} more rows {}, not listed here", sort.more, sort.rest)});
    }
    profile_applies |= cases.any && limit.of_profile;
    if (!cases.any) {
      absent.emplace_back(&limit, absent_text(limit));
    } else if (limit.of == Of::baseline && !cases.any_bound) {
      absent.emplace_back(
          &limit, fmt::format("{} has none of the rows that were measured", limit.baseline));
    }
  }
  for (const auto& [limit, why] : absent) {
    const bool open = limit->of_profile && profile_applies;
    findings.push_back(
        {.limit = limit->text, .status = open ? Status::open : Status::fail, .text = why});
  }
  Json& list = json_of(document)["expectations"];
  list = list_of_each(findings, [](const LimitFinding& one) { return to_json(one); });
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (!causes[i].empty()) list[i]["cause"] = causes[i];
  }
  return findings;
}

std::vector<LimitFinding> judge(const Report& report, const std::vector<Limit>& limits) {
  Document document = to_document(report);
  return judge(document, limits);
}

bool failed(const std::vector<LimitFinding>& findings) noexcept {
  return std::ranges::any_of(findings,
                             [](const LimitFinding& one) { return one.status == Status::fail; });
}

bool limits_failed(const Document& document) {
  const Json& judged = list_of(json_of(document), "expectations");
  return std::any_of(judged.begin(), judged.end(), [](const Json& one) {
    return status_of(text_of(one, "status")) == Status::fail;
  });
}

std::string limits_record(const Document& document) {
  const Json record{{"record", "expectations"},
                    {"expectations", list_of(json_of(document), "expectations")}};
  return record.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

std::string limits_text(const Document& document) {
  constexpr std::size_t kMostShown = 8;  // rows of one limit with one status
  std::string text;
  for (const std::string_view status :
       {name(Status::fail), name(Status::open), name(Status::pass)}) {
    std::map<std::string, std::size_t> rows;  // by limit
    // Rows that one cause explains are one line.
    std::map<std::pair<std::string, std::string>, std::size_t> alike;  // by limit and cause
    for (const Json& one : list_of(json_of(document), "expectations")) {
      const std::string cause = text_of(one, "cause");
      if (text_of(one, "status") == status && !cause.empty()) {
        ++alike[{text_of(one, "expectation"), cause}];
      }
    }
    const auto add = [&](const std::string& limit, const std::string& said) {
      text += terminal_safe(fmt::format("{} {}: {}", status, limit, said)) + '\n';
    };
    for (const Json& one : list_of(json_of(document), "expectations")) {
      if (text_of(one, "status") != status) continue;
      const std::string row = text_of(one, "row");  // "": of the whole result
      const std::string limit = text_of(one, "expectation");
      const std::string cause = text_of(one, "cause");
      if (const auto same = alike.find({limit, cause}); same != alike.end() && same->second != 1) {
        const std::size_t count = std::exchange(same->second, 0);
        if (count > 0) add(limit, fmt::format("{} pairs: {}", count, cause));
        continue;
      }
      if (!row.empty() && ++rows[limit] > kMostShown) continue;
      std::string said = text_of(one, "text");
      if (!cause.empty() && !said.ends_with(cause)) said += "; " + cause;
      add(limit, row + (row.empty() ? "" : ": ") + said);
    }
    for (const auto& [limit, count] : rows) {
      if (count <= kMostShown) continue;
      add(limit, fmt::format("{} more rows, listed in the JSON", count - kMostShown));
    }
  }
  return text;
}

}  // namespace rdmabench::inline v1::report
