#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launches.h"
#include "rdmabench/base/units.h"
#include "rdmabench/measure/statistics.h"
#include "results/row.h"
#include "sections.h"

namespace rdmabench::inline v1::report {
namespace {

struct Knees {
  std::uint64_t size_bytes = 0;
  std::size_t found = 0;  ///< in so many launches
  std::size_t unreliable = 0;
  /// Of a launch without a knee 0 where its lowest load was too high, and infinite where its
  /// highest was not enough.
  std::vector<double> rates{};
  std::vector<double> loads{};
};

void add_curve(std::vector<Knees>& sizes, const Json& body) {
  Knees* last = nullptr;
  for (const Json& row : list_of(body, "results")) {
    const auto size = static_cast<std::uint64_t>(number_of(row, "size_bytes"));
    if (last == nullptr || last->size_bytes != size) {
      auto known = std::ranges::find(sizes, size, &Knees::size_bytes);
      if (known == sizes.end()) known = sizes.insert(known, {size});
      last = &*known;
      last->rates.push_back(flag_of(row, "saturated") ? 0 : HUGE_VAL);
      last->loads.push_back(last->rates.back());
    }
    if (!flag_of(row, "knee_reliable")) ++last->unreliable;
    if (!flag_of(row, "knee")) continue;
    ++last->found;
    last->rates.back() = number_of(row, "offered_messages_per_s");
    last->loads.back() = number_of(row, "load");
  }
}

void put_median(Json& to, const std::string& key, const std::vector<double>& values) {
  const measure::Estimate median = measure::estimate_percentile(values, 50);
  to[key] = finite(median.value);
  to[key + "_low"] = finite(median.low);
  to[key + "_high"] = finite(median.high);
}

std::string bounded_text(const Json& knee, const std::string& key, double unit,
                         fmt::format_string<double&> format) {
  double value = number_of(knee, key) / unit;
  return value == 0          ? "below the lowest load"
         : std::isnan(value) ? "above the highest load"
                             : fmt::format(format, value);
}

}  // namespace

Json knees_of(std::span<const Document> launches) {
  std::vector<Knees> sizes;
  for (const Document& one : launches) {
    if (!ended_early(one))
      add_curve(sizes, json_of(one));  // a curve that was cut may lack its knee
  }
  return list_of_each(sizes, [](const Knees& one) {
    Json knee{{"size_bytes", one.size_bytes},
              {"launches", one.loads.size()},
              {"found", one.found},
              {"not_reliable", one.unreliable}};
    if (one.found < 2) return knee;
    put_median(knee, "messages_per_s", one.rates);
    put_median(knee, "load", one.loads);
    return knee;
  });
}

std::string knee_text(const Json& knee) {
  const double all = number_of(knee, "launches");
  const double found = number_of(knee, "found");
  std::string text =
      fmt::format("knee of {} in {:g} of {:g} launches: ", size_text(number_of(knee, "size_bytes")),
                  found, all);
  if (knee.contains("load")) {
    constexpr double kPercent = 0.01;
    text += fmt::format("{} ({} to {}), {} ({} to {}).",
                        bounded_text(knee, "messages_per_s", kMessagesPerMillion, "{:.3g} Mmsg/s"),
                        bounded_text(knee, "messages_per_s_low", kMessagesPerMillion, "{:.3g}"),
                        bounded_text(knee, "messages_per_s_high", kMessagesPerMillion, "{:.3g}"),
                        bounded_text(knee, "load", kPercent, "{:.0f} % of capacity"),
                        bounded_text(knee, "load_low", kPercent, "{:.0f}"),
                        bounded_text(knee, "load_high", kPercent, "{:.0f} %"));
    if (found < all) {
      text += " A launch without a knee counts as above its highest load, or as below its lowest.";
    }
    constexpr double kBounded = 6;  // launches for which 95 % can be claimed
    text += all < kBounded
                ? fmt::format(
                      " In brackets: minimum and maximum; with {:g} launches or more, the "
                      "95 % interval of the median.",
                      kBounded)
                : " In brackets: the 95 % interval of the median.";
  } else {
    text += "no interval.";
  }
  if (const double doubtful = number_of(knee, "not_reliable"); doubtful > 0) {
    text += fmt::format(" {:g} of {:g} curves are not reliable.", doubtful, all);
  }
  return text;
}

}  // namespace rdmabench::inline v1::report
