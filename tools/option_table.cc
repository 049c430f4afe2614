#include "option_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "flags/values.h"
#include "parse.h"
#include "quantity.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools::measuring {
namespace {

void set_stop(Options& options, const Given& given, const measure::StopRule& rule) {
  if (!options.stop.empty()) {
    throw Error(Fault::usage, fmt::format("{} and {} together", options.stop, given.name),
                "Give one of them, or neither to measure until the result is stable.");
  }
  options.stop = given.name;
  options.config.stop = rule;
}

void set_iterations(Options& options, const Given& given) {
  set_stop(options, given, measure::StopRule::iterations(parse_count(given.text)));
}

void set_duration_of_each(Options& options, const Given& given) {
  set_stop(options, given, measure::StopRule::duration(duration(given)));
}

void set_max_time(Options& options, const Given& given) {
  measure::Stability stability;
  stability.max_time = duration(given);
  stability.min_time = std::min(stability.min_time, stability.max_time);
  set_stop(options, given, measure::StopRule::stable(stability));
}

void set_warmup(Options& options, const Given& given) {
  if (given.text.ends_with('s') || given.text.ends_with('m')) {
    options.config.warmup_time = duration(given);
  } else {
    options.config.warmup = whole_as<std::int64_t>(given, 0, 1U << 30);
  }
}

void set_inline(Options& options, const Given& given) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  options.config.inline_limit =
      given.text == "auto" ? -1 : static_cast<std::int32_t>(std::min(bytes(given), kMost));
}

void set_peers(Options& options, const Given& given) {
  options.config.queue_pairs = whole_as<std::uint32_t>(given, 1, run::kMaxQueuePairs);
  options.config.client_queue_pairs = 1;
}

void set_mapping(Options& options, const Given& given) {
  for (const char* const word : {"auto", "default", "pcie", "data-direct"}) {
    if (given.text == word) return void(options.config.gpu_mapping = word);
  }
  refuse_word(given, "auto, default, pcie or data-direct");
}

using run::Config;
using transport::PathOptions;

constexpr Flag row(Spelling spelling, std::string_view text, std::string_view usual, Flag::Set set,
                   ToolSet tools = kAll) {
  return {spelling, tools, Handling::mapped, text, "", set, usual};
}
constexpr Flag on(Spelling spelling, std::string_view text, Flag::Set set, ToolSet tools = kAll) {
  return row(spelling, text, "", set, tools);
}
template <auto Member>
constexpr Flag::Set kOn = turn_on<&Options::config, Member>;
template <auto Member>
constexpr Flag::Set kText = set_text<&Options::config, Member>;
template <auto Member>
constexpr Flag::Set kBytes = set_bytes<&Options::config, Member>;
template <std::uint64_t Min, std::uint64_t Max, auto... Member>
constexpr Flag::Set kNumber = set_number<Min, Max, &Options::config, Member...>;
template <std::uint64_t Max, auto Member>
constexpr Flag::Set kPath = kNumber<0, Max, &Config::path, Member>;

constexpr Flag kTraffic[] = {
    row("--op=OP", "what is measured", "send; load: send-imm",
        [](Options& o, const Given& given) { o.config.operation = parse_operation(given.text); }),
    row("-s, --size=SIZES", "message sizes in bytes: 8, or 8,64,4K, or 1:8M for every doubling",
        "8; bw: 64K",
        [](Options& o, const Given& given) { o.config.sizes = parse_size_list(given.text); }),
    on("-a, --all", "every doubling from 1 byte to 8 MiB; short for --size 1:8M",
       [](Options& o, const Given& /*given*/) { o.config.sizes = parse_size_list("1:8M"); }),
    on(
        "-b, --bidirectional",
        "both sides send at once; the figures count both directions, timed over one interval",
        [](Options& o, const Given& /*given*/) { o.config.shape = workload::Shape::duplex; }, kBw),
    row("--interval=TIME",
        "also report each interval of this length; written between epochs, never during one", "",
        set_duration<&Options::config, &Config::interval>, kBw),
    on("--target-idle",
       "the target does not touch its endpoint: shows whether its CPU takes part in one-sided "
       "operations",
       kOn<&Config::target_idle>, kLat),
    row(
        "--rate=RATE", "messages per second: 200k, 1.5M; or payload: 10Gb, 800Mb",
        "as fast as possible; load: from 10 to 110 % of capacity",
        [](Options& o, const Given& given) { set_rate(o.config, given.text); }, kBw | kLoad),
    row("-l, --post-list=N", "messages posted by one call (a list of work requests)", "1",
        kNumber<1, run::kMaxPostList, &Config::post_list>, kBw | kLoad),
    row("--sge=N", "scatter/gather entries that a message is split into", "1",
        kNumber<1, run::kMaxSegments, &Config::segments>),
    row("-I, --inline=SIZE",
        "largest message to send inline (verbs) or inject (libfabric), 0 for none", "auto",
        set_inline),
    on("--validate",
       "fill and compare every message; the figures include the comparison at the target",
       kOn<&Config::validate>),
};

