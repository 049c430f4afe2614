#include "options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "parse.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"

namespace rdmabench::tools {
namespace {

void set_stop(Options& options, const char* name, const measure::StopRule& rule) {
  if (!options.stop.empty()) {
    throw Error(Fault::usage, fmt::format("{} and {} together", options.stop, name),
                "Give one of them, or neither to measure until the result is stable.");
  }
  options.stop = name;
  options.config.stop = rule;
}

/// An option with a whole number within bounds.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& names, T& value, std::uint64_t min,
                        std::uint64_t max, const std::string& help) {
  const std::string name = names.substr(names.rfind('-', names.rfind("--") + 1) - 1);
  return add_parsed(
             app, names,
             [&value, name, min, max](const std::string& text) {
               value = parse_bounded<T>(name.c_str(), text, min, max);
             },
             help)
      ->type_name("N");
}

void add_stopping(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  const std::string group = "How long";
  add_parsed(
      app, "-n,--iterations",
      [&](const std::string& text) {
        set_stop(options, "--iterations", measure::StopRule::iterations(parse_count(text)));
      },
      "messages per size: 1000 or 5k [until stable]")
      ->type_name("N")
      ->group(group);
  add_parsed(
      app, "-D,--duration",
      [&](const std::string& text) {
        set_stop(options, "--duration", measure::StopRule::duration(parse_duration(text)));
      },
      "time per size: 10, 250ms or 2m [until stable]")
      ->type_name("TIME")
      ->group(group);
  add_parsed(
      app, "--max-time",
      [&](const std::string& text) {
        measure::Stability stability;
        stability.max_time = parse_duration(text);
        stability.min_time = std::min(stability.min_time, stability.max_time);
        set_stop(options, "--max-time", measure::StopRule::stable(stability));
      },
      "time per size after which it ends, stable or not [10s]")
      ->type_name("TIME")
      ->group(group);
  add_parsed(
      app, "--warmup",
      [&](const std::string& text) {
        if (text.ends_with('s') || text.ends_with('m')) {
          config.warmup_time = parse_duration(text);
        } else {
          config.warmup = parse_bounded<std::int64_t>("--warmup", text, 0, 1U << 30);
        }
      },
      "messages, or time such as 100ms, per size before what is timed [200, fewer if large]")
      ->type_name("N|TIME")
      ->group(group);
}

void add_traffic(CLI::App& app, Options& options, Test test) {
  run::Config& config = options.config;
  const std::string group = "What is sent";
  add_parsed(
      app, "--op", [&](const std::string& text) { config.operation = parse_operation(text); },
      fmt::format("{} [{}]", fmt::join(transport::kOperationNames, ", "),
                  test == Test::load ? "send-imm" : "send"))
      ->type_name("OP")
      ->group(group);
  add_parsed(
      app, "-s,--size", [&](const std::string& text) { config.sizes = parse_size_list(text); },
      "message sizes in bytes: 8, or 8,64,4K, or 1:8M for every doubling [8; bw: 64K]")
      ->type_name("SIZES")
      ->group(group);
  app.add_flag_callback(
         "-a,--all", [&] { config.sizes = parse_size_list("1:8M"); },
         "every doubling from 1 byte to 8 MiB; short for --size 1:8M")
      ->group(group);
  if (test == Test::bandwidth) {
    app.add_flag_callback(
           "-b,--bidirectional", [&] { config.shape = workload::Shape::duplex; },
           "both sides send at once; the figures count both ways, over one common window")
        ->group(group);
    add_parsed(
        app, "--interval", [&](const std::string& text) { config.interval = parse_duration(text); },
        "report also what each such time gave, between epochs and never during one")
        ->type_name("TIME")
        ->group(group);
  }
  if (test == Test::latency) {
    app.add_flag("--target-idle", config.target_idle,
                 "the target does not touch the endpoint at all: is one-sided one-sided here?")
        ->group(group);
  }
  if (test != Test::latency) {
    add_parsed(
        app, "--rate", [&](const std::string& text) { set_rate(config, text); },
        "messages per second: 200k, 1.5M; or payload: 10Gb, 800Mb [as fast as it goes; load: from "
        "10 to 110 % of capacity]")
        ->type_name("RATE")
        ->group(group);
    add_number(app, "-l,--post-list", config.post_list, 1, run::kMaxPostList,
               "messages handed over by one call [1]")
        ->group(group);
  }
  add_number(app, "--sge", config.segments, 1, run::kMaxSegments,
             "scatter/gather entries that a message is split into [1]")
      ->group(group);
  add_parsed(
      app, "-I,--inline",
      [&](const std::string& text) {
        config.inline_limit = text == "auto" ? -1
                                             : static_cast<std::int32_t>(std::min<std::uint64_t>(
                                                   parse_size(text), std::uint64_t{1} << 20));
      },
      "largest message to send inline (verbs) or inject (libfabric), 0 for none [auto]")
      ->type_name("SIZE")
      ->group(group);
  app.add_flag("--validate", config.validate,
               "fill and compare every message; the figures include the target's share of it")
      ->group(group);
}

void add_queues(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  const std::string group = "Queues";
  add_number(app, "-q,--qps", config.queue_pairs, 1, run::kMaxQueuePairs,
             "queue pairs of each thread [1]")
      ->group(group);
  add_number(app, "--threads", config.workers, 1, run::kMaxWorkers,
             "threads on each side, each with its queue pairs and completion queue [1, or one for "
             "each device]")
      ->group(group);
  add_number(app, "-t,--depth", config.depth, 1, run::kMaxDepth,
             "messages outstanding on each queue pair [bw: 128; lat: 16, of which it uses one]")
      ->group(group);
  add_number(app, "-r,--receives", config.receives, 1, 2 * run::kMaxDepth,
             "receives kept posted on each queue pair [512 over all; lat: 8]")
      ->group(group);
  add_number(app, "-Q,--signal-every", config.signal_every, 1, run::kMaxDepth,
             "ask for one completion in N messages [bw: 32; lat: 8]")
      ->group(group);
  add_number(app, "-o,--outstanding", config.outstanding_reads, 1, 255,
             "reads or atomics under way on a queue pair [the most both sides take]")
      ->group(group);
  app.add_flag("--srq", config.shared_receives, "one shared receive queue for all queue pairs")
      ->group(group);
  app.add_flag("--separate-cqs", config.separate_queues,
               "completions of sends and of receives in two queues")
      ->group(group);
  app.add_flag("-e,--events", config.events, "sleep for completions instead of polling")
      ->group(group);
  add_number(app, "-X,--completion-vector", config.completion_vector, 0, 65535,
             "interrupt vector of the events [0]")
      ->group(group);
  add_number(app, "--clients", config.clients, 1, run::kMaxClients,
             "incast: start when so many clients of the server have come, all with this option [1]")
      ->group(group);
  add_parsed(
      app, "--peers",
      [&](const std::string& text) {
        config.queue_pairs = parse_bounded<std::uint32_t>("--peers", text, 1, run::kMaxQueuePairs);
        config.client_queue_pairs = 1;
      },
      "UD: one queue pair of this side sends to N of the server's [one each]")
      ->type_name("N")
      ->group(group);
}

void add_path(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  const std::string group = "Which way";
  app.add_option("--backend", config.backend, "auto, verbs, ofi or loop [auto]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("-d,--device", config.devices,
                 "this side's devices: NAME[:PORT] for verbs, a domain for libfabric; several, "
                 "parted by commas, at once [by route]")
      ->delimiter(',')
      ->type_name("NAMES")
      ->group(group);
  add_number(app, "-i,--ib-port", options.port_number, 1, 255, "port of --device NAME [by route]")
      ->group(group);
  app.add_option("--provider", config.provider,
                 "libfabric provider, on both sides: tcp, shm, efa ... [by route]")
      ->type_name("NAME")
      ->group(group);
  app.add_option("--fabric", config.fabric,
                 "libfabric fabric of this side, by name: efa, efa-direct [by route]")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--delivery", config.delivery,
               "libfabric: a local completion means that the peer has it all")
      ->group(group);
  app.add_flag("--shared-memory", config.shared_memory,
               "libfabric: let efa reach a peer of its own host through memory")
      ->group(group);
  add_parsed(
      app, "--require",
      [&](const std::string& text) { config.requirements = run::parse_requirements(text); },
      "measure only if: rdma-write, rdma-read (the device does them), no-shm, in-order-128, "
      "fabric=NAME")
      ->type_name("LIST")
      ->group(group);
  add_parsed(
      app, "-c,--transport", [&](const std::string& text) { config.service = parse_service(text); },
      "rc, uc, ud, xrc, dc or srd (verbs); rdm or msg (libfabric) [rc; rdm]")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("-R,--rdma-cm", config.connection_manager,
               "connect by rdma_cm and not by our own exchange")
      ->group(group);
  add_number(app, "-x,--gid-index", config.gid_index, 0, 255,
             "RoCE GID of this side's port [by route, RoCE v2 first]")
      ->group(group);
  add_number(app, "-m,--mtu", config.mtu, 256, 4096,
             "verbs path MTU: 256, 512, 1024, 2048 or 4096 [the smaller active one]")
      ->group(group);
  transport::PathOptions& path = config.path;
  add_number(app, "-S,--sl", path.service_level, 0, 15, "service level [0]")->group(group);
  add_number(app, "-T,--tclass", path.traffic_class, 0, 255,
             "traffic class; on RoCE v2 the TOS byte: DSCP times 4 [0]")
      ->group(group);
  add_number(app, "--flow-label", path.flow_label, 0, (1 << 20) - 1, "IPv6 flow label [0]")
      ->group(group);
  add_number(app, "-L,--hop-limit", path.hop_limit, 0, 255, "hops that a packet may go [64]")
      ->group(group);
  add_number(app, "--pkey-index", path.partition_index, 0, 65535, "partition key's index [0]")
      ->group(group);
  add_number(app, "-u,--qp-timeout", path.timeout, 0, 31,
             "acknowledgements are waited for 4.096 us * 2^N before a retry [14]")
      ->group(group);
  add_number(app, "--retry-count", path.retry_count, 0, 7, "such retries [6]")->group(group);
  add_number(app, "--rnr-retry", path.rnr_retry_count, 0, 7,
             "retries where the peer has no receive, 7 = for ever [7]")
      ->group(group);
  add_number(app, "--rnr-timer", path.rnr_timer, 0, 31,
             "encoded wait before such a retry, 12 = 0.64 ms [12]")
      ->group(group);
  add_parsed(
      app, "--timeout", [&](const std::string& text) { config.timeout = parse_duration(text); },
      "give up when nothing moves for this long [10s]")
      ->type_name("TIME")
      ->group(group);
}

