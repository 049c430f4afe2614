#include "report/perftest.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "digest.h"
#include "perftest_info.h"
#include "rdmabench/base/units.h"
#include "results/not_rdma.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {
namespace {

constexpr std::size_t kLineWidth = 87;
constexpr double kMillion = 1e6;

std::string rule() {
  return std::string(kLineWidth, '-') + '\n';
}

/// As printf's %#0*x: a zero has no 0x.
std::string hexadecimal(std::uint64_t value, int width) {
  return value == 0 ? fmt::format("{:0{}}", 0, width) : fmt::format("{:#0{}x}", value, width);
}

std::string preamble(const PerftestInfo& info) {
  std::string text = rule();
  text += fmt::format("                    {} Test\n", fmt::join(info.test, " "));
  if (info.completion_vector) {
    text +=
        fmt::format(" Test with events. Using {}_comp{}\n", info.device, *info.completion_vector);
  }
  bool in_pair = false;  // the second one
  for (const PerftestField& field : info.fields) {
    if (field.label.empty()) continue;
    const bool tabbed = field.label.ends_with('\t');  // which takes the place of blanks
    text += fmt::format("{}{:{}}{}: {}{}{}", in_pair ? "" : " ", field.label,
                        tabbed    ? 0
                        : in_pair ? 15
                                  : 16,
                        tabbed ? " " : "", any_text(field.value), field.unit,
                        field.begins_pair ? "\t\t" : "\n");
    in_pair = field.begins_pair;
  }
  return text + rule();
}

/// The numbers of a list separated by commas; what is not a number is 0.
std::vector<std::uint64_t> numbers(std::string_view text) {
  std::vector<std::uint64_t> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(leading_number(text.substr(begin, end - begin)).value_or(0));
    begin = end + 1;
  }
  return out;
}

/// perftest writes a GID as 16 decimal bytes. One that maps an IPv4 address may be named by that
/// address. "" for what is not a GID.
std::string gid_line(const std::string& gid) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET6, gid.c_str(), bytes.data()) != 1 &&
      inet_pton(AF_INET6, ("::ffff:" + gid).c_str(), bytes.data()) != 1) {
    return "";
  }
  std::vector<std::string> texts;
  texts.reserve(bytes.size());
  for (const unsigned char byte : bytes) texts.push_back(fmt::format("{:02}", byte));
  return fmt::format(" GID: {}\n", fmt::join(texts, ":"));
}

/// The i-th of a list, or the last one for those that all queue pairs share.
std::uint64_t nth(const std::vector<std::uint64_t>& list, std::size_t i) {
  return list.empty() ? 0 : list[std::min(i, list.size() - 1)];
}

/// One side's queue pairs; `prefix` is "" or "remote_".
std::string side(const FactReader& facts, const PerftestInfo& info, std::string_view word,
                 std::string_view prefix) {
  const auto list = [&](std::string_view fact) {
    return numbers(facts.text(fmt::format("{}{}", prefix, fact), ""));
  };
  const auto pairs = list("qpn");
  const auto starts = list("psn");
  const auto lids = list("lid");
  const auto keys = list("rkey");
  const auto places = list("vaddr");
  const std::string gid =
      info.has_gid ? gid_line(facts.text(fmt::format("{}gid", prefix), "")) : "";
  const bool one_sided = info.test[0].rfind("RDMA_", 0) == 0 && !info.connection_manager;
  std::string text;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    text += fmt::format(" {} address: LID {} QPN {} PSN {}", word, hexadecimal(nth(lids, i), 4),
                        hexadecimal(pairs[i], 6), hexadecimal(nth(starts, i), 6));
    if (one_sided && info.from_target) {
      text += fmt::format(" OUT {}", hexadecimal(info.outstanding_reads, 4));
    }
    if (one_sided) {
      text += fmt::format(" RKey {} VAddr {}", hexadecimal(nth(keys, i), 8),
                          hexadecimal(nth(places, i), 16));
    }
    text += '\n' + gid;
  }
  return text;
}

std::string addresses(const Report& report, const PerftestInfo& info) {
  const FactReader facts(report);
  const std::string text = side(facts, info, "local", "") + side(facts, info, "remote", "remote_");
  return text.empty() ? text : text + rule();
}

/// Times as perftest prints them, or ticks.
class LatencyUnit {
 public:
  LatencyUnit(const Report& report, const PerftestStyle& style)
      : ticks_(style.cycles && report.clock && report.clock->ns_per_tick > 0),
        ns_per_unit_(ticks_ ? report.clock->ns_per_tick : kNsPerUs) {}

