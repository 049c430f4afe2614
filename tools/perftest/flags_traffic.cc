// What is sent, how much of it, and how fast.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "flag_table.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "values.h"

namespace rdmabench::tools::perftest {
namespace {

using transport::Service;

constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostDepth = 16384;

std::chrono::nanoseconds time_of(const Given& given) {
  try {
    return parse_duration(given.text);
  } catch (const Error& error) {
    throw Error(error.fault(), fmt::format("{}: {}", given.name, error.what()));
  }
}

void set_connection(Flags& flags, const Given& given) {
  constexpr std::array<std::pair<std::string_view, Service>, 6> kServices{{{"RC", Service::rc},
                                                                           {"UC", Service::uc},
                                                                           {"UD", Service::ud},
                                                                           {"XRC", Service::xrc},
                                                                           {"DC", Service::dc},
                                                                           {"SRD", Service::srd}}};
  for (const auto& [word, service] : kServices) {
    if (given.text != word) continue;
    flags.service = service;
    return;
  }
  refuse_word(given, "RC, UC, UD, XRC, DC or SRD");
}

void set_atomic_type(Flags& flags, const Given& given) {
  if (given.text != "FETCH_AND_ADD" && given.text != "CMP_AND_SWAP") {
    refuse_word(given, "FETCH_AND_ADD or CMP_AND_SWAP");
  }
  flags.compare_swap = given.text == "CMP_AND_SWAP";
}

void set_rate_limit(Flags& flags, const Given& given) {
  flags.rate_limit = real(given);
  if (!(*flags.rate_limit > 0)) refuse_word(given, "any number above 0");
}

void set_rate_units(Flags& flags, const Given& given) {
  if (given.text == "g") {
    flags.rate_unit = RateUnit::gigabits;
  } else if (given.text == "M") {
    flags.rate_unit = RateUnit::mebibytes;
  } else if (given.text == "p") {
    flags.rate_unit = RateUnit::messages;
  } else {
    refuse_word(given, "g (Gb/s), M (MiB/s) or p (messages per second)");
  }
}

void set_rate_limit_type(Flags& /*flags*/, const Given& given) {
  if (given.text != "SW") {
    refuse_word(given, "SW: messages are paced here, not by the device's limiter of fixed steps");
  }
}

constexpr Flag kTrafficFlags[] = {
    {'s', "size", "bytes", kAll, Release::both, Take::mapped, "--size; 3G is 3 GiB, not 3", "guest",
     [](Flags& f, const Given& g) { f.size = bytes(g); }},
    {'a', "all", "", kSend | kWrite | kRead, Release::both, Take::mapped,
     "--size 2:8M; with -D too", "guest", [](Flags& f, const Given& /*g*/) { f.all_sizes = true; }},
    {'n', "iters", "count", kAll, Release::both, Take::mapped, "--iterations, of each queue pair",
     "guest", [](Flags& f, const Given& g) { f.iterations = whole(g, 1, kMost); }},
    {'D', "duration", "seconds", kAll, Release::both, Take::mapped,
     "--duration; all of it is measured", "guest",
     [](Flags& f, const Given& g) { f.duration = time_of(g); }},
    {'f', "margin", "seconds", kAll, Release::both, Take::mapped,
     "--duration becomes -D less twice this; without it nothing is left out", "guest",
     [](Flags& f, const Given& g) { f.margin = time_of(g); }},
    {'\0', "run_infinitely", "", kBw, Release::both, Take::mapped,
     "a row each -D seconds (5) until a signal", "guest",
     [](Flags& f, const Given& /*g*/) { f.endless = true; }},
    {'\0', "perform_warm_up", "", kAll, Release::both, Take::not_needed,
     "every size is warmed up, outside of what is timed", "guest", nullptr},
    {'b', "bidirectional", "", kBw, Release::both, Take::mapped,
     "both ways in one window that both sides share", "guest",
     [](Flags& f, const Given& /*g*/) { f.both_ways = true; }},
    {'\0', "reversed", "", kBw, Release::both, Take::refused,
     "Exchange the two hosts, or measure that direction with ib_read_bw.", "unit", nullptr},
    {'c', "connection", "type", kAll, Release::both, Take::mapped,
     "--transport; DC needs an mlx5 device on both sides, SRD an EFA one", "guest", set_connection},
    {'q', "qp", "count", kBw, Release::both, Take::mapped, "--qps", "guest",
     [](Flags& f, const Given& g) { f.queue_pairs = whole_as<std::uint32_t>(g, 1, kMostDepth); }},
    {'t', "tx-depth", "count", kAll, Release::both, Take::mapped, "--depth, of each queue pair",
     "guest",
     [](Flags& f, const Given& g) { f.depth = whole_as<std::uint32_t>(g, 1, kMostDepth); }},
    {'r', "rx-depth", "count", kAll, Release::both, Take::mapped, "--receives, of each queue pair",
     "guest",
     [](Flags& f, const Given& g) { f.receives = whole_as<std::uint32_t>(g, 1, kMostDepth); }},
    {'Q', "cq-mod", "count", kAll, Release::both, Take::mapped, "--signal-every", "guest",
     [](Flags& f, const Given& g) { f.signal_every = whole_as<std::uint32_t>(g, 1, 1024); }},
    {'l', "post_list", "count", kBw, Release::both, Take::mapped,
     "--post-list; the iterations need not be a multiple", "guest",
     [](Flags& f, const Given& g) { f.post_list = whole_as<std::uint32_t>(g, 1, kMostDepth); }},
    {'\0', "recv_post_list", "count", kBw, Release::both, Take::ignored,
     "how receives are posted is not the client's to say", "guest", nullptr},
    {'\0', "use-srq", "", kSend, Release::both, Take::mapped, "--srq", "guest",
     [](Flags& f, const Given& /*g*/) { f.shared_receives = true; }},
    {'e', "events", "", kAll, Release::both, Take::mapped,
     "--events; for write latency only with immediate, as there", "guest",
     [](Flags& f, const Given& /*g*/) { f.events = true; }},
    {'X', "vector", "number", kAll, Release::both, Take::mapped, "--completion-vector", "guest",
     [](Flags& f, const Given& g) { f.completion_vector = whole_as<std::int32_t>(g, 0, 2048); }},
    {'I', "inline_size", "bytes", kSend | kWrite, Release::both, Take::mapped,
     "--inline; lowered and reported where the device takes less", "guest",
     [](Flags& f, const Given& g) { f.inline_limit = whole_as<std::int32_t>(g, 0, 1U << 20); }},
    {'\0', "inline_recv", "bytes", kAll, Release::old_only, Take::refused,
     "Leave it out: verbs has no inline receive, and perftest has dropped the flag.", "unit",
     nullptr},
    {'o', "outs", "count", kRead | kAtomic, Release::both, Take::mapped, "--outstanding", "guest",
     [](Flags& f, const Given& g) { f.outstanding_reads = whole_as<std::uint32_t>(g, 1, 255); }},
    {'A', "atomic_type", "type", kAtomic, Release::both, Take::mapped,
     "--op fetch-add or compare-swap, whose swaps succeed", "guest", set_atomic_type},
    {'\0', "write_with_imm", "", kWrite, Release::new_only, Take::mapped, "--op write-imm", "guest",
     [](Flags& f, const Given& /*g*/) { f.immediate = true; }},
    {'\0', "send_with_imm", "", kSend, Release::new_only, Take::mapped, "--op send-imm", "guest",
     [](Flags& f, const Given& /*g*/) { f.immediate = true; }},
    {'\0', "unsolicited_write", "", kWrite, Release::new_only, Take::refused,
     "Leave it out: only EFA has it, and there a receive is posted for each write.", "unit",
     nullptr},
    {'\0', "rate_limit", "rate", kBw, Release::both, Take::mapped,
     "--rate, by an absolute schedule, so it does not drift", "guest", set_rate_limit},
    {'\0', "rate_units", "unit", kBw, Release::both, Take::mapped, "unit of the rate: g, M or p",
     "guest", set_rate_units},
    {'\0', "rate_limit_type", "type", kBw, Release::both, Take::mapped, "SW; HW and PP are refused",
     "guest", set_rate_limit_type},
    {'\0', "burst_size", "count", kBw, Release::both, Take::refused,
     "Leave it out: messages are paced one by one.", "unit", nullptr},
    {'\0', "typical_pkt_size", "bytes", kBw, Release::both, Take::refused,
     "Leave it out: it tunes a limiter in the device, and pacing is done here.", "unit", nullptr},
    {'\0', "latency_gap", "us", kLat, Release::both, Take::refused,
     "Use 'rdmabench load HOST --rate N': there the gap is no part of a sample.", "unit", nullptr},
    {'O', "dualport", "", kBw, Release::both, Take::refused,
     "Name both ports: 'rdmabench bw HOST --device NAME:1,NAME:2'.", "unit", nullptr},
    {'\0', "data_validation", "", kWriteBw | kReadBw, Release::new_only, Take::mapped,
     "--validate, with a pattern of position and sequence", "guest",
     [](Flags& f, const Given& /*g*/) { f.validate = true; }},
    {'\0', "data_validation_debug", "", kWriteBw | kReadBw, Release::new_only, Take::ignored,
     "a message that does not match is always reported with its place", "unit", nullptr},
    {'\0', "cqe_poll", "count", kAll, Release::new_only, Take::ignored,
     "how many completions one poll may take is fixed", "unit", nullptr},
    {'\0', "disable_dynamic_polling", "", kAll, Release::new_only, Take::not_needed,
     "polls do not change their size during a run", "unit", nullptr},
    {'\0', "no_lock", "", kAll, Release::new_only, Take::not_needed,
     "an endpoint belongs to one thread", "unit", nullptr},
    {'\0', "no_enhanced_reorder", "", kAll, Release::new_only, Take::not_needed,
     "receives are never taken out of order", "unit", nullptr},
    {'\0', "use_old_post_send", "", kAll, Release::both, Take::ignored,
     "the back end chooses the call", "guest", nullptr},
    {'g', "mcg", "", kSend, Release::both, Take::refused,
     "Use perftest's own ib_send_bw -g: multicast is not measured here.", "unit", nullptr},
    {'M', "MGID", "gid", kSend, Release::both, Take::refused,
     "Use perftest's own ib_send_bw -M: multicast is not measured here.", "unit", nullptr},
    {'\0', "connectionless", "", kSendBw, Release::new_only, Take::refused,
     "Use perftest's own: multicast is not measured here.", "unit", nullptr},
};

}  // namespace

std::span<const Flag> traffic_flags() {
  return kTrafficFlags;
}

}  // namespace rdmabench::tools::perftest