void add_memory(CLI::App& app, Options& options) {
  run::Config& config = options.config;
  const std::string group = "Memory";
  app.add_option("--memory", config.memory,
                 "host, huge[:2M], file:PATH, dmabuf or cuda:GPU[,vmm]; GPU is an index, a PCI "
                 "address, GPU-UUID or auto (near the device); of this side [host]")
      ->type_name("KIND")
      ->group(group);
  app.add_option("--peer-memory", config.peer_memory,
                 "the server's: host, huge or cuda:GPU[,vmm] [in kind: huge or cuda:auto where "
                 "--memory is, else host]")
      ->type_name("KIND")
      ->group(group);
  app.add_option(
         "--gpu-mapping", config.gpu_mapping,
         "of a GPU's dma-buf, on both sides: default, pcie or data-direct, and then nothing "
         "else; auto takes what registers, at the worst staged through the host [auto]")
      ->type_name("HOW")
      ->check(CLI::IsMember({"auto", "default", "pcie", "data-direct"}))
      ->group(group);
  app.add_option("--numa", config.numa, "auto = near the device, none, or a node's number [auto]")
      ->type_name("NODE")
      ->group(group);
  add_parsed(
      app, "--working-set", [&](const std::string& text) { config.working_set = parse_size(text); },
      "bytes that messages walk through: larger than the cache measures cold memory [one page]")
      ->type_name("SIZE")
      ->group(group);
  add_parsed(
      app, "--stride", [&](const std::string& text) { config.stride = parse_size(text); },
      "bytes from one message to the next, a multiple of 64 [its size]")
      ->type_name("SIZE")
      ->group(group);
  add_number(app, "--misalign", config.misalignment, 0, 63, "bytes off a cache line [0]")
      ->group(group);
  app.add_flag("--relaxed-ordering", config.relaxed_ordering,
               "allow PCIe relaxed ordering, where the device takes it")
      ->group(group);
  app.add_flag("--odp", config.on_demand, "on-demand paging instead of pinned pages")->group(group);
}

}  // namespace

