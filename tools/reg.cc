// rdmabench reg
#include "rdmabench/features.h"

#include "commands.h"
#include "rdmabench/base/error.h"

#if RDMABENCH_HAVE_VERBS
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options.h"
#include "output.h"
#include "rdmabench/base/affinity.h"
#include "rdmabench/base/units.h"
#include "rdmabench/memory/request.h"
#include "rdmabench/report/fact.h"
#include "rdmabench/report/text_table.h"
#include "rdmabench/run/registration_cost.h"
#endif

namespace rdmabench::tools {

#if RDMABENCH_HAVE_VERBS
namespace {

using Json = nlohmann::ordered_json;
using run::RegistrationCost;
using Summary = measure::LatencySummary;

constexpr double kNsPerUs = 1e3;
constexpr double kMebi = 1024.0 * 1024.0;

struct RegOptions {
  std::string device;
  std::vector<memory::Request> memories;
  std::vector<std::uint64_t> sizes;
  memory::Numa numa{.place = memory::Numa::Place::near};
  std::uint64_t unaligned = 0;
  verbs::RegistrationRequest registration{.access = verbs::Access::window};
  run::RegistrationStop stop;
  std::vector<int> cpus;
  Options common;  ///< --format and --output
};

/// What was measured, and what could not be.
struct Outcome {
  std::string device;
  std::vector<RegistrationCost> results;
  std::vector<run::RefusedWay> refused_ways;  ///< of GPU memory; others worked
  std::vector<std::string> refusals;
  Fault fault = Fault::failed;  ///< of the first refusal
};

void add(Outcome& outcome, const run::RegistrationBench& bench, const memory::Request& memory,
         const RegOptions& options, std::uint64_t size) {
  if (memory.kind != memory::Kind::cuda) {
    outcome.results.push_back(bench.measure(memory, options.registration, size, options.stop));
    return;
  }
  run::GpuWays ways = bench.measure_ways(memory, options.registration, size, options.stop);
  std::move(ways.costs.begin(), ways.costs.end(), std::back_inserter(outcome.results));
  std::move(ways.refused.begin(), ways.refused.end(), std::back_inserter(outcome.refused_ways));
}

Outcome measure(const RegOptions& options) {
  for (const memory::Request& memory : options.memories) memory::check_here(memory);
  const run::RegistrationBench bench(options.device);
  Outcome outcome;
  outcome.device = bench.device();
  for (memory::Request memory : options.memories) {
    memory.numa = options.numa;
    memory.unaligned = options.unaligned;
    for (const std::uint64_t size : options.sizes) {
      try {
        add(outcome, bench, memory, options, size);
      } catch (const Error& error) {
        if (outcome.refusals.empty()) outcome.fault = error.fault();
        outcome.refusals.push_back(
            fmt::format("{}, {}: {}", to_text(memory), format_size(size), error.what()));
      }
    }
  }
  return outcome;
}

std::string microseconds(double ns) {
  return fmt::format("{:.2f}", ns / kNsPerUs);
}

std::string percentile(const Summary& summary, double p, double ns) {
  return summary.supports(p) ? microseconds(ns) : "-";
}

std::string route_text(verbs::Route route, const std::string& mapping) {
  return fmt::format("{}{}{}", name(route), mapping.empty() ? "" : ", mapping ", mapping);
}

/// Each way by which GPU memory does not register, once for each kind of memory and reason.
std::string refusals_text(const std::vector<run::RefusedWay>& ways) {
  std::string text;
  std::vector<std::string> said;
  for (const run::RefusedWay& way : ways) {
    const std::string line =
        fmt::format("{}: not {}: {}\n", way.memory, route_text(way.route, way.mapping), way.reason);
    if (std::find(said.begin(), said.end(), line) != said.end()) continue;
    text += (said.empty() ? "\n" : "") + line;
    said.push_back(line);
  }
  return text;
}

/// Why this route and no other, where the memory is and what a reader must know of it: once for
/// each run of results that agree in it, by the words of its first.
std::string explanations(const std::vector<RegistrationCost>& results) {
  std::string text;
  const RegistrationCost* last = nullptr;
  for (const RegistrationCost& result : results) {
    if (last != nullptr && last->memory == result.memory && last->route == result.route &&
        last->mapping == result.mapping) {
      continue;
    }
    last = &result;
    text += fmt::format("\n{}: {}\n", result.memory, route_text(result.route, result.mapping));
    for (const verbs::RegistrationAttempt& attempt : result.others) {
      text += fmt::format("  not {}: {}\n", name(attempt.route), attempt.reason);
    }
    if (result.nodes.empty()) {
      text += fmt::format("  on {}\n", result.placement);
    } else {
      text += fmt::format("  placed {}; at {}: {} of {}\n", result.placement,
                          format_size(result.size_bytes), memory::to_text(result.nodes),
                          format_size(result.page_bytes));
    }
    if (result.route == verbs::Route::staged) {
      text += "  note: this registers pinned host memory; the wire would never see the GPU's\n";
    }
    for (const std::string& note : result.notes) text += fmt::format("  note: {}\n", note);
  }
  return text;
}

std::string to_table(const Outcome& outcome) {
  using report::TextTable;
  TextTable table({{"memory", TextTable::Align::left},
                   {"size"},
                   {"calls"},
                   {"min[us]"},
                   {"p50[us]"},
                   {"p99[us]"},
                   {"max[us]"},
                   {"MiB/s"},
                   {"dereg p50[us]"},
                   {"p99[us]"},
                   {"route", TextTable::Align::left}});
  for (const RegistrationCost& one : outcome.results) {
    const Summary& made = one.registering;
    const Summary& undone = one.deregistering;
    table.add_row({one.memory, format_size(one.size_bytes), fmt::format("{}", made.count),
                   microseconds(made.min_ns), microseconds(made.p50_ns),
                   percentile(made, 99, made.p99_ns), microseconds(made.max_ns),
                   fmt::format("{:.0f}", one.bytes_per_s() / kMebi), microseconds(undone.p50_ns),
                   percentile(undone, 99, undone.p99_ns), route_text(one.route, one.mapping)});
  }
  return fmt::format("Registration of memory on {}; MiB/s at the median\n\n{}{}", outcome.device,
                     table.text(),
                     explanations(outcome.results) + refusals_text(outcome.refused_ways));
}

void add_times(Json& object, const std::string& call, const Summary& summary) {
  object[call + "_min_ns"] = summary.min_ns;
  object[call + "_p50_ns"] = summary.p50_ns;
  object[call + "_p99_ns"] = summary.supports(99) ? Json(summary.p99_ns) : Json(nullptr);
  object[call + "_max_ns"] = summary.max_ns;
  object[call + "_mean_ns"] = summary.mean_ns;
}

/// What JSON and CSV have in common.
Json to_object(const RegistrationCost& one) {
  Json object;
  object["memory"] = one.memory;
  object["size_bytes"] = one.size_bytes;
  object["iterations"] = one.registering.count;
  object["route"] = name(one.route);
  object["mapping"] = one.mapping;
  add_times(object, "register", one.registering);
  object["register_bytes_per_s"] = one.bytes_per_s();
  add_times(object, "deregister", one.deregistering);
  object["placement"] = one.placement;
  object["page_bytes"] = one.page_bytes;
  return object;
}

Json facts() {
  Json list = Json::array();
  for (const report::Fact& fact : report::collect_environment()) {
    std::visit(
        [&](const auto& value) {
          list.push_back({{"name", fact.name}, {"value", value}});
        },
        fact.value);
  }
  return list;
}

std::string to_json(const Outcome& outcome) {
  Json results = Json::array();
  for (const RegistrationCost& one : outcome.results) {
    Json object = to_object(one);
    object["nodes"] = Json::array();
    for (const memory::NodePages& place : one.nodes) {
      object["nodes"].push_back({{"node", place.node}, {"pages", place.pages}});
    }
    object["other_routes"] = Json::array();
    for (const verbs::RegistrationAttempt& attempt : one.others) {
      object["other_routes"].push_back(
          {{"route", name(attempt.route)}, {"reason", attempt.reason}});
    }
    object["notes"] = one.notes;
    results.push_back(std::move(object));
  }
  Json refused = Json::array();
  for (const run::RefusedWay& way : outcome.refused_ways) {
    refused.push_back({{"memory", way.memory},
                       {"size_bytes", way.size_bytes},
                       {"route", name(way.route)},
                       {"mapping", way.mapping},
                       {"reason", way.reason}});
  }
  const Json document = {{"schema", "rdmabench/1"},      {"test", "registration"},
                         {"errors", outcome.refusals},   {"environment", {{"client", facts()}}},
                         {"device", outcome.device},     {"results", std::move(results)},
                         {"refused", std::move(refused)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

/// RFC 4180, with the names of the JSON.
std::string to_csv(const Outcome& outcome) {
  const auto line = [](const Json& object, bool heading) {
    std::string text;
    for (const auto& [key, value] : object.items()) {
      const std::string cell = value.is_null()     ? ""
                               : value.is_string() ? value.get<std::string>()
                                                   : value.dump();
      text += (text.empty() ? "" : ",") + quoted(heading ? key : cell);
    }
    return text + "\r\n";
  };
  std::string text = line(to_object({}), true);
  for (const RegistrationCost& one : outcome.results) text += line(to_object(one), false);
  return text;
}

int reg(const RegOptions& options) {
  if (!options.cpus.empty()) pin_this_thread(options.cpus.front());
  const Outcome outcome = measure(options);
  const std::string& format = options.common.format;
  const std::string text = format == "json"  ? to_json(outcome)
                           : format == "csv" ? to_csv(outcome)
                                             : to_table(outcome);
  if (!outcome.results.empty() || format == "json") {
    if (options.common.output.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      write_file(text, options.common.output);
    }
  }
  for (const std::string& refusal : outcome.refusals) {
    std::fputs(fmt::format("rdmabench: {}\n", refusal).c_str(), stderr);
  }
  return outcome.refusals.empty() ? 0 : static_cast<int>(outcome.fault);
}

void add_options(CLI::App& app, RegOptions& options) {
  app.get_formatter()->column_width(34);
  app.add_option("-d,--device", options.device, "NAME or NAME:PORT [the first]")->type_name("NAME");
  add_parsed(
      app, "-s,--size", [&](const std::string& text) { options.sizes = parse_size_list(text); },
      "bytes to register: 8, or 4K,1M, or 4K:1G for every doubling [4K,64K,1M,16M]")
      ->type_name("SIZES");
  app.add_option_function<std::vector<std::string>>(
         "--memory",
         [&](const std::vector<std::string>& texts) {
           options.memories.clear();
           for (const std::string& text : texts) {
             options.memories.push_back(memory::parse_request(text));
           }
         },
         "host, huge[:2M|:1G], file:PATH[@OFFSET], dmabuf or cuda:GPU[,vmm]; may be repeated; a "
         "GPU's by every way there is [host]")
      ->type_name("KIND")
      ->allow_extra_args(false);
  add_parsed(
      app, "--numa", [&](const std::string& text) { options.numa = memory::parse_numa(text); },
      "auto (near the device), none or a node's number [auto]")
      ->type_name("NODE");
  add_parsed(
      app, "--unaligned", [&](const std::string& text) { options.unaligned = parse_size(text); },
      "begin this many bytes into a page [0]")
      ->type_name("BYTES");
  app.add_flag("--relaxed-ordering", options.registration.relaxed_ordering,
               "let the device's writes pass each other");
  app.add_flag("--odp", options.registration.on_demand,
               "page on demand; an error where the device cannot");
  app.add_flag("--require-dmabuf", options.registration.require_dma_buf,
               "an error where the device takes no dma-buf, instead of pinning the pages");
  app.add_flag_callback(
      "--atomics", [&] { options.registration.access = verbs::Access::atomic_window; },
      "let the peer do atomics on it too");
  add_parsed(
      app, "-n,--iterations",
      [&](const std::string& text) {
        options.stop = {.iterations = std::clamp<std::uint64_t>(parse_count(text), 1, 10'000'000),
                        .time = std::chrono::hours(1)};
      },
      "calls of each kind per size [1000, fewer once a second has passed]")
      ->type_name("N");
  add_cpus(app, options.cpus);
  add_output(app, options.common);
}

}  // namespace
#endif

void add_reg(CLI::App& app, Command& command) {
  CLI::App* sub = app.add_subcommand(
      "reg", "Measure what registering memory with a device costs; needs no server");
#if RDMABENCH_HAVE_VERBS
  sub->footer(
      "The memory is touched before, and each sample is one ibv_reg_mr() or ibv_dereg_mr() call. "
      "Below\n"
      "the table stand the route that was taken and why the others were not.\n"
      "\n"
      "Examples:\n"
      "  rdmabench reg -s 4K:1G                        host memory, a sweep\n"
      "  rdmabench reg --memory host --memory huge     side by side\n"
      "  rdmabench reg --memory cuda:0 --memory cuda:0,vmm   what of a GPU registers, and how\n"
      "  rdmabench reg --memory dmabuf --format json");
  auto options = std::make_shared<RegOptions>();
  options->memories = {memory::Request{}};
  options->sizes = parse_size_list("4K,64K,1M,16M");
  add_options(*sub, *options);
  sub->callback([options, &command] { command = [options] { return reg(*options); }; });
#else
  sub->allow_extras();
  sub->callback([&command] {
    command = []() -> int {
      throw Error(Fault::unavailable, "this build of rdmabench has no verbs",
                  "Build it with -DRDMABENCH_VERBS=ON.");
    };
  });
#endif
}

}  // namespace rdmabench::tools
