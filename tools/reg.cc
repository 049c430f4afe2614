// rdmabench reg
#include "rdmabench/features.h"

#include "commands.h"
#include "rdmabench/base/error.h"

#if RDMABENCH_HAVE_VERBS
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "ending.h"
#include "launches.h"
#include "options.h"
#include "output.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/buffer.h"
#include "run/registration_cost.h"
#endif

namespace rdmabench::inline v1::tools {

#if RDMABENCH_HAVE_VERBS
namespace {

struct RegOptions : Output {
  std::string device;
  std::vector<memory::Request> memories{memory::Request{}};
  std::vector<std::uint64_t> sizes = parse_size_list("4K,64K,1M,16M");
  memory::Numa numa{.place = memory::Numa::Place::near};
  std::uint64_t unaligned = 0;
  verbs::RegistrationRequest registration{.access = verbs::Access::window};
  run::RegistrationStop stop;
  std::vector<int> cpus;
  Limits expect;
  std::uint32_t launches = 1;
};

void add(run::RegistrationReport& outcome, const run::RegistrationBench& bench,
         const memory::Request& memory, const RegOptions& options, std::uint64_t size) {
  if (memory.kind != memory::Kind::cuda) {
    outcome.results.push_back(bench.measure(memory, options.registration, size, options.stop));
    return;
  }
  run::GpuRoutes routes = bench.measure_routes(memory, options.registration, size, options.stop);
  std::move(routes.costs.begin(), routes.costs.end(), std::back_inserter(outcome.results));
  std::move(routes.refused.begin(), routes.refused.end(),
            std::back_inserter(outcome.refused_routes));
}

run::RegistrationReport measure(const RegOptions& options) {
  for (const memory::Request& memory : options.memories) memory::check_available(memory);
  const run::RegistrationBench bench(options.device);
  run::RegistrationReport outcome;
  outcome.device = bench.device();
  for (memory::Request memory : options.memories) {
    memory.numa = options.numa;
    memory.unaligned = options.unaligned;
    for (const std::uint64_t size : options.sizes) {
      if (!interrupted().empty()) continue;
      try {
        add(outcome, bench, memory, options, size);
      } catch (const Error& error) {
        if (outcome.refusals.empty()) outcome.fault = error.fault();
        outcome.refusals.push_back(
            fmt::format("{}, {}: {}", to_text(memory), format_size(size), error.what()));
      }
      catch_interruption();
    }
  }
  if (!interrupted().empty()) outcome.refusals.push_back(interrupted());
  return outcome;
}

int reg(RegOptions& options) {
  settle_format(options);
  if (const auto code = begin_launches(options.launches, options, options.expect)) return *code;
  if (!options.cpus.empty()) pin_this_thread(options.cpus.front());
  const run::RegistrationReport outcome = measure(options);
  const std::string& format = options.format;
  const Judged judged = judge(to_document(outcome), options.expect);
  if (launch_part().is_launch()) hand_over(judged.json);
  const std::string text =
      format == "json"  ? judged.json
      : format == "csv" ? to_csv(outcome)
                        : for_reading(to_table(outcome, table_width(options.wide)), options.output);
  if (!outcome.results.empty() || format == "json" || !options.json.empty()) {
    write_judged(text, judged, options);
  }
  for (const std::string& refusal : outcome.refusals) tell(refusal);
  if (!outcome.refusals.empty()) return static_cast<int>(outcome.fault);
  return judged.failed ? static_cast<int>(Fault::failed) : 0;
}

void add_options(CLI::App& app, RegOptions& options) {
  const OptionGroup group(app);
  group.add("-d, --device=NAME", options.device, "NAME or NAME:PORT [the first]");
  group.add("-s, --size=SIZES", options.sizes,
            "bytes to register: 8, or 4K,1M, or 4K:1G for every doubling [4K,64K,1M,16M]");
  const auto set_memories = [&](const std::vector<std::string>& texts) {
    options.memories.clear();
    for (const std::string& text : texts) options.memories.push_back(memory::parse_request(text));
  };
  group
      .texts("--memory=KIND",
             "host, huge[:2M|:1G], file:PATH[@OFFSET], dmabuf or cuda:GPU[,vmm]; may be repeated; "
             "GPU memory is registered by every route [host]",
             set_memories)
      ->allow_extra_args(false);
  group.add("--numa=NODE", options.numa,
            "NUMA node: auto (near the device), none (any) or a number [auto]", memory::parse_numa);
  group.add("--unaligned=BYTES", options.unaligned, "offset of the memory in its first page [0]");
  group.add("--relaxed-ordering", options.registration.relaxed_ordering,
            "allow the device to reorder its writes");
  group.add("--odp", options.registration.on_demand,
            "page on demand; an error if the device does not support it");
  group.add("--require-dmabuf", options.registration.require_dma_buf,
            "an error if the device does not support dma-buf, instead of pinning");
  group.call("--atomics", "also allow remote atomics", [&](const Given& /*given*/) {
    options.registration.more_access = IBV_ACCESS_REMOTE_ATOMIC;
  });
  group.call("-n, --iterations=N", "calls of each kind per size [1000, or fewer in 1 s]",
             [&](const Given& given) {
               options.stop = {
                   .iterations = std::clamp<std::uint64_t>(parse_count(given.text), 1, 10'000'000),
                   .time = std::chrono::hours(1)};
             });
  add_launches(group, options.launches);
  add_cpus(group, options.cpus);
  add_formats(group, options, kTableFormats);
  add_wide(group, options.wide);
  add_expect(OptionGroup(app, "Limits"), options.expect);
}

}  // namespace
#endif

void add_reg(CLI::App& app, Command& command) {
  constexpr const char* kAbout =
      "Measure the cost of registering memory with a device; needs no server";
#if RDMABENCH_HAVE_VERBS
  const auto [sub, options] = add_command<RegOptions>(
      app, command, "reg", kAbout,
      "The memory is touched first. Each sample is one ibv_reg_mr() or ibv_dereg_mr() call. Below\n"
      "the table: the route used, and why the others were not.\n"
      "\n"
      "Examples:\n"
      "  rdmabench reg -s 4K:1G                        host memory, a sweep\n"
      "  rdmabench reg --memory host --memory huge     side by side\n"
      "  rdmabench reg --memory cuda:0 --memory cuda:0,vmm   every route for GPU memory\n"
      "  rdmabench reg --memory dmabuf --format json",
      reg);
  add_options(sub, options);
#else
  struct None {};
  const auto refuse = [](None& /*options*/) -> int {
    throw Error(Fault::unavailable, "this build of rdmabench has no verbs",
                "Build it with -DRDMABENCH_VERBS=ON.");
  };
  add_command<None>(app, command, "reg", kAbout, "", refuse).first.allow_extras();
#endif
}

}  // namespace rdmabench::inline v1::tools