void add_measuring(CLI::App& app, Options& options, Test test) {
  app.get_formatter()->column_width(34);
  app.add_option("HOST", options.host, "the server's name or address (not with --backend loop)");
  add_traffic(app, options, test);
  add_stopping(app, options);
  add_queues(app, options);
  add_path(app, options);
  add_memory(app, options);
  add_port(app, options.port);
  add_cpus(app, options.config.cpus);
  add_output(app, options);
  app.add_flag("!--no-watch", options.config.watch,
               "leave out counters, placement and noise of both sides: they take 50 ms");
  app.add_flag_callback(
      "-F,--CPU-freq", [] {}, "accepted for perftest's sake: our clock does not depend on it");
}

void add_link(CLI::App& app, Options& options) {
  app.get_formatter()->column_width(34);
  add_queues(app, options);
  add_path(app, options);
  add_memory(app, options);
  add_cpus(app, options.config.cpus);
}

void add_output(CLI::App& app, Options& options) {
  app.add_option("--format", options.format, "table, json, csv or perftest [table]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv", "perftest"}));
  app.add_option("--output", options.output, "write the results to FILE [standard output]")
      ->type_name("FILE");
  app.add_flag("--verbose", options.verbose, "show every suspicion with its numbers");
}

void add_cpus(CLI::App& app, std::vector<int>& cpus) {
  app.add_option("--cpu", cpus,
                 "processors to run on: one for each thread, parted by commas [where the kernel "
                 "puts it]")
      ->delimiter(',')
      ->check(CLI::Range(0, 1023))
      ->type_name("N");
}

