// What is printed, and which result is a failure.
#include <sstream>

#include "flag_table.h"
#include "values.h"

namespace rdmabench::tools::perftest {
namespace {

void set_output(Flags& flags, const Given& given) {
  if (given.text == "bandwidth") {
    flags.one_number = OneNumber::bandwidth;
  } else if (given.text == "message_rate") {
    flags.one_number = OneNumber::message_rate;
  } else if (given.text == "latency") {
    flags.one_number = OneNumber::latency;
  } else {
    refuse_word(given, "bandwidth, message_rate or latency");
  }
}

/// "hw_counters/a,counters/b"
void set_counters(Flags& flags, const Given& given) {
  flags.counters.clear();
  std::istringstream names(given.text);
  for (std::string name; std::getline(names, name, ',');) {
    if (name.empty()) refuse_word(given, "names of counters, parted by commas");
    flags.counters.push_back(name);
  }
}

constexpr std::string_view kNoSamples =
    "Use 'rdmabench lat HOST --format json': it has the percentiles up to p99.99 over all samples, "
    "which are not kept one by one.";

constexpr Flag kReportFlags[] = {
    {'\0', "report_gbits", "", kAll, Release::both, Take::mapped, "Gb/s (10^9) and not MiB/s",
     "guest", [](Flags& f, const Given& /*g*/) { f.gigabits = true; }},
    {'\0', "output", "what", kAll, Release::both, Take::mapped,
     "one number on standard output, everything else on standard error", "guest", set_output},
    {'\0', "out_json", "", kAll, Release::both, Take::mapped,
     "valid JSON with the newest release's keys and all sizes", "guest",
     [](Flags& f, const Given& /*g*/) { f.json = true; }},
    {'\0', "out_json_file", "file", kAll, Release::both, Take::mapped,
     "where to; perftest_out.json without it", "guest",
     [](Flags& f, const Given& g) { f.json_file = g.text; }},
    {'N', "noPeak", "", kBw, Release::both, Take::mapped, "the peak is printed as 0.00", "guest",
     [](Flags& f, const Given& /*g*/) { f.peak = false; }},
    {'C', "report-cycles", "", kLat, Release::both, Take::mapped,
     "ticks of the clock that was used, under a heading that says so", "guest",
     [](Flags& f, const Given& /*g*/) { f.cycles = true; }},
    {'H', "report-histogrm", "", kLat, Release::both, Take::refused, kNoSamples, "unit", nullptr},
    {'U', "report-unsorted", "", kLat, Release::both, Take::refused, kNoSamples, "unit", nullptr},
    {'\0', "report-both", "", kBw, Release::both, Take::refused,
     "Leave it out: with one window for both sides each direction is half of the row.", "unit",
     nullptr},
    {'\0', "report-per-port", "", kBw, Release::both, Take::refused,
     "Run a client for each port, with -i 1 and with -i 2: one server of 'rdmabench serve' takes "
     "both.",
     "unit", nullptr},
    {'W', "report-counters", "names", kAll, Release::both, Take::mapped,
     "by how much each grew, after the table; all of them are in --format json", "guest",
     set_counters},
    {'\0', "cpu_util", "", kAll, Release::both, Take::refused,
     "Run mpstat beside it: a thread that polls takes all of one processor.", "unit", nullptr},
    {'w', "limit_bw", "rate", kBw, Release::both, Take::mapped,
     "exit code 1 unless every size reaches it", "guest",
     [](Flags& f, const Given& g) { f.limit_bandwidth = real(g); }},
    {'y', "limit_msgrate", "Mpps", kBw, Release::both, Take::mapped,
     "exit code 1 unless every size reaches it; without -w too", "guest",
     [](Flags& f, const Given& g) { f.limit_message_rate = real(g); }},
    {'F', "CPU-freq", "", kAll, Release::both, Take::not_needed,
     "the clock is held against CLOCK_MONOTONIC_RAW, so there is no warning to hide", "guest",
     nullptr},
    {'h', "help", "", kAll, Release::both, Take::mapped, "the flags that are taken", "unit",
     nullptr},
    {'V', "version", "", kAll, Release::both, Take::mapped, "rdmabench's", "unit", nullptr},
};

}  // namespace

std::span<const Flag> report_flags() {
  return kReportFlags;
}

}  // namespace rdmabench::tools::perftest
