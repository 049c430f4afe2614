#include "expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "expectation_rows.h"
#include "launches.h"
#include "line_rate.h"
#include "measure/limit.h"
#include "quantity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "rdmabench/report/text_table.h"
#include "row.h"

namespace rdmabench::report {
namespace {

using Of = Expectation::Of;

struct Limit {
  double value = kNone;
  std::string origin;  ///< how it was computed, or why it could not be
};

/// The rate is that of a thread's queue pairs, which the transport opens; where they use fewer
/// ports than a bond has, another thread's may use the same ones or others.
bool threads_share_a_bond(const Document& document) {
  const Json& resolved = object_of(document.body, "resolved");
  const std::string device = text_of(resolved, "device");
  const auto devices = 1 + std::count(device.begin(), device.end(), ',');
  const std::string threads = asked_for(document, "threads");
  return std::strtod(threads.c_str(), nullptr) > static_cast<double>(devices) &&
         text_of(object_of(resolved, "details"), "rate_of_bond") == "true";
}

Limit line_limit(const Judged& of) {
  LineRate line = line_rate(object_of(of.document.body, "resolved"));
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

Limit baseline_limit(const Expectation& expectation, const std::optional<Logs>& baseline,
                     const Measure& measure) {
  if (!baseline)
    return {.value = kNone, .origin = "the baseline has no such row with a value above 0"};
  return {
      .value = baseline->value,
      .origin = fmt::format(
          "{} of {}{}", measure.text(baseline->value), expectation.baseline,
          baseline->logs.size() > 1 ? fmt::format(" ({} launches)", baseline->logs.size()) : "")};
}

Limit limit_of(const Expectation& expectation, const Judged& of,
               const std::optional<Logs>& baseline, const Measure& measure) {
  if (expectation.of == Of::absolute) return {.value = expectation.value, .origin = {}};
  Limit whole =
      expectation.of == Of::line ? line_limit(of) : baseline_limit(expectation, baseline, measure);
  if (std::isfinite(whole.value)) {
    whole.origin = fmt::format("{:.4g} % of {}", expectation.value * 100, whole.origin);
    whole.value *= expectation.value;
  }
  return whole;
}

/// A row with a limit, and how far apart they are.
struct Case {
  std::string row;
  Logs measured;
  std::optional<Logs> baseline;
  double usual;  ///< deviation of runs
  Limit limit;
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
  if (!std::isfinite(one.limit.value)) return;
  const bool is_below = one.value < one.limit.value;
  one.keeps = one.value == one.limit.value || is_below != at_least;
  double within = is_below ? one.measured.above : one.measured.below;
  one.few_samples = std::isinf(within) && one.keeps;
  constexpr double kOfFewSamples = 0.1;  // what breaks the limit by far fails all the same
  if (std::isinf(within) && !one.keeps) within = kOfFewSamples;
  one.distance = measure::distance({one.measured.logs, within}, std::log(one.limit.value),
                                   one.held(), one.usual);
  one.to_pass = at_least ? one.distance.chance_above() : one.distance.chance_below();
  one.to_fail = at_least ? one.distance.chance_below() : one.distance.chance_above();
  if (one.distance.error == 0 && one.distance.difference == 0) one.to_pass = 0;
}

/// The rows that an expectation is for; of those that keep it for sure the first kMostJudged, for a
/// fabric has millions.
struct Cases {
  Cases(const Document& document, std::span<const Document> launches, const Expectation& expected,
        std::vector<double>& chances)
      : of(expected), measure(*measure_of(key_of(of.quantity))) {
    const std::string_view key = key_of(of.quantity);
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
      if (of.rows) {
        const auto same = of.rows->find(identity_of(judged, false));
        if (same != of.rows->end()) baseline.emplace(same->second);
      }
      Limit limit = limit_of(of, judged, baseline, measure);
      Case one{{}, measured, std::move(baseline), usual_of(key), std::move(limit)};
      compare(one, of.at_least);
      if (std::isfinite(one.limit.value)) {
        any_limit = true;
        one.at = chances.size();
        chances.push_back(one.to_fail);
      }
      if (one.passes() && ++passing > kMostJudged) return;
      one.row = row_text(row);
      list.push_back(std::move(one));
    });
  }

