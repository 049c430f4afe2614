#include "run/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/buffer.h"

namespace rdmabench::inline v1::run {
namespace {

/// A member of Config as a function that gives its place. Of what both sides have, or not.
template <class In>
constexpr Member both(In) {
  return {[](Config& config) -> Place { return In{}(config); }, true};
}
template <class In>
constexpr Member own(In) {
  return {[](Config& config) -> Place { return In{}(config); }, false};
}

constexpr Option row(const char* name, std::string_view flag, std::string_view text, Member member,
                     const Bounds& bounds = {}, bool always = false, TestSet tests = kEveryTest) {
  return {member, name, flag, text, bounds, always, tests};
}

constexpr bool kAlways = true;

constexpr Option kSentOptions[] = {
    row("shape", "", "", both([](Config& c) { return &c.traffic.shape; })),
    row("pattern", "", "", both([](Config& c) { return &c.traffic.pattern; })),
    row("operation", "--op=OP", "what is measured [send; load: send-imm]",
        both([](Config& c) { return &c.traffic.operation; }), {}),
    row("sizes", "-s, --size=SIZES",
        "message sizes in bytes: 8, or 8,64,4K, or 1:8M for every doubling [8; bw: 64K]",
        own([](Config& c) { return &c.sizes; }), {1, kMaxSize, Unit::bytes}),
    row("interval_s", "--interval=TIME",
        "also report each interval of this length; written between epochs and parts of streams",
        own([](Config& c) { return &c.interval; }), {0, 86'400'000, Unit::milliseconds}, false,
        kBw),
    row("target_idle", "--target-idle",
        "the target does not touch its endpoint: shows whether its CPU takes part in one-sided "
        "operations",
        both([](Config& c) { return &c.traffic.target_idle; }), {}, false, kLat),
    row("arrivals", "--arrivals=HOW",
        "when messages are due: constant, at even distances; poisson, at random as from many users "
        "[constant]",
        both([](Config& c) { return &c.traffic.arrivals; }), {}, false, kLoad),
    row("post_list", "-l, --post-list=N",
        "messages posted by one call (a list of work requests) [1]",
        both([](Config& c) { return &c.endpoint.post_list; }), {1, kMaxPostList}, false,
        kBw | kLoad),
    row("segments", "--sge=N", "scatter/gather entries that a message is split into [1]",
        both([](Config& c) { return &c.endpoint.segments; }), {1, kMaxSegments}),
    row("inline_limit", "-I, --inline=SIZE",
        "largest message to send inline (verbs) or inject (libfabric), 0 for none [auto]",
        both([](Config& c) { return &c.endpoint.inline_limit; }),
        {0, 1 << 20, Unit::limit, "auto", -1}),
    row("validate", "--validate",
        "fill and compare every message; the figures include the comparison at the target",
        both([](Config& c) { return &c.traffic.validate; }), {}, kAlways),
};

constexpr Option kQueueOptions[] = {
    row("queue_pairs", "-q, --qps=N", "queue pairs of each thread [1]",
        both([](Config& c) { return &c.endpoint.queue_pairs; }), {1, kMaxQueuePairs}, kAlways),
    row("threads", "--threads=N",
        "threads on each side, each with its queue pairs and completion queue [1, or one for each "
        "device]",
        both([](Config& c) { return &c.traffic.threads; }), {1, kMaxWorkers}, kAlways),
    row("depth", "-t, --depth=N",
        "messages outstanding on each queue pair [bw: 128; lat: 16, of which it uses one]",
        both([](Config& c) { return &c.traffic.depth; }), {1, kMaxDepth}, kAlways),
    row("receives", "-r, --receives=N",
        "receives kept posted on each queue pair [512 in total; lat: 8]",
        both([](Config& c) { return &c.traffic.receives; }), {1, 2 * kMaxDepth}),
    row("signal_every", "-Q, --signal-every=N",
        "ask for one completion in N messages [bw: 32; lat: 8]",
        both([](Config& c) { return &c.traffic.signal_every; }), {1, kMaxDepth}, kAlways),
    row("outstanding_reads", "--outstanding=N",
        "reads or atomics under way on a queue pair [the most that both sides support]",
        both([](Config& c) { return &c.endpoint.outstanding_reads; }), {1, 255}),
    row("shared_receives", "--srq", "one shared receive queue for all queue pairs",
        both([](Config& c) { return &c.endpoint.verbs.shared_receives; })),
    row("separate_queues", "--separate-cqs",
        "two completion queues: one for sends, one for receives",
        both([](Config& c) { return &c.endpoint.separate_queues; })),
    row("events", "-e, --events", "sleep until a completion instead of polling",
        both([](Config& c) { return &c.endpoint.events; }), {}, kAlways),
    row("completion_vector", "-X, --completion-vector=N",
        "interrupt vector of the events [by worker]",
        both([](Config& c) { return &c.endpoint.verbs.completion_vector; }), {0, 65535}),
    row("incast_clients", "--clients=N",
        "incast: start when N clients of the server have come, all with this option [1]",
        both([](Config& c) { return &c.traffic.incast_clients; }), {1, kMaxClients}),
    row("incast_job", "--job=NAME",
        "incast: only clients of the same job wait for one another [the launcher's job, else the "
        "user]",
        both([](Config& c) { return &c.traffic.incast_job; })),
    row("client_queue_pairs", "", "", both([](Config& c) { return &c.traffic.client_queue_pairs; }),
        {1, kMaxQueuePairs}),
};

constexpr Option kPathOptions[] = {
    row("backend", "--backend=NAME", "auto, verbs, ofi, ucx or loop [auto]",
        own([](Config& c) { return &c.backend; }), {}, kAlways),
    row("devices", "-d, --device=NAMES",
        "this side's devices: NAME[:PORT] for verbs, a domain for libfabric; several at once are "
        "separated by commas [by route]",
        own([](Config& c) { return &c.placement.devices; })),
    row("provider", "--provider=NAME",
        "libfabric provider, on both sides: tcp, shm, efa ... [by route]",
        both([](Config& c) { return &c.endpoint.ofi.provider; })),
    row("fabric", "--fabric=NAME",
        "libfabric fabric of this side: efa-direct (sends of one packet), efa [by route]",
        own([](Config& c) { return &c.placement.fabric; })),
    row("source_ip", "", "", own([](Config& c) { return &c.placement.source_ip; })),
    row("delivery", "--delivery",
        "libfabric: ask for completion at delivery; 'completion' says what it proves",
        both([](Config& c) { return &c.endpoint.ofi.delivery; })),
    row("shared_memory", "--shared-memory",
        "libfabric: efa may reach a peer on its own host through memory",
        both([](Config& c) { return &c.endpoint.ofi.shared_memory; })),
    row("ucx_tls", "--ucx-tls=LIST",
        "UCX: the transports that it may take, on both sides: tcp, rc, ^posix ... [UCX_TLS, or all]",
        both([](Config& c) { return &c.endpoint.ucx.transports; })),
    row("requirements", "--require=LIST",
        "measure only if: rdma-write, rdma-read (the device does them), no-shm, in-order-128, "
        "gpudirect, backend=NAME, provider=NAME, device=NAME, fabric=NAME; fails instead of "
        "falling back",
        own([](Config& c) { return &c.requirements; })),
    row("service", "-c, --transport=NAME",
        "rc, uc, ud, xrc, dc or srd (verbs); rdm or msg (libfabric); am (UCX) [rc; rdm; tagged]",
        both([](Config& c) { return &c.endpoint.service; }), {}, kAlways),
    row("rdma_cm", "-R, --rdma-cm", "connect by rdma_cm instead of rdmabench's own exchange",
        both([](Config& c) { return &c.endpoint.verbs.rdma_cm; })),
    row("gid_index", "-x, --gid-index=N",
        "RoCE GID of this side's port, or ipv6: one of IPv6 [by route, RoCE v2 first]",
        own([](Config& c) { return &c.placement.gid_index; }),
        {0, 255, Unit::count, "ipv6", transport::kAnyIpv6Gid}),
    row("mtu", "-m, --mtu=N",
        "verbs path MTU: 256, 512, 1024, 2048 or 4096 [the smaller active one]",
        both([](Config& c) { return &c.endpoint.verbs.mtu; }), {256, 4096}),
    row("service_level", "-S, --sl=N", "service level [0]",
        both([](Config& c) { return &c.endpoint.verbs.path.service_level; }), {0, 15}),
    row("traffic_class", "-T, --tclass=N",
        "traffic class; on RoCE v2 the TOS byte: DSCP times 4 [0]",
        both([](Config& c) { return &c.endpoint.verbs.path.traffic_class; }), {0, 255}),
    row("flow_label", "--flow-label=N", "IPv6 flow label [0; UD, DC: one a queue pair]",
        both([](Config& c) { return &c.endpoint.verbs.path.flow_label; }), {0, (1 << 20) - 1}),
    row("hop_limit", "-L, --hop-limit=N", "largest number of hops of a packet [64]",
        both([](Config& c) { return &c.endpoint.verbs.path.hop_limit; }), {0, 255}),
    row("partition_index", "--pkey-index=N", "index of the partition key [0]",
        both([](Config& c) { return &c.endpoint.verbs.path.partition_index; }), {0, 65535}),
    row("qp_timeout", "-u, --qp-timeout=N",
        "wait 4.096 us * 2^N for an acknowledgement before a retry [14]",
        both([](Config& c) { return &c.endpoint.verbs.path.timeout; }), {0, 31}),
    row("retry_count", "--retry-count=N", "number of such retries [6]",
        both([](Config& c) { return &c.endpoint.verbs.path.retry_count; }), {0, 7}),
    row("rnr_retry_count", "--rnr-retry=N",
        "retries where the peer has no receive posted, 7 = without end [7]",
        both([](Config& c) { return &c.endpoint.verbs.path.rnr_retry_count; }), {0, 7}),
    row("rnr_timer", "--rnr-timer=N", "encoded wait before such a retry, 12 = 0.64 ms [12]",
        both([](Config& c) { return &c.endpoint.verbs.path.rnr_timer; }), {0, 31}),
    row("timeout_s", "--timeout=TIME", "fail when nothing completes for this long [10s]",
        own([](Config& c) { return &c.timeout; }), {100, 600'000, Unit::milliseconds}, kAlways),
};

constexpr Option kMemoryOptions[] = {
    row("memory", "--memory=KIND",
        "memory of this side: host, huge[:2M], file:PATH, dmabuf or cuda:GPU[,vmm]; GPU is an "
        "index, a PCI address, GPU-UUID or auto (near the device) [host]",
        own([](Config& c) { return &c.placement.memory; })),
    row("peer_memory", "--peer-memory=KIND",
        "memory of the server: host, huge or cuda:GPU[,vmm] [huge or cuda:auto where --memory is "
        "of that kind, else host]",
        own([](Config& c) { return &c.placement.peer_memory; })),
    row("gpu_mapping", "--gpu-mapping=HOW",
        "how a GPU's dma-buf is mapped, on both sides: default, pcie or data-direct only; auto "
        "uses the first one that registers and otherwise stages through host memory [auto]",
        both([](Config& c) { return &c.endpoint.gpu_mapping; })),
    row("numa", "--numa=NODE", "auto = near the device, none, or a node's number [auto]",
        own([](Config& c) { return &c.placement.numa; })),
    row("working_set_bytes", "--working-set=SIZE",
        "bytes that messages walk through: larger than the cache measures cold memory [one page]",
        both([](Config& c) { return &c.traffic.working_set; }), {0, kMaxWorkingSet, Unit::bytes}),
    row("stride_bytes", "--stride=SIZE",
        "bytes from one message to the next, a multiple of 64 [its size]",
        both([](Config& c) { return &c.traffic.stride; }), {0, kMaxWorkingSet, Unit::bytes}),
    row("misalignment_bytes", "--misalign=N", "bytes off a cache line [0]",
        both([](Config& c) { return &c.endpoint.misalignment; }), {0, 63}),
    row("relaxed_ordering", "--relaxed-ordering",
        "allow PCIe relaxed ordering, where the device supports it; without either flag of a "
        "GPU's memory alone",
        both([](Config& c) { return &c.endpoint.relaxed_ordering; })),
    row("on_demand", "--odp", "on-demand paging instead of pinned pages",
        both([](Config& c) { return &c.endpoint.on_demand; })),
    row("region_per_queue_pair", "--mr-per-qp",
        "a memory region for each queue pair, instead of one for all",
        both([](Config& c) { return &c.endpoint.verbs.region_per_queue_pair; })),
};

constexpr Option kOtherOptions[] = {
    row("watch", "--no-watch",
        "leave out counters, placement and noise of both sides: they take 50 ms",
        both([](Config& c) { return &c.traffic.watch; })),
};

constexpr OptionGroup kGroups[] = {{kSent, kSentOptions},     {kDuration, {}},
                                   {kQueues, kQueueOptions},  {kPath, kPathOptions},
                                   {kMemory, kMemoryOptions}, {kOther, kOtherOptions}};

[[noreturn]] void refuse(const Option& option, const std::string& value, const std::string& may) {
  throw Error(Fault::usage, fmt::format("invalid `{}` {}", option.name, value),
              fmt::format("It may be {}.", may));
}

void check_number(const Option& option, std::int64_t value) {
  const auto& bounds = option.bounds;
  if (value >= bounds.min && value <= bounds.max) return;
  if (!bounds.word.empty() && value == bounds.value) return;
  const auto text = [&bounds](auto number) {
    return bounds.unit == Unit::bytes          ? format_size(static_cast<std::uint64_t>(number))
           : bounds.unit == Unit::milliseconds ? fmt::format("{} ms", number)
                                               : std::to_string(number);
  };
  refuse(option, text(value), fmt::format("{} to {}", text(bounds.min), text(bounds.max)));
}

template <class T>
void check_value(const Option& option, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    const auto& names = names_of(value);
    if (static_cast<std::size_t>(value) < names.size()) return;
    refuse(option, std::to_string(static_cast<unsigned>(value)),
           fmt::format("{}", fmt::join(names, ", ")));
  } else if constexpr (std::is_same_v<T, std::optional<std::uint32_t>>) {
    if (value) check_number(option, *value);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    check_number(option, static_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
    check_number(option, value / std::chrono::milliseconds(1));
  } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
    for (const std::uint64_t one : value) check_number(option, static_cast<std::int64_t>(one));
  }
}

/// Not of sizes, devices and requirements, and of what config_facts() puts into other words.
template <class T>
void add_fact(report::Facts& facts, const Option& option, const T& value) {
  const char* const name = option.name;
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    facts.push_back({name, value});
  } else if constexpr (std::is_integral_v<T>) {
    if (static_cast<std::int64_t>(value) < 0) {
      facts.push_back({name, std::string(option.bounds.word)});
    } else {
      facts.push_back({name, static_cast<std::uint64_t>(value)});
    }
  } else if constexpr (std::is_same_v<T, transport::Service> ||
                       std::is_same_v<T, memory::GpuMapping> ||
                       std::is_same_v<T, workload::ArrivalProcess>) {
    facts.push_back({name, std::string(names_of(value)[static_cast<std::size_t>(value)])});
  } else if constexpr (std::is_same_v<T, std::chrono::nanoseconds>) {
    facts.push_back({name, std::chrono::duration<double>(value).count()});
  } else if constexpr (requires { value.value(); }) {
    if (value) add_fact(facts, option, *value);
  }
}

/// Calls visit(option, value, default value).
template <class Visit>
void for_each_value(Config config, Visit&& visit) {
  Config usual;
  for_each_option([&](const Option& option) {
    std::visit(
        [&](auto* value) { visit(option, *value, *std::get<decltype(value)>(option.in(usual))); },
        option.in(config));
  });
}

}  // namespace

std::string_view Option::long_flag() const {
  const std::size_t begin = std::min(flag.find("--"), flag.size());
  return flag.substr(begin, flag.find('=', begin) - begin);
}

std::span<const OptionGroup> option_groups() {
  return kGroups;
}

const Option* find_option(std::string_view name) {
  const Option* found = nullptr;
  for_each_option([&](const Option& option) {
    if (name == option.name) found = &option;
  });
  return found;
}

void check_bounds(const Config& config) {
  for_each_value(config, [](const Option& option, const auto& value, const auto& usual) {
    if (value != usual) check_value(option, value);
  });
}

void add_facts(report::Facts& facts, const Config& config) {
  for_each_value(config, [&](const Option& option, const auto& value, const auto& usual) {
    if (option.always || value != usual) add_fact(facts, option, value);
  });
}

}  // namespace rdmabench::inline v1::run