void add_port(CLI::App& app, std::uint16_t& port) {
  add_number(app, "-p,--port", port, 0, 65535, "TCP port of the server [18515]");
}

void settle(Options& options) {
  run::Config& config = options.config;
  const bool loop = config.backend == "loop";
  if (loop && !options.host.empty()) {
    throw Error(Fault::usage, fmt::format("--backend loop with the host '{}'", options.host),
                "The loop back end stays in this process: leave out the host.");
  }
  if (loop && !config.cpus.empty()) {
    throw Error(
        Fault::usage, fmt::format("--cpu {} with --backend loop", fmt::join(config.cpus, ",")),
        "Both ends are threads of this process and would share that processor: leave it out.");
  }
  if (!loop && options.host.empty()) {
    throw Error(Fault::usage, "no HOST to measure against",
                "Name the machine where 'rdmabench serve' runs, or add --backend loop.");
  }
  if (options.port_number != 0) {
    if (config.devices.size() != 1 || config.devices[0].find(':') != std::string::npos) {
      throw Error(Fault::usage, fmt::format("--ib-port {}", options.port_number),
                  "It goes with one --device NAME; with several write NAME:PORT,NAME:PORT.");
    }
    config.devices[0] += fmt::format(":{}", options.port_number);
  }
  config.workers = std::max(config.workers, static_cast<std::uint32_t>(config.devices.size()));
  if (transport::is_atomic(config.operation) && config.sizes == parse_size_list("64K")) {
    config.sizes = {transport::kAtomicBytes};  // the default of bw
  }
  settle_backend(config);
}

}  // namespace rdmabench::tools