  std::string_view name() const { return ticks_ ? "cycles" : "usec"; }
  double of(double ns) const { return ns / ns_per_unit_; }

 private:
  bool ticks_;
  double ns_per_unit_;
};

std::string cpu_heading(const PerftestStyle& style) {
  return style.cpu_percent ? "    CPU_Util[%]\n" : "\n";
}

std::string cpu_value(std::uint64_t size_bytes, const PerftestStyle& style) {
  return style.cpu_percent ? fmt::format("\t    {:<3.2f}\n", style.cpu_percent(size_bytes)) : "\n";
}

std::string full_heading(const LatencyUnit& unit) {
  return fmt::format(
      " #bytes #iterations    t_min[{0}]    t_max[{0}]  t_typical[{0}]    t_avg[{0}]    "
      "t_stdev[{0}]   99% percentile[{0}]   99.9% percentile[{0}] \n",
      unit.name());
}

std::string full_row(const LatencyResult& result, const LatencyUnit& unit) {
  const measure::LatencySummary& ns = result.latency;
  return fmt::format(
      " {:<7} {}          {:<7.2f}        {:<7.2f}      {:<7.2f}  \t       {:<7.2f}     "
      "\t{:<7.2f}\t\t{:<7.2f} \t\t{:<7.2f}\n",
      result.size_bytes, result.iterations, unit.of(ns.min_ns), unit.of(ns.max_ns),
      unit.of(ns.p50_ns), unit.of(ns.mean_ns), unit.of(ns.stddev_ns), unit.of(ns.p99_ns),
      unit.of(ns.p999_ns));
}

/// Whole round trips, as perftest counts them.
double transactions_per_s(const LatencyResult& result) {
  const double mean_ns = result.latency.mean_ns;
  const double round_ns = result.kind == "half_round_trip" ? 2 * mean_ns : mean_ns;
  return round_ns > 0 ? kNsPerSecond / round_ns : 0;
}

std::string short_heading(const LatencyUnit& unit, const PerftestStyle& style) {
  return fmt::format(" #bytes        #iterations       t_avg[{}]    tps average{}", unit.name(),
                     cpu_heading(style));
}

std::string short_row(const LatencyResult& result, const LatencyUnit& unit,
                      const PerftestStyle& style) {
  return fmt::format(" {:<7}       {}            {:<7.2f}        {:<7.2f}{}", result.size_bytes,
                     result.iterations, unit.of(result.latency.mean_ns), transactions_per_s(result),
                     cpu_value(result.size_bytes, style));
}

struct Bandwidth {
  double peak;     ///< in the unit of the style; 0 where it is not wanted
  double average;  ///< likewise
  double rate;     ///< millions of messages per second
};

Bandwidth numbers_of(const BandwidthResult& result, const PerftestStyle& style) {
  const double average = perftest_bandwidth(result, style);
  const double scale = result.bits_per_s > 0 ? average / result.bits_per_s : 0;
  return {style.peak ? result.peak_bits_per_s * scale : 0, average,
          result.messages_per_s / kMillion};
}

std::string heading(const PerftestStyle& style) {
  return fmt::format(
      " #bytes     #iterations    BW peak[{0}/sec]    BW average[{0}/sec]   MsgRate[Mpps]{1}",
      style.gigabits ? "Gb" : "MB", cpu_heading(style));
}

double one_number(const BandwidthResult& result, PerftestNumber number,
                  const PerftestStyle& style) {
  return number == PerftestNumber::bandwidth ? perftest_bandwidth(result, style)
                                             : result.messages_per_s / kMillion;
}

Json test_info(const PerftestInfo& info) {
  std::string test = fmt::format("{}_Test", fmt::join(info.test, "_"));
  for (char& c : test) {
    if (c == ' ') c = '_';
  }
  Json json{{"test", test}};
  if (info.completion_vector) {
    json["Test with events"] = fmt::format("Using_{}_comp{}", info.device, *info.completion_vector);
  }
  for (const PerftestField& field : info.fields) json[std::string(field.key)] = field.value;
  return json;
}

Json json_row(const BandwidthResult& result, const PerftestStyle& style) {
  const Bandwidth numbers = numbers_of(result, style);
  return {{"MsgSize", result.size_bytes},
          {"n_iterations", result.iterations},
          {"BW_peak", numbers.peak},
          {"BW_average", numbers.average},
          {"BW_unit", style.gigabits ? "Gb/s" : "MiB/s"},
          {"MsgRate", numbers.rate}};
}