constexpr Flag kStopping[] = {
    row("-n, --iterations=N", "messages per size: 1000 or 5k", "until stable", set_iterations),
    row("-D, --duration=TIME", "time per size: 10, 250ms or 2m", "until stable",
        set_duration_of_each),
    row("--max-time=TIME", "time per size after which it ends, stable or not", "10s", set_max_time),
    row("--launches=N", "repeat the whole curve N times; its knee then has a confidence interval",
        "1", set_number<1, 100, &Options::launches>, kLoad),
    row("--warmup=N|TIME", "messages, or time such as 100ms, per size before what is timed",
        "200, fewer if large", set_warmup),
};

constexpr Flag kQueues[] = {
    row("-q, --qps=N", "queue pairs of each thread", "1",
        kNumber<1, run::kMaxQueuePairs, &Config::queue_pairs>),
    row("--threads=N", "threads on each side, each with its queue pairs and completion queue",
        "1, or one for each device", kNumber<1, run::kMaxWorkers, &Config::workers>),
    row("-t, --depth=N", "messages outstanding on each queue pair",
        "bw: 128; lat: 16, of which it uses one", kNumber<1, run::kMaxDepth, &Config::depth>),
    row("-r, --receives=N", "receives kept posted on each queue pair", "512 in total; lat: 8",
        kNumber<1, 2 * run::kMaxDepth, &Config::receives>),
    row("-Q, --signal-every=N", "ask for one completion in N messages", "bw: 32; lat: 8",
        kNumber<1, run::kMaxDepth, &Config::signal_every>),
    row("-o, --outstanding=N", "reads or atomics under way on a queue pair",
        "the most that both sides support", kNumber<1, 255, &Config::outstanding_reads>),
    on("--srq", "one shared receive queue for all queue pairs", kOn<&Config::shared_receives>),
    on("--separate-cqs", "two completion queues: one for sends, one for receives",
       kOn<&Config::separate_queues>),
    on("-e, --events", "sleep until a completion instead of polling", kOn<&Config::events>),
    row("-X, --completion-vector=N", "interrupt vector of the events", "by worker",
        kNumber<0, 65535, &Config::completion_vector>),
    row("--clients=N", "incast: start when N clients of the server have come, all with this option",
        "1", kNumber<1, run::kMaxClients, &Config::clients>),
    row("--job=NAME", "incast: only clients of the same job wait for one another",
        "the launcher's job, else the user", kText<&Config::job>),
    row("--peers=N", "UD: one queue pair of this side sends to N of the server's", "one each",
        set_peers),
};

