// What is printed, and which result is a failure.
#include <sstream>

#include "flag_table.h"

namespace rdmabench::tools::perftest {
namespace {

void set_output(Flags& flags, const Given& given) {
  using report::PerftestNumber;
  flags.one_number = choice<PerftestNumber>(given,
                                            {{"bandwidth", PerftestNumber::bandwidth},
                                             {"message_rate", PerftestNumber::message_rate},
                                             {"latency", PerftestNumber::latency}},
                                            "bandwidth, message_rate or latency");
}

/// "hw_counters/a,counters/b"
void set_counters(Flags& flags, const Given& given) {
  flags.counters.clear();
  std::istringstream names(given.text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty()) refuse_word(given, "names of counters, separated by commas");
    flags.counters.push_back(name);
  }
}

constexpr std::string_view kNoSamples =
    "Use 'rdmabench lat HOST --format json': it has percentiles up to p99.99 over all samples. Single "
    "samples are not stored.";

constexpr Flag kReportFlags[] = {
    mapped("--report_gbits", kAll, "Gb/s (10^9) and not MiB/s", "guest", turn_on<&Flags::gigabits>),
    mapped("--output=what", kAll,
           "one number on standard output, everything else on standard error", "guest", set_output),
    mapped("--out_json", kAll, "valid JSON with the newest release's keys and all sizes", "guest",
           turn_on<&Flags::json>),
    mapped("--out_json_file=file", kAll, "the file of --out_json; default: perftest_out.json",
           "guest", set_text<&Flags::json_file>),
    mapped("-N, --noPeak", kBw, "the peak is printed as 0.00", "guest", turn_off<&Flags::peak>),
    mapped("-C, --report-cycles", kLat, "ticks of the clock in use; the heading says cycles",
           "guest", turn_on<&Flags::cycles>),
    refused("-H, --report-histogrm", kLat, kNoSamples),
    refused("-U, --report-unsorted", kLat, kNoSamples),
    refused("--report-both", kBw,
            "Leave it out: both directions share one window, so each has half of the row."),
    refused(
        "--report-per-port", kBw,
        "Run one client for each port, with -i 1 and with -i 2: one 'rdmabench serve' serves both."),
    mapped("-W, --report-counters=names", kAll,
           "the increase of each, after the table; --format json has all counters", "guest",
           set_counters),
    mapped("--cpu_util", kAll, "of all processors of this side, from /proc/stat; with -D alone",
           "guest", turn_on<&Flags::cpu_util>),
    mapped("-w, --limit_bw=rate", kBw, "exit code 1 unless every size reaches it", "guest",
           set_real<&Flags::limit_bandwidth>),
    mapped("-y, --limit_msgrate=Mpps", kBw,
           "exit code 1 unless every size reaches it; -w is not needed", "guest",
           set_real<&Flags::limit_message_rate>),
    not_needed("-F, --CPU-freq", kAll,
               "the clock is checked against CLOCK_MONOTONIC_RAW, so there is no warning to hide",
               "guest"),
    mapped("-h, --help", kAll, "the flags that are taken", "unit", nullptr),
    mapped("-V, --version", kAll, "rdmabench's", "unit", nullptr),
};

}  // namespace

std::span<const Flag> report_flags() {
  return kReportFlags;
}

}  // namespace rdmabench::tools::perftest