Json json_row(const LatencyResult& result, const LatencyUnit& unit, bool is_short) {
  const measure::LatencySummary& ns = result.latency;
  Json json{{"MsgSize", result.size_bytes}, {"n_iterations", result.iterations}};
  if (is_short) {
    json["t_avg"] = unit.of(ns.mean_ns);
    json["tps_average"] = transactions_per_s(result);
  } else {
    json["t_min"] = unit.of(ns.min_ns);
    json["t_max"] = unit.of(ns.max_ns);
    json["t_typical"] = unit.of(ns.p50_ns);
    json["t_avg"] = unit.of(ns.mean_ns);
    json["t_stdev"] = unit.of(ns.stddev_ns);
    json["percentile_99"] = unit.of(ns.p99_ns);
    json["percentile_99.9"] = unit.of(ns.p999_ns);
  }
  json["t_unit"] = unit.name();
  return json;
}

}  // namespace

double perftest_bandwidth(const BandwidthResult& result, const PerftestStyle& style) {
  return result.bits_per_s / (style.gigabits ? kBitsPerGigabit : kBitsPerMebibyte);
}

std::string perftest_row(const BandwidthResult& result, const PerftestStyle& style) {
  const auto [peak, average, rate] = numbers_of(result, style);
  const std::string cpu = cpu_value(result.size_bytes, style);
  if (style.gigabits && average < 0.1) {  // two decimals would leave no digit of it
    return fmt::format(" {:<7}    {}           {:<7.6f}            {:<7.6f}            {:<7.6f}{}",
                       result.size_bytes, result.iterations, peak, average, rate, cpu);
  }
  return fmt::format(" {:<7}    {:<10}       {:<7.2f}            {:<7.2f}\t\t   {:<7.6f}{}",
                     result.size_bytes, result.iterations, peak, average, rate, cpu);
}

std::string PerftestText::more(const Report& report, bool last) {
  std::string text;
  const auto* const bandwidth = std::get_if<std::vector<BandwidthResult>>(&report.results);
  const std::vector<LatencyResult> latency = latency_results(report);
  const LatencyUnit unit(report, style_);
  const bool is_short = is_perftest_short(report);
  if (!number_ && !begun_) {
    const PerftestInfo info = perftest_info(report);
    text = preamble(info) + addresses(report, info) +
           (bandwidth != nullptr ? heading(style_)
            : is_short           ? short_heading(unit, style_)
                                 : full_heading(unit));
  }
  begun_ = true;
  for (; bandwidth != nullptr && told_ < bandwidth->size(); ++told_) {
    const BandwidthResult& result = (*bandwidth)[told_];
    if (!number_) {
      text += perftest_row(result, style_);
    } else if (*number_ != PerftestNumber::latency) {
      text += fmt::format("{:.6f}\n", one_number(result, *number_, style_));
    }
  }
  for (; told_ < latency.size(); ++told_) {
    const LatencyResult& result = latency[told_];
    if (!number_) {
      text += is_short ? short_row(result, unit, style_) : full_row(result, unit);
    } else if (*number_ == PerftestNumber::latency) {
      text += fmt::format("{:.6f}\n", unit.of(result.latency.mean_ns));
    }
  }
  return number_ || !last ? text : text + rule();
}

std::string to_perftest_json(const Report& report, const PerftestStyle& style) {
  Json rows = Json::array();
  if (const auto* results = std::get_if<std::vector<BandwidthResult>>(&report.results)) {
    for (const BandwidthResult& result : *results) rows.push_back(json_row(result, style));
  }
  const LatencyUnit unit(report, style);
  const bool is_short = is_perftest_short(report);
  for (const LatencyResult& result : latency_results(report)) {
    rows.push_back(json_row(result, unit, is_short));
  }
  Json document{{"test_info", test_info(perftest_info(report))},
                {"results", rows.size() == 1 ? rows[0] : rows}};
  // Not perftest's: that it was no RDMA, and what may have disturbed the run.
  if (std::string without = not_rdma(report); !without.empty()) {
    document["not_rdma"] = std::move(without);
  }
  for (const Suspicion& one : report.suspicions) {
    document["suspicions"].push_back(
        {{"code", one.code}, {"side", one.side}, {"text", one.text}, {"remedy", one.remedy}});
  }
  return document_text(document);
}

}  // namespace rdmabench::inline v1::report
