// What the output of ucx_perftest says of a run, in our words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/number.h"
#include "base/refuse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "ucx_perftest.h"

namespace rdmabench::inline v1::import {
namespace {

constexpr double kUcxMegabyte = 1024.0 * 1024.0;
constexpr std::uint64_t kUsualSize = 8;
constexpr double kKeptSamples = 2048;

struct UcxTest {
  std::string_view name;
  std::string_view title;      ///< of its server
  std::string_view operation;  ///< ours, or UCX's own word
};

/// Those of UCP, then those of UCT, the layer below. The longer one of two that begin alike is
/// first.
constexpr std::array kUcxTests{
    UcxTest{"tag_sync_lat", "tag sync match latency", "send-synchronous"},
    UcxTest{"tag_sync_bw", "tag sync match bandwidth", "send-synchronous"},
    UcxTest{"tag_lat", "tag match latency", "send"},
    UcxTest{"tag_bw", "tag match bandwidth", "send"},
    UcxTest{"stream_lat", "stream latency", "send-stream"},
    UcxTest{"stream_bw", "stream bandwidth", "send-stream"},
    UcxTest{"ucp_am_lat", "am latency", "send"},
    UcxTest{"ucp_am_bw", "am bandwidth / message rate", "send"},
    UcxTest{"ucp_put_lat", "put latency", "write"},
    UcxTest{"ucp_put_bw", "put bandwidth", "write"},
    UcxTest{"ucp_get", "get latency / bandwidth / message rate", "read"},
    UcxTest{"ucp_fadd", "atomic fetch-and-add latency / bandwidth / rate", "fetch-add"},
    UcxTest{"ucp_cswap", "atomic compare-and-swap latency / bandwidth / rate", "compare-swap"},
    UcxTest{"ucp_swap", "atomic swap latency / bandwidth / rate", "swap"},
    UcxTest{"ucp_add", "atomic add bandwidth / message rate", "add"},
    UcxTest{"am_lat", "active message latency", "send-active-message"},
    UcxTest{"am_bw", "active message bandwidth / message rate", "send-active-message"},
    UcxTest{"put_lat", "put latency", "write"},
    UcxTest{"put_bw", "put bandwidth / message rate", "write"},
    UcxTest{"add_lat", "atomic add latency", "add"},
    UcxTest{"add_mr", "atomic add message rate", "add"},
    UcxTest{"get_bw", "get bandwidth / message rate", "read"},
    UcxTest{"get", "get latency / bandwidth / message rate", "read"},
    UcxTest{"fadd", "atomic fetch-and-add latency / rate", "fetch-add"},
    UcxTest{"cswap", "atomic compare-and-swap latency / rate", "compare-swap"},
    UcxTest{"swap", "atomic swap latency / rate", "swap"}};
constexpr std::size_t kOfUcp = 15;

bool is_of_ucp(const UcxTest& test) {
  return static_cast<std::size_t>(&test - kUcxTests.data()) < kOfUcp;
}

const UcxTest* test_by_name(std::string_view name) noexcept {
  for (const UcxTest& test : kUcxTests) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

const UcxTest* test_by_title(const UcxRun& run) {
  const std::string title = run.fact("Test");
  const bool lower_layer = run.fact("API") == "transport layer";
  for (const UcxTest& test : kUcxTests) {
    if (test.title == title && is_of_ucp(test) != lower_layer) return &test;
  }
  return nullptr;
}

/// Of "ucp_contig_tag_lat/64", a name that a user gave it: the longest test within.
const UcxTest* test_in_batch(const std::string& name) {
  if (has(name, "_sync_")) return test_by_name(has(name, "_lat") ? "tag_sync_lat" : "tag_sync_bw");
  for (const UcxTest& test : kUcxTests) {
    if (has(test.name, "_") && has(name, test.name)) return &test;
  }
  return nullptr;
}

/// Whether its table's heading is not that of this test.
bool is_denied(const UcxRun& run, std::string_view name) {
  if (!run.has_labels || !run.batch.empty()) return false;
  const bool is_rate = name.ends_with("_bw") || name.ends_with("_mr");
  return (name.ends_with("_lat") && run.times == "overhead") || (is_rate && run.times == "latency");
}

const UcxTest* test_of(const UcxRun& run, const Source& source) {
  if (const UcxTest* const test =
          run.batch.empty() ? test_by_title(run) : test_in_batch(run.batch)) {
    return test;
  }
  for (const std::string& name : {run.command.option('t'), run.title, ucx_test_of(source.program),
                                  ucx_test_of(base_name(source.name))}) {
    if (is_denied(run, name)) {
      refuse_if(name == ucx_test_of(source.program),
                fmt::format("'{}' has a table of {}, and no test {}", source.name, run.times, name),
                "Leave out --as, or give the name of the test that printed it.");
      continue;
    }
    if (const UcxTest* const test = test_by_name(name)) return test;
  }
  return nullptr;
}

std::uint64_t window_of(const UcxRun& run, const UcxTest* test) {
  for (const std::string& told : {run.fact("Window size"), run.command.option('O')}) {
    if (const auto window = parse_number<std::uint64_t>(told); window && *window > 0)
      return *window;
  }
  if (test == nullptr || !is_of_ucp(*test)) return 0;  // UCT's changed
  const bool by_32 = test->name.ends_with("_bw") && !test->name.starts_with("stream");
  return by_32 ? 32 : 1;
}

bool is_latency(const UcxRun& run, const UcxTest* test, std::uint64_t window,
                const Source& source) {
  if (test != nullptr) {
    const bool by_name = test->name.ends_with("_bw") || test->name.ends_with("_mr");
    return test->name.ends_with("_lat") || (!by_name && test->operation != "add" && window <= 1);
  }
  for (const std::string_view end : {"_bw", "_mr"}) {
    if (run.batch.ends_with(end) || has(run.batch, fmt::format("{}/", end))) return false;
  }
  if (run.batch.ends_with("_lat") || has(run.batch, "_lat/")) return true;
  // A batch's heading says "overhead" whatever its tests are, an old one "latency".
  if (run.batch.empty() && run.times == "overhead") return false;
  if (run.batch.empty() && run.has_labels && run.times == "latency") return true;
  throw Error(
      Fault::usage,
      fmt::format("'{}' does not say which test of ucx_perftest printed it", source.name),
      "Name it: --as tag_lat or another test, or call the file tag_lat.csv or tag_lat-1.csv.");
}

/// "cuda"; "cuda, host" of a sender with another one; "" of the host's.
std::string memory_of(const UcxRun& run) {
  const std::string given = run.command.option('m');
  const std::size_t comma = std::min(given.find(','), given.size());
  std::string send = given.substr(0, comma);
  std::string receive = comma < given.size() ? given.substr(comma + 1) : send;
  if (!run.fact("Send memory").empty()) send = run.fact("Send memory");
  if (!run.fact("Recv memory").empty()) receive = run.fact("Recv memory");
  if (send.empty() && has(run.batch, "cuda")) return "cuda";
  if (send == receive) return send == "host" ? "" : send;
  return fmt::format("{}, {}", send, receive);
}

/// "16,48" and "1024:4" are pieces of one message. 0 where the text does not tell.
std::uint64_t size_of_option(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    return parse_number<std::uint64_t>(text.substr(0, colon)).value_or(0) *
           parse_number<std::uint64_t>(text.substr(colon + 1)).value_or(0);
  }
  std::uint64_t size = 0;
  for (const std::string_view piece : split(text, ',')) {
    const auto bytes = parse_number<std::uint64_t>(piece);
    if (!bytes) return 0;
    size += *bytes;
  }
  return size;
}

std::uint64_t told_size(const UcxRun& run) {
  if (const std::uint64_t size = size_of_option(run.fact("Message size")); size > 0) return size;
  for (const std::string_view part : split(run.batch, '/')) {
    if (const auto size = parse_number<std::uint64_t>(part)) return *size;
  }
  const std::string option = run.command.option('s');
  if (!option.empty()) return size_of_option(option);
  return !run.command.option('t').empty() && run.batch.empty() ? kUsualSize : 0;
}

struct Sizes {
  double least = 0;
  double most = 0;
};

/// What the rounded numbers of a row leave open.
Sizes sizes_by_rate(const UcxRow& row) {
  constexpr double kHalfRate = 0.005, kHalfCount = 0.5, kHalfTime = 0.0005;
  const double least_rate = std::max(0.0, row.megabytes_per_s - kHalfRate) * kUcxMegabyte;
  const double most_rate = (row.megabytes_per_s + kHalfRate) * kUcxMegabyte;
  const double fewest = row.messages_per_s - kHalfCount;
  if (fewest <= 0) return {};
  Sizes sizes{least_rate / (row.messages_per_s + kHalfCount), most_rate / fewest};
  if (row.of_threads || row.us <= kHalfTime) return sizes;
  const Sizes by_time{least_rate * (row.us - kHalfTime) / 1e6,
                      most_rate * (row.us + kHalfTime) / 1e6};
  const Sizes both{std::max(sizes.least, by_time.least), std::min(sizes.most, by_time.most)};
  return both.least <= both.most ? both : sizes;
}

/// The only whole number between them, else the one that people write, if they are close together:
/// a few digits, or a few times a power of two. 0 where it cannot be told.
std::uint64_t likely_size(const Sizes& sizes) {
  constexpr double kClose = 1.02;
  const auto first = static_cast<std::uint64_t>(std::ceil(sizes.least));
  const auto last = static_cast<std::uint64_t>(sizes.most);
  if (first == 0 || last < first || last > (std::uint64_t{1} << 50U)) return 0;
  if (first != last && sizes.most > sizes.least * kClose) return 0;
  std::uint64_t best = first;
  std::uint64_t fewest = UINT64_MAX;
  for (const std::uint64_t base : {std::uint64_t{2}, std::uint64_t{10}}) {
    for (std::uint64_t power = 1; power <= last; power *= base) {
      const std::uint64_t times = (first + power - 1) / power;
      if (times * power > last || times >= fewest) continue;
      fewest = times;
      best = times * power;
    }
  }
  return best;
}

/// Sets the row's size. Returns what must be said of it.
std::string add_size(const UcxRun& run, Row& row) {
  constexpr double kAlike = 1.02;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 50U;
  std::uint64_t told = told_size(run);
  if (told > kLargest) told = 0;
  const Sizes by_rate = sizes_by_rate(*run.row);
  const auto size = static_cast<double>(told);
  const bool fits =
      by_rate.most <= 0 || (size * kAlike >= by_rate.least && size <= by_rate.most * kAlike);
  if (told > 0 && fits) {
    row["size_bytes"] = size;
    return "";
  }
  const std::uint64_t likely = likely_size(by_rate);
  if (likely > 0) row["size_bytes"] = static_cast<double>(likely);
  if (likely > 0 && told > 0) {
    return fmt::format("Its rate and its time make {} bytes a message, and not {} as it says.",
                       likely, told);
  }
  return likely > 0 ? "The size was computed from its rate and its time: the text does not say it."
                    : "";
}

std::string_view percentile_key(double rank) {
  for (const auto& [known, key] :
       {std::pair{50.0, "p50_ns"}, std::pair{90.0, "p90_ns"}, std::pair{99.0, "p99_ns"},
        std::pair{99.9, "p999_ns"}, std::pair{0.0, "min_ns"}, std::pair{100.0, "max_ns"}}) {
    if (rank == known) return key;
  }
  return "";
}

void set_numbers(const UcxRun& run, PairRun& out, Row& row) {
  const UcxRow& printed = *run.row;
  row["iterations"] = printed.iterations;
  if (!out.latency) {
    constexpr double kFewDigits = 1;  // MB/s, of which two decimals are printed
    double bytes_per_s = in_unit(printed.megabytes_per_s, kUcxMegabyte);
    if (printed.megabytes_per_s < kFewDigits && row.contains("size_bytes")) {
      bytes_per_s = row["size_bytes"] * printed.messages_per_s;
    }
    row["bits_per_s"] = bytes_per_s * kBitsPerByte;
    row["messages_per_s"] = printed.messages_per_s;
    return;
  }
  row["mean_ns"] = in_unit(printed.us, kNsPerUs);
  const std::string_view key = percentile_key(run.percentile);
  if (!printed.percentile_us || key.empty()) return;
  // Of the samples that it keeps only; a least or a largest one would be of the whole.
  const bool of_all = printed.iterations <= kKeptSamples;
  if (!of_all && (key == "min_ns" || key == "max_ns")) return;
  if (run.typical && printed.iterations < kKeptSamples) {
    out.notes.emplace_back(
        "Its typical time was left out: up to UCX 1.11 it is too small where there are fewer than "
        "2048 samples.");
    return;
  }
  row[key] = in_unit(*printed.percentile_us, kNsPerUs);
  if (!of_all) {
    out.notes.push_back(fmt::format("Its percentile is of its last {} samples.", kKeptSamples));
  }
}

}  // namespace

std::string UcxRun::fact(const std::string& label) const {
  const auto found = banner.find(label);
  return found == banner.end() ? "" : found->second;
}

bool is_ucx_test(std::string_view name) noexcept {
  return test_by_name(name) != nullptr;
}

std::string ucx_test_of(std::string_view name) {
  for (const UcxTest& test : kUcxTests) {
    const std::string_view rest = name.substr(std::min(test.name.size(), name.size()));
    const bool ends =
        rest.empty() || std::string_view("._-").find(rest[0]) != std::string_view::npos;
    if (name.starts_with(test.name) && ends) return std::string(test.name);
  }
  return "";
}

PairRun ucx_run(const UcxRun& run, const Source& source) {
  const UcxTest* const test = test_of(run, source);
  const std::uint64_t window = window_of(run, test);
  const bool lower_layer =
      run.fact("API") == "transport layer" || (test != nullptr && !is_of_ucp(*test));
  const std::string name = test == nullptr ? "" : std::string(test->name);
  PairRun out{.tool = "ucx_perftest",
              .test = run.batch.empty() ? name : run.batch,
              .operation = test == nullptr ? "unknown" : std::string(test->operation),
              .backend = lower_layer ? "uct" : "ucx",
              .device = lower_layer ? run.command.option('d') : "",
              .transport = lower_layer ? run.command.option('x')
                           : test != nullptr && test->name.starts_with("ucp_am") ? "am"
                                                                                 : "",
              .memory = memory_of(run),
              .one_sided = test != nullptr && test->operation == "swap",
              .error = run.error,
              .notes = run.said};
  if (run.row) {
    out.latency = is_latency(run, test, window, source);
  } else {
    out.latency = name.ends_with("_lat");
  }
  if (!run.doubt.empty()) {
    out.doubts.push_back(
        {"error", fmt::format("It has its final row, and UCX reported an error: {}", run.doubt)});
  }
  if (!out.latency) out.depth = window;
  for (const auto& [key, value] : {std::pair{"ucx_tls", run.command.transports},
                                   std::pair{"ucx_net_devices", run.command.devices},
                                   std::pair{"threads", run.command.option('T')},
                                   std::pair{"layout", run.command.option('D')}}) {
    if (!value.empty()) out.details.emplace_back(key, value);
  }
  if (!run.row) return out;
  Row row;
  const std::string of_size = add_size(run, row);
  if (!of_size.empty()) out.notes.push_back(of_size);
  set_numbers(run, out, row);
  if (row.contains("size_bytes")) {
    out.rows.push_back(std::move(row));
  } else if (out.error.empty()) {
    out.error =
        "its size is not told: give its command's line or its server's output, too, in one file";
  }
  return out;
}

}  // namespace rdmabench::inline v1::import