  const Expectation& of;
  Measure measure;
  std::vector<Case> list{};
  std::size_t passing = 0;
  bool any = false;
  bool any_limit = false;
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

/// `together`: how many rows were judged with this one.
Json judge(const std::string& expectation, const Case& one, Status status, std::size_t together,
           const Measure& measure) {
  const auto reach = [&](double within) {
    return measure::distance({one.measured.logs, within}, 0, one.held(), one.usual).reach();
  };
  const double low = one.value * std::exp(-reach(one.measured.below));
  const double high = one.value * std::exp(reach(one.measured.above));
  const std::size_t launches = one.measured.logs.size();
  std::string text = range_text(one.value, low, high, launches, measure);
  Json needed = nullptr;
  if (!std::isfinite(one.limit.value)) {
    text += "; " + one.limit.origin;
  } else {
    text += fmt::format(", limit {}{}", measure.text(one.limit.value),
                        one.limit.origin.empty() ? "" : ": " + one.limit.origin);
    if (status == Status::open && one.few_samples) {
      text += "; a longer run would decide: there are too few samples for it";
    } else if (status == Status::open) {
      if (one.to_fail <= measure::kFalse) {
        text += fmt::format("; among {} rows chance may do that", together);
      }
      const double chance = measure::kFalse / (one.keeps ? 1 : static_cast<double>(together));
      needed = measure::launches_to_decide(one.distance, chance);
      text += fmt::format("; about {} launches{} would decide", needed.get<std::uint32_t>(),
                          one.baseline ? " of each side" : "");
    }
  }
  Json judged = judgement(expectation, one.row, status, std::move(text));
  judged["value"] = finite(one.value);
  judged["low"] = finite(low);
  judged["high"] = finite(high);
  judged["limit"] = finite(one.limit.value);
  judged["launches"] = launches;
  judged["launches_needed"] = needed;
  if (needed.is_number()) judged["more_runs"] = needed.get<std::size_t>() - launches;
  return judged;
}

std::string absent_text(const Expectation& expectation) {
  std::string text = fmt::format("no row that was measured has {}", expectation.quantity);
  if (expectation.least_size > 0) text += " at " + format_size(expectation.least_size);
  if (expectation.least_size > 0 && expectation.most_size > expectation.least_size) {
    text += " or more";
  }
  return text;
}

}  // namespace

Json judgement(std::string expectation, std::string row, Status status, std::string text) {
  return {{"expectation", std::move(expectation)},
          {"row", std::move(row)},
          {"status", name(status)},
          {"value", nullptr},
          {"low", nullptr},
          {"high", nullptr},
          {"limit", nullptr},
          {"launches", nullptr},
          {"launches_needed", nullptr},
          {"more_runs", nullptr},
          {"text", std::move(text)}};
}

void read_baseline(Expectation& expectation) {
  if (expectation.of != Of::baseline || expectation.rows) return;
  const std::vector<Document> documents = read_documents(expectation.baseline);
  const auto is_over = [](const Document& one) { return launches_of(one.body) > 1; };
  if (std::ranges::all_of(documents, is_over)) {
    throw Error(Fault::usage,
                expectation.baseline + ": it holds what launches had in common, and none of them",
                "Give the whole file that --launches wrote, with each launch's document.");
  }
  expectation.rows = std::make_shared<const LaunchValues>(
      launch_values(documents, key_of(expectation.quantity), true));
}

void judge_expectations(Document& document, std::span<const Expectation> expectations,
                        std::span<const Document> launches) {
  Json judged = Json::array();
  std::vector<std::pair<const Expectation*, std::string>> absent;  // and why
  bool profile_applies = false;
  std::vector<Expectation> read(expectations.begin(), expectations.end());
  std::vector<Cases> found;
  std::vector<double> chances;
  for (Expectation& one : read) {
    read_baseline(one);
    found.emplace_back(document, launches, one, chances);
  }
  const std::vector<double> adjusted = measure::holm(chances);
  for (const Cases& cases : found) {
    const Expectation& expectation = cases.of;
    struct Sort {
      Status status;
      const char* rest;
      std::vector<Json> rows{};
      std::size_t more = 0;
    };
    std::array<Sort, 3> sorts{Sort{Status::fail, "break it"}, Sort{Status::open, "are open"},
                              Sort{.status = Status::pass,
                                   .rest = "keep it",
                                   .more = cases.passing - std::min(cases.passing, kMostJudged)}};
    for (const Case& one : cases.list) {
      const bool known = std::isfinite(one.limit.value);
      const Status status = known ? outcome_of(one, adjusted[one.at]) : Status::open;
      Sort& sort = *std::ranges::find(sorts, status, &Sort::status);
      if (sort.rows.size() < kMostJudged) {
        sort.rows.push_back(judge(expectation.text, one, status, adjusted.size(), cases.measure));
      } else {
        ++sort.more;
      }
    }
    for (Sort& sort : sorts) {
      for (Json& one : sort.rows) judged.push_back(std::move(one));
      if (sort.more == 0) continue;
      judged.push_back(
          judgement(expectation.text, "", sort.status,
                    fmt::format("{} more rows {}, not listed here", sort.more, sort.rest)));
    }
    profile_applies |= cases.any && expectation.of_profile;
    if (!cases.any) {
      absent.emplace_back(&expectation, absent_text(expectation));
    } else if (expectation.of == Of::baseline && !cases.any_limit) {
      absent.emplace_back(&expectation, fmt::format("{} has none of the rows that were measured",
                                                    expectation.baseline));
    }
  }
  for (const auto& [expectation, why] : absent) {
    const bool open = expectation->of_profile && profile_applies;
    judged.push_back(judgement(expectation->text, "", open ? Status::open : Status::fail, why));
  }
  document.body["expectations"] = std::move(judged);
}

bool failed_expectation(const Document& document) {
  const Json& judged = list_of(document.body, "expectations");
  return std::any_of(judged.begin(), judged.end(), [](const Json& one) {
    return status_of(text_of(one, "status")) == Status::fail;
  });
}

std::string expectations_text(const Document& document) {
  constexpr std::size_t kMostShown = 8;  // rows of one expectation with one status
  std::string text;
  for (const std::string_view status :
       {name(Status::fail), name(Status::open), name(Status::pass)}) {
    std::map<std::string, std::size_t> rows;  // by expectation
    const auto add = [&](const std::string& expectation, const std::string& said) {
      text += terminal_safe(fmt::format("{} {}: {}", status, expectation, said)) + '\n';
    };
    for (const Json& one : list_of(document.body, "expectations")) {
      if (text_of(one, "status") != status) continue;
      const std::string row = text_of(one, "row");  // "": of the whole result
      const std::string expectation = text_of(one, "expectation");
      if (!row.empty() && ++rows[expectation] > kMostShown) continue;
      add(expectation, row + (row.empty() ? "" : ": ") + text_of(one, "text"));
    }
    for (const auto& [expectation, count] : rows) {
      if (count <= kMostShown) continue;
      add(expectation, fmt::format("{} more rows, listed in the JSON", count - kMostShown));
    }
  }
  return text;
}

}  // namespace rdmabench::report
