#include "output.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools::ucx_perftest {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;

/// Of all threads.
struct Whole {
  double iterations = 0;
  double percentile_us = 0;
  double us = 0;  ///< of an iteration of one thread
  double bytes = 0;
  double threads = 1;
  bool complete = false;

  double messages_per_s() const { return us > 0 ? threads * kNsPerSecond / kNsPerUs / us : 0; }
  double megabytes_per_s() const { return bytes * messages_per_s() / kMebibyte; }
};

template <class Row>
Whole whole_of(const Row& row, const Options& options) {
  Whole all;
  all.threads = options.config.traffic.threads;
  all.iterations = static_cast<double>(row.iterations);
  all.bytes = static_cast<double>(row.size_bytes);
  all.complete = row.complete;
  if constexpr (requires { row.latency; }) {
    all.percentile_us = row.latency.*options.percentile.member / kNsPerUs;
    all.us = row.latency.mean_ns / kNsPerUs;
  } else if (row.messages_per_s > 0) {
    all.us = all.threads * kNsPerSecond / kNsPerUs / row.messages_per_s;
  }
  return all;
}

/// As printf's ' flag does in English.
std::string grouped(double value, int width) {
  std::string digits = fmt::format("{:.0f}", value);
  constexpr std::size_t kGroup = 3;
  for (std::size_t at = digits.size(); at > kGroup;) digits.insert(at -= kGroup, ",");
  return fmt::format("{:>{}}", digits, width);
}

std::string count(double value, int width, const Options& options) {
  return options.groups_digits ? grouped(value, width) : fmt::format("{:{}.0f}", value, width);
}

std::string csv(const Whole& all, bool of_threads) {
  const double rate = all.megabytes_per_s();
  const double messages = all.messages_per_s();
  if (of_threads) {
    return fmt::format("{:4.0f},{:.3f},{:.2f},{:.0f}\n", all.iterations, all.us, rate, messages);
  }
  return fmt::format("{:4.0f},{:.3f},{:.3f},{:.3f},{:.2f},{:.2f},{:.0f},{:.0f}\n", all.iterations,
                     all.percentile_us, all.us, all.us, rate, rate, messages, messages);
}

std::string row_of(Whole all, const Options& options) {
  const bool of_threads = all.threads > 1 && all.complete;
  if (of_threads) all.iterations /= all.threads;
  const std::string_view cut = "[thread 0]";
  if (options.csv) return std::string(all.complete ? "" : cut) + csv(all, of_threads);
  const std::string label(!all.complete ? cut : options.final_only ? "          " : "Final:    ");
  const double rate = all.megabytes_per_s();
  const double messages = all.messages_per_s();
  const std::string first = label + count(all.iterations, 18, options);
  if (of_threads) {
    return fmt::format("{} {:29.3f} {:22.2f} {}\n", first, all.us, rate,
                       count(messages, options.groups_digits ? 24 : 23, options));
  }
  return fmt::format("{} {:10.3f} {:9.3f} {:9.3f} {:11.2f} {:10.2f} {} {}\n", first,
                     all.percentile_us, all.us, all.us, rate, rate, count(messages, 11, options),
                     count(messages, 11, options));
}

}  // namespace

std::string heading(const Options& options) {
  if (options.csv) {
    return fmt::format(
        "iterations,{:.1f}_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,"
        "overall_mr\n",
        options.percentile.rank);
  }
  const auto rule = [](std::initializer_list<int> widths) {
    std::string line = "+";
    for (const int width : widths) line += std::string(static_cast<std::size_t>(width), '-') + '+';
    return line + '\n';
  };
  const std::string columns = rule({14, 14, 10, 9, 9, 10, 10, 11, 11});
  return rule({14, 14, 30, 21, 23}) +
         fmt::format(
             "|              |              |       {:>8} (usec)        |   bandwidth (MB/s)  |"
             "  message rate (msg/s) |\n",
             options.test->heading) +
         columns +
         fmt::format(
             "|    {:>5}     | # iterations | {:4.1f}%ile | average | overall |  average |"
             "  overall |  average  |  overall  |\n",
             options.final_only ? "Test" : "Stage", options.percentile.rank) +
         columns;
}

std::string result_row(const report::Report& report, const Options& options) {
  return std::visit(
      [&](const auto& rows) -> std::string {
        if constexpr (requires { rows.front().load; }) {
          return "";
        } else {
          return rows.empty() ? "" : row_of(whole_of(rows.front(), options), options);
        }
      },
      report.results);
}

}  // namespace rdmabench::inline v1::tools::ucx_perftest
