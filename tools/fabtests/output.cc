#include "output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools::fabtests {
namespace {

struct Row {
  std::uint64_t size;
  std::uint64_t iterations;
  double elapsed_us;
  unsigned transfers;  ///< of an iteration

  double bytes() const { return static_cast<double>(size * iterations * transfers); }
  double megabytes_per_s() const { return bytes() / elapsed_us; }
  double us_per_transfer() const {
    return elapsed_us / static_cast<double>(iterations) / transfers;
  }
};

std::vector<Row> rows_of(const report::Report& report) {
  constexpr unsigned kThereAndBack = 2;
  std::vector<Row> rows;
  if (const auto* latency = std::get_if<std::vector<report::LatencyResult>>(&report.results)) {
    for (const report::LatencyResult& row : *latency) {
      const double us = row.latency.mean_ns * static_cast<double>(row.iterations) * kThereAndBack;
      rows.push_back({row.size_bytes, row.iterations, us / kNsPerUs, kThereAndBack});
    }
  } else {
    const auto* streams = std::get_if<std::vector<report::BandwidthResult>>(&report.results);
    if (streams == nullptr) return rows;
    for (const report::BandwidthResult& row : *streams) {
      rows.push_back({row.size_bytes, row.iterations, row.elapsed_ns / kNsPerUs, 1});
    }
  }
  return rows;
}

/// "64", "1.5k", "1m": in powers of two, with one decimal below ten.
std::string short_size(std::uint64_t size) {
  struct Unit {
    unsigned shift;
    const char* letter;
  };
  for (const Unit unit : {Unit{40, "t"}, Unit{30, "g"}, Unit{20, "m"}, Unit{10, "k"}}) {
    const std::uint64_t base = std::uint64_t{1} << unit.shift;
    if (size < base) continue;
    const std::uint64_t tenth = size / base < 10 ? size % base * 10 / base : 0;
    return tenth != 0 ? fmt::format("{}.{}{}", size / base, tenth, unit.letter)
                      : fmt::format("{}{}", size / base, unit.letter);
  }
  return fmt::format("{}", size);
}

/// "200", "10k", "2m": in powers of ten, cut off.
std::string short_count(std::uint64_t count) {
  if (count >= 1000000000) return fmt::format("{}b", count / 1000000000);
  if (count >= 1000000) return fmt::format("{}m", count / 1000000);
  if (count >= 1000) return fmt::format("{}k", count / 1000);
  return fmt::format("{}", count);
}

constexpr double kUsPerSecond = 1e6;

/// fi_pingpong has a column of what came back, with "=" where that is all.
std::string heading(const Options& options) {
  if (options.machine_readable) return fmt::format("---\n{} :\n", fmt::join(options.words, " "));
  const bool has_answers = options.test == Program::pingpong;
  return fmt::format("{:<8}{:<8}{}{:<8}{:>8} {:>10}{:>13}{:>13}\n", "bytes",
                     has_answers ? "#sent" : "iters", has_answers ? "#ack     " : "", "total",
                     "time", "MB/sec", "usec/xfer", "Mxfers/sec");
}

std::string line(const Row& row, bool has_answers) {
  const std::string count = short_count(row.iterations);
  return fmt::format("{:<8}{:<8}{}{:<8}{:>8.2f}s{:>10.2f}{:>11.2f}{:>11.2f}\n",
                     short_size(row.size), count, has_answers ? fmt::format("={:<8}", count) : "",
                     short_size(static_cast<std::uint64_t>(row.bytes())),
                     row.elapsed_us / kUsPerSecond, row.megabytes_per_s(), row.us_per_transfer(),
                     1 / row.us_per_transfer());
}

std::string record(const Row& row) {
  return fmt::format(
      "- {{ xfer_size: {}, iterations: {}, total: {:.0f}, time: {:f}, MB/sec: {:f}, "
      "usec/xfer: {:f}, Mxfers/sec: {:f} }}\n",
      row.size, row.iterations, row.bytes(), row.elapsed_us / kUsPerSecond, row.megabytes_per_s(),
      row.us_per_transfer(), 1 / row.us_per_transfer());
}

}  // namespace

std::string more_text(const report::Report& report, const Options& options, std::size_t& told) {
  const std::vector<Row> rows = rows_of(report);
  std::string text;
  for (; told < rows.size(); ++told) {
    if (told == 0) text = heading(options);
    text += options.machine_readable ? record(rows[told])
                                     : line(rows[told], options.test == Program::pingpong);
  }
  return text;
}

}  // namespace rdmabench::inline v1::tools::fabtests
