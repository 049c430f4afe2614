// What is sent, how much of it, and how fast.
#include "flag_table.h"

namespace rdmabench::inline v1::tools::perftest {
namespace {

using transport::Service;

constexpr std::uint64_t kMost = std::uint64_t{1} << 32;

void set_rate_limit(Flags& flags, const Given& given) {
  flags.rate_limit = real(given);
  if (!(*flags.rate_limit > 0)) refuse_word(given, "any number above 0");
}

constexpr Flag kTrafficFlags[] = {
    mapped("-s, --size=bytes", kAll, "--size; 3G is 3 GiB, not 3", "guest", set<&Flags::size>,
           "sizes"),
    mapped("-a, --all", kSend | kWrite | kRead, "--size 2:8M; with -D too", "guest",
           set<&Flags::all_sizes>),
    mapped("-n, --iters=count", kAll, "--iterations, of each queue pair", "guest",
           set<&Flags::iterations, 1, kMost>),
    mapped("-D, --duration=seconds", kAll, "--duration; all of it is measured", "guest",
           set<&Flags::duration>),
    mapped("-f, --margin=seconds", kAll,
           "--duration becomes -D minus twice this value; without it all of -D is measured",
           "guest", set<&Flags::margin>),
    mapped("--run_infinitely", kBw, "prints a row every -D seconds (5) until a signal", "guest",
           set<&Flags::endless>),
    not_needed("--perform_warm_up", kAll, "every size has a warm-up, which is not timed", "guest"),
    mapped("-b, --bidirectional", kBw, "both directions, timed over one common interval", "guest",
           set<&Flags::both_ways>),
    refused("--reversed", kBw,
            "Exchange the two hosts, or measure that direction with ib_read_bw."),
    mapped(
        "-c, --connection=type", kAll,
        "--transport; DC needs an mlx5 device on both sides, SRD an EFA one", "guest",
        [](Flags& f, const Given& g) {
          f.config.endpoint.service = choice<Service>(g, {{"RC", Service::rc},
                                                          {"UC", Service::uc},
                                                          {"UD", Service::ud},
                                                          {"XRC", Service::xrc},
                                                          {"DC", Service::dc},
                                                          {"SRD", Service::srd}});
        },
        "service"),
    same("-q, --qp=count", "queue_pairs", kBw, "--qps", "guest"),
    same("-t, --tx-depth=count", "depth", kAll, "--depth, of each queue pair", "guest"),
    same("-r, --rx-depth=count", "receives", kAll, "--receives, of each queue pair", "guest"),
    same("-Q, --cq-mod=count", "signal_every", kAll, "--signal-every", "guest"),
    same("-l, --post_list=count", "post_list", kBw,
         "--post-list; the iterations need not be a multiple of it", "guest"),
    ignored("--recv_post_list=count", kBw, "the server chooses how it posts receives", "guest"),
    same("--use-srq", "shared_receives", kSend, "--srq", "guest"),
    same("-e, --events", "events", kAll,
         "--events; write latency needs --write_with_imm too, as in perftest", "guest"),
    same("-X, --vector=number", "completion_vector", kAll, "--completion-vector", "guest"),
    mapped(
        "-I, --inline_size=bytes", kSend | kWrite,
        "--inline; lowered to what the device supports, and reported", "guest",
        [](Flags& f, const Given& g) {
          set_value(f.config.endpoint.inline_limit, g, {0, 1 << 20});
        },
        "inline_limit"),
    refused("- --inline_recv=bytes", kAll,
            "Leave it out: verbs has no inline receive, and perftest has removed the flag."),
    same("-o, --outs=count", "outstanding_reads", kRead | kAtomic, "--outstanding", "guest"),
    mapped("-A, --atomic_type=type", kAtomic, "--op fetch-add or compare-swap, whose swaps succeed",
           "guest",
           [](Flags& f, const Given& g) {
             f.compare_swap = choice<bool>(g, {{"FETCH_AND_ADD", false}, {"CMP_AND_SWAP", true}});
           }),
    mapped("+ --write_with_imm", kWrite, "--op write-imm", "guest", set<&Flags::immediate>),
    mapped("+ --send_with_imm", kSend, "--op send-imm", "guest", set<&Flags::immediate>),
    refused(
        "+ --unsolicited_write", kWrite,
        "Leave it out: only EFA supports it, and rdmabench posts a receive for each write there."),
    mapped("--rate_limit=rate", kBw, "--rate; the schedule is absolute, so it does not drift",
           "guest", set_rate_limit),
    mapped("--rate_units=unit", kBw, "unit of the rate: g, M or p", "guest",
           [](Flags& f, const Given& g) {
             f.rate_unit = choice<RateUnit>(
                 g,
                 {{"g", RateUnit::gigabits}, {"M", RateUnit::mebibytes}, {"p", RateUnit::messages}},
                 "g (Gb/s), M (MiB/s) or p (messages per second)");
           }),
    mapped(
        "--rate_limit_type=type", kBw, "SW; HW and PP are refused", "guest",
        [](Flags& /*f*/, const Given& g) {
          if (g.text != "SW")
            refuse_word(
                g,
                "SW: rdmabench paces messages in software; it does not use the rate limiter of the device");
        }),
    refused("--burst_size=count", kBw, "Leave it out: messages are paced one by one."),
    refused("--typical_pkt_size=bytes", kBw,
            "Leave it out: it tunes the rate limiter of the device; rdmabench paces in software."),
    refused("--latency_gap=us", kLat,
            "Use 'rdmabench load HOST --rate N': its samples do not include the gap."),
    refused("-O, --dualport", kBw, "Name both ports: 'rdmabench bw HOST --device NAME:1,NAME:2'."),
    same("+ --data_validation", "validate", kWriteBw | kReadBw,
         "--validate; the pattern depends on position and sequence number", "guest"),
    ignored("+ --data_validation_debug", kWriteBw | kReadBw,
            "a message that does not match is always reported with its position", "unit"),
    ignored("+ --cqe_poll=count", kAll, "the number of completions of one poll is fixed", "unit"),
    not_needed("+ --disable_dynamic_polling", kAll,
               "the number of completions of one poll does not change during a run", "unit"),
    not_needed("+ --no_lock", kAll, "an endpoint belongs to one thread", "unit"),
    not_needed("+ --no_enhanced_reorder", kAll, "receives are always taken in order", "unit"),
    ignored("--use_old_post_send", kAll, "rdmabench chooses the call", "guest"),
    refused("-g, --mcg", kSend,
            "Use perftest's own ib_send_bw -g: multicast is not measured here."),
    refused("-M, --MGID=gid", kSend,
            "Use perftest's own ib_send_bw -M: multicast is not measured here."),
    refused("+ --connectionless", kSendBw, "Use perftest's own: multicast is not measured here."),
};

}  // namespace

std::span<const Flag> traffic_flags() {
  return kTrafficFlags;
}

}  // namespace rdmabench::inline v1::tools::perftest
