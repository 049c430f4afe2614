
#include <fmt/format.h>

#include <algorithm>

#include "base/refuse.h"
#include "flags/values.h"
#include "options.h"
#include "rdmabench/base/units.h"

namespace rdmabench::inline v1::tools {
namespace {

void set_stop(Options& options, const Given& given, const measure::StopRule& rule) {
  refuse_if(!options.stop.empty(), fmt::format("{} and {} together", options.stop, given.name),
            "Give one of them, or neither to measure until the epochs agree within 0.5 %.");
  options.stop = given.name;
  options.config.stop = rule;
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

/// "200k", "1.5M" messages per second, or "10Gb", "800Mb" (a "/s" may follow) of payload.
void set_rate(Options& options, const Given& given) {
  std::string_view amount = given.text;
  if (amount.ends_with("/s")) amount.remove_suffix(2);
  const bool bits = amount.ends_with('b');
  if (bits) amount.remove_suffix(1);
  const bool bytes = amount.ends_with('B');  // and not a billion
  const double rate = bytes ? 0 : quantity_of(amount).value_or(0);
  const bool giga = amount.ends_with('G') || amount.ends_with('g');  // messages: no device has them
  refuse_if(giga && !bits, fmt::format("--rate '{}' is {} messages per second", given.text, amount),
            fmt::format("Did you mean {}b, of payload?", amount));
  refuse_if(!(rate > 0) || rate > 1e15, fmt::format("invalid --rate '{}'", given.text),
            "Write messages per second as 200k or 1.5M, payload as 10Gb or 800Mb.");
  (bits ? options.config.bit_rate : options.config.rate) = rate;
}

/// A flag that sets no single option of a run::Config.
struct Extra {
  std::string_view group;
  std::string_view after;  ///< the option that it stands behind; "" = at the beginning
  Spelling flag;
  std::string_view text;
  void (*set)(Options& options, const Given& given);
  run::TestSet tests = run::kEveryTest;
};

constexpr Extra kExtras[] = {
    {run::kSent, "sizes", "-a, --all", "every doubling from 1 byte to 8 MiB; short for --size 1:8M",
     [](Options& o, const Given& /*given*/) { o.config.sizes = parse_size_list("1:8M"); }},
    {run::kSent, "sizes", "-b, --bidirectional",
     "both sides send at once; the figures count both directions, timed over one interval",
     [](Options& o, const Given& /*given*/) {
       o.config.traffic.shape = workload::Shape::bidirectional;
     },
     run::kBw},
    {run::kSent, "target_idle", "--rate=RATE",
     "messages per second: 200k, 1.5M; or payload: 10Gb, 800Mb "
     "[as fast as possible; load: from 10 to 110 % of capacity]",
     set_rate, run::kBw | run::kLoad},
    {run::kDuration, "", "-n, --iterations=N",
     "messages per size: 1000 or 5k [until epochs agree within 0.5 %]",
     [](Options& o, const Given& given) {
       set_stop(o, given, measure::StopRule::iterations(parse_count(given.text)));
     }},
    {run::kDuration, "", "-D, --duration=TIME",
     "time per size: 10, 250ms or 2m [until epochs agree within 0.5 %]",
     [](Options& o, const Given& given) {
       set_stop(o, given, measure::StopRule::duration(duration(given)));
     }},
    {run::kDuration, "", "--max-time=TIME",
     "time per size after which it ends, stable or not; earlier where all of it would not be "
     "enough [10s]",
     set_max_time},
    {run::kDuration, "", "--launches=N", kLaunchesHelp, set<&Options::launches, 1, kMaxLaunches>},
    {run::kDuration, "", "--warmup=N|TIME",
     "messages, or time such as 100ms, per size before what is timed [200, fewer if large]",
     set_warmup},
    {run::kQueues, "incast_job", "--peers=N",
     "UD: one queue pair of this side sends to N of the server's [one each]",
     [](Options& o, const Given& given) {
       set_value(o.config.endpoint.queue_pairs, given, {1, run::kMaxQueuePairs});
       o.config.traffic.client_queue_pairs = 1;
     }},
    {run::kPath, "devices", "-i, --ib-port=N", "port of --device NAME [by route]",
     set<&Options::port_number, 1, 255>},
    {run::kMemory, "relaxed_ordering", "--no-relaxed-ordering",
     "no PCIe relaxed ordering, of a GPU's memory neither",
     [](Options& o, const Given& /*given*/) { o.config.endpoint.relaxed_ordering = false; }},
    {run::kOther, "watch", "-F, --CPU-freq",
     "no effect; accepted because perftest's scripts pass it",
     [](Options& /*o*/, const Given& /*given*/) {}},
};

}  // namespace

void add_options(CLI::App& app, Options& options, std::string_view group, run::TestSet tests) {
  const OptionGroup to(app, std::string(group));
  const auto add_extras = [&](std::string_view after) {
    for (const Extra& extra : kExtras) {
      if (extra.group != group || extra.after != after || (extra.tests & tests) == 0) continue;
      to.call(extra.flag, std::string(extra.text),
              [&options, &extra](const Given& given) { extra.set(options, given); });
    }
  };
  add_extras("");
  for (const run::OptionGroup& one : run::option_groups()) {
    if (one.title != group) continue;
    for (const run::Option& option : one.options) {
      if (!option.flag.empty() && (option.tests & tests) != 0) {
        to.call(option.flag, std::string(option.text), [&options, &option](const Given& given) {
          set_option(option, options.config, given);
        });
      }
      add_extras(option.name);
    }
  }
}

}  // namespace rdmabench::inline v1::tools