constexpr Flag kPathRows[] = {
    row("--backend=NAME", "auto, verbs, ofi or loop", "auto", kText<&Config::backend>),
    row("-d, --device=NAMES",
        "this side's devices: NAME[:PORT] for verbs, a domain for libfabric; several at once are "
        "separated by commas",
        "by route", [](Options& o, const Given& given) { o.config.devices = split(given.text); }),
    row("-i, --ib-port=N", "port of --device NAME", "by route",
        set_number<1, 255, &Options::port_number>),
    row("--provider=NAME", "libfabric provider, on both sides: tcp, shm, efa ...", "by route",
        kText<&Config::provider>),
    row("--fabric=NAME", "libfabric fabric of this side: efa-direct (sends of one packet), efa",
        "by route", kText<&Config::fabric>),
    on("--delivery", "libfabric: ask for completion at delivery; 'completion' says what it proves",
       kOn<&Config::delivery>),
    on("--shared-memory", "libfabric: efa may reach a peer on its own host through memory",
       kOn<&Config::shared_memory>),
    row("--require=LIST",
        "measure only if: rdma-write, rdma-read (the device does them), no-shm, in-order-128, "
        "gpudirect, backend=NAME, provider=NAME, device=NAME, fabric=NAME; fails instead of "
        "falling back",
        "",
        [](Options& o, const Given& given) {
          o.config.requirements = run::parse_requirements(given.text);
        }),
    row("-c, --transport=NAME", "rc, uc, ud, xrc, dc or srd (verbs); rdm or msg (libfabric)",
        "rc; rdm",
        [](Options& o, const Given& given) { o.config.service = parse_service(given.text); }),
    on("-R, --rdma-cm", "connect by rdma_cm instead of rdmabench's own exchange",
       kOn<&Config::connection_manager>),
    row("-x, --gid-index=N", "RoCE GID of this side's port, or ipv6: one of IPv6",
        "by route, RoCE v2 first",
        [](Options& o, const Given& given) {
          o.config.gid_index = given.text == "ipv6"
                                   ? transport::kAnyIpv6Gid
                                   : static_cast<std::int32_t>(whole(given, 0, 255));
        }),
    row("-m, --mtu=N", "verbs path MTU: 256, 512, 1024, 2048 or 4096", "the smaller active one",
        kNumber<256, 4096, &Config::mtu>),
    row("-S, --sl=N", "service level", "0", kPath<15, &PathOptions::service_level>),
    row("-T, --tclass=N", "traffic class; on RoCE v2 the TOS byte: DSCP times 4", "0",
        kPath<255, &PathOptions::traffic_class>),
    row("--flow-label=N", "IPv6 flow label", "0; UD, DC: one a queue pair",
        kPath<(1 << 20) - 1, &PathOptions::flow_label>),
    row("-L, --hop-limit=N", "largest number of hops of a packet", "64",
        kPath<255, &PathOptions::hop_limit>),
    row("--pkey-index=N", "index of the partition key", "0",
        kPath<65535, &PathOptions::partition_index>),
    row("-u, --qp-timeout=N", "wait 4.096 us * 2^N for an acknowledgement before a retry", "14",
        kPath<31, &PathOptions::timeout>),
    row("--retry-count=N", "number of such retries", "6", kPath<7, &PathOptions::retry_count>),
    row("--rnr-retry=N", "retries where the peer has no receive posted, 7 = without end", "7",
        kPath<7, &PathOptions::rnr_retry_count>),
    row("--rnr-timer=N", "encoded wait before such a retry, 12 = 0.64 ms", "12",
        kPath<31, &PathOptions::rnr_timer>),
    row("--timeout=TIME", "fail when nothing completes for this long", "10s",
        set_duration<&Options::config, &Config::timeout>),
};

constexpr Flag kMemory[] = {
    row("--memory=KIND",
        "memory of this side: host, huge[:2M], file:PATH, dmabuf or cuda:GPU[,vmm]; GPU is an "
        "index, a PCI address, GPU-UUID or auto (near the device)",
        "host", kText<&Config::memory>),
    row("--peer-memory=KIND", "memory of the server: host, huge or cuda:GPU[,vmm]",
        "huge or cuda:auto where --memory is of that kind, else host", kText<&Config::peer_memory>),
    row("--gpu-mapping=HOW",
        "how a GPU's dma-buf is mapped, on both sides: default, pcie or data-direct only; auto uses "
        "the first one that registers and otherwise stages through host memory",
        "auto", set_mapping),
    row("--numa=NODE", "auto = near the device, none, or a node's number", "auto",
        kText<&Config::numa>),
    row("--working-set=SIZE",
        "bytes that messages walk through: larger than the cache measures cold memory", "one page",
        kBytes<&Config::working_set>),
    row("--stride=SIZE", "bytes from one message to the next, a multiple of 64", "its size",
        kBytes<&Config::stride>),
    row("--misalign=N", "bytes off a cache line", "0", kNumber<0, 63, &Config::misalignment>),
    on("--relaxed-ordering",
       "allow PCIe relaxed ordering, where the device supports it; without either flag of a GPU's "
       "memory alone",
       kOn<&Config::relaxed_ordering>),
    on("--no-relaxed-ordering", "no PCIe relaxed ordering, of a GPU's memory neither",
       turn_off<&Options::config, &Config::relaxed_ordering>),
    on("--odp", "on-demand paging instead of pinned pages", kOn<&Config::on_demand>),
    on("--mr-per-qp", "a memory region for each queue pair, instead of one for all",
       kOn<&Config::region_per_queue_pair>),
};

constexpr Flag kOther[] = {
    on("--no-watch", "leave out counters, placement and noise of both sides: they take 50 ms",
       turn_off<&Options::config, &Config::watch>),
    on("-F, --CPU-freq", "no effect; accepted because perftest's scripts pass it",
       [](Options& /*o*/, const Given& /*given*/) {}),
};

constexpr FlagGroup<Options> kGroups[] = {{"What is sent", kTraffic}, {"How long", kStopping},
                                          {"Queues", kQueues},        {"Path", kPathRows},
                                          {"Memory", kMemory},        {"Other", kOther}};

}  // namespace

std::span<const FlagGroup<Options>> groups() {
  return kGroups;
}

std::span<const FlagGroup<Options>> connection_groups() {
  return std::span(kGroups).subspan(2, 3);
}

}  // namespace rdmabench::tools::measuring
