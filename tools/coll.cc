// rdmabench coll
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/refuse.h"
#include "coll_options.h"
#include "collective/document.h"
#include "commands.h"
#include "launches.h"
#include "nccltests/to_job.h"
#include "output.h"
#include "rdmabench/collective/run.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::inline v1::tools {
namespace {

/// Of the best group's bus bandwidth: --bisect calls a group below it slow.
constexpr double kSlowShare = 0.85;

template <class E>
std::vector<E> parse_all(const std::vector<std::string>& words, std::size_t count,
                         E (*parse)(std::string_view)) {
  std::vector<E> all;
  for (const std::string& word : words) {
    if (word != "all") {
      all.push_back(parse(word));
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<E>(i));
  }
  return all;
}

/// Every combination that makes sense, the size varying fastest.
std::vector<collective::Call> calls(const CollOptions& options, std::uint32_t ranks) {
  using namespace collective;
  const auto reductions = parse_all(options.reductions, kReductions, parse_reduction);
  std::vector<bool> places;
  if (options.place != "in") places.push_back(false);
  if (options.place != "out") places.push_back(true);
  std::vector<Call> all;
  for (const Operation operation :
       parse_all(options.operations, kOperations, collective::parse_operation)) {
    for (const DataType type : parse_all(options.types, kDataTypes, parse_type)) {
      for (const Reduction reduction : reductions) {
        for (const bool in_place : places) {
          for (const std::uint64_t size : options.sizes) {
            all.push_back({.operation = operation,
                           .type = type,
                           .reduction = reduction,
                           .root = has_root(operation) ? options.root : 0,
                           .count = count_for(operation, type, size, ranks),
                           .in_place = in_place});
          }
        }
        if (!reduces(operation)) break;
      }
    }
  }
  return all;
}

/// The switch to which each host is linked; of several, all of them: hosts of one leaf share them.
std::vector<std::string> leaves(const std::vector<std::string>& hosts,
                                const std::vector<std::string>& files) {
  const fabric::Topology topology = fabric::read_topology(files);
  std::map<std::string, std::set<std::string>> leaves_of;
  for (const fabric::TopologyLink& link : topology.links) {
    const fabric::TopologyPoint& a = topology.points[link.a];
    const fabric::TopologyPoint& b = topology.points[link.b];
    if (a.host == b.host) continue;
    const std::string& host = a.host ? a.name : b.name;
    leaves_of[host.substr(0, host.find_first_of(". "))].insert(a.host ? b.name : a.name);
  }
  std::vector<std::string> all;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto own = leaves_of.find(hosts[rank].substr(0, hosts[rank].find('.')));
    refuse_if(own == leaves_of.end(),
              fmt::format("rank {} runs on {}, which the topology lacks", rank, hosts[rank]),
              "Give the topology of all nodes, with the names that their hostname prints.");
    all.push_back(fmt::format("{}", fmt::join(own->second, "+")));
  }
  return all;
}

std::vector<collective::Division> divisions_of(const CollOptions& options,
                                               const std::vector<std::string>& hosts) {
  if (options.groups == "leaf") {
    return {collective::divide("leaf", leaves(hosts, options.topology))};
  }
  if (options.groups == "leaf-pairs") {
    return collective::divide_pairs("leaf-pairs", leaves(hosts, options.topology));
  }
  return {collective::divide_by(options.groups, hosts)};
}

void divide(const CollOptions& options, const std::vector<std::string>& hosts,
            collective::CollectivePlan& plan) {
  std::size_t largest = hosts.size();
  if (options.bisect) {
    plan.passes = [hosts](const collective::Pass& pass, collective::Run& run) {
      collective::bisect(pass, hosts, kSlowShare, run);
    };
  } else if (!options.groups.empty()) {
    const std::vector<collective::Division> divisions = divisions_of(options, hosts);
    plan.passes = [divisions](const collective::Pass& pass, collective::Run& /*run*/) {
      for (const collective::Division& division : divisions) pass(division);
    };
    largest = 0;
    for (const collective::Division& division : divisions) {
      std::vector<std::size_t> sizes(hosts.size());
      for (const std::uint32_t group : division.group_of) {
        largest = std::max(largest, ++sizes[group]);
      }
    }
  }
  plan.calls = calls(options, static_cast<std::uint32_t>(largest));
}

report::Facts config_facts(const CollOptions& options) {
  const collective::CollectivePlan& plan = options.job.plan;
  report::Facts facts{{"operations", fmt::format("{}", fmt::join(options.operations, ","))},
                      {"types", fmt::format("{}", fmt::join(options.types, ","))},
                      {"reductions", fmt::format("{}", fmt::join(options.reductions, ","))},
                      {"place", options.place},
                      {"groups", options.bisect           ? "bisect"
                                 : options.groups.empty() ? "all"
                                                          : options.groups},
                      {"iterations", plan.iterations},
                      {"warmup_iterations", plan.warmup},
                      {"batch", std::uint64_t{plan.batch}},
                      {"precision", plan.precision},
                      {"budget_s", std::chrono::duration<double>(plan.budget).count()},
                      {"timeout_s", std::chrono::duration<double>(plan.timeout).count()},
                      {"checked", plan.check},
                      {"memory_reuse", plan.memory_reuse},
                      {"checked_by_cpu", options.job.check_by_cpu || options.job.backend == "mpi"},
                      {"buffer_bytes", plan.buffer_bytes}};
  if (!options.job.nccl.network.empty()) facts.push_back({"network", options.job.nccl.network});
  return facts;
}

/// nccl-tests' table is of one operation.
report::NcclTestsTable nccl_tests_table(const CollOptions& options, const collective::Run& run) {
  nccltests::Flags flags;
  flags.gpus = 1;
  flags.nccl = options.job.nccl;
  flags.average = nccltests::Average::max;
  nccltests::set_sizes(flags, options.sizes);
  flags.iterations = options.job.plan.iterations;
  flags.warmup = options.job.plan.warmup;
  flags.check = options.job.plan.check ? 1 : 0;
  return nccltests::to_table(
      nccltests::tool_of(collective::parse_operation(options.operations.front())), flags, run);
}

/// The rows as they are printed: of a format that has parts.
class Rows {
 public:
  explicit Rows(const CollOptions& options)
      : options_(options),
        rows_(options.format == "csv" ? collective::RowsText::As::csv
                                      : collective::RowsText::As::table,
              table_width(options.wide)) {}

  /// What the run has more than at the last call.
  std::string more(const collective::Run& run, bool last) {
    if (options_.format == "nccl-tests") {
      return nccl_tests_.more(nccl_tests_table(options_, run), last);
    }
    return rows_.more(run, options_.job.plan.calls, last);
  }

 private:
  const CollOptions& options_;
  collective::RowsText rows_;
  report::NcclTestsText nccl_tests_{false};
};

/// False where a result is not what was expected. `rows`: a copy of those that were begun.
bool write_run(const collective::Run& run, const collective::PointToPoint& wire,
               const CollOptions& options, Rows rows) {
  const Judged judged = judge(collective::to_document(run), options.expect, run.findings);
  if (launch_part().is_launch()) hand_over(judged.json);
  std::string text = options.format == "json" ? judged.json : rows.more(run, true);
  if (const std::string without = not_rdma(run);
      !without.empty() && launch_part().index == 0 &&
      (options.format == "csv" || options.format == "nccl-tests")) {
    tell(without);  // which the others have
  }
  if (options.job.wire && run.error.empty() && options.format == "table") {
    text += collective::wire_steps_text(run, wire);
  }
  if (options.format == "table") text = for_reading(text, options.output);
  write_judged(std::move(text), judged, options);
  return !judged.failed;
}

int run_coll(CollOptions& options) {
  settle(options);
  calls(options, 1);  // throws for an unknown word, before anybody is waited for
  refuse_if(options.format == "nccl-tests" &&
                (options.operations.size() != 1 || options.operations[0] == "all"),
            "--format nccl-tests with several operations",
            "Its table has one operation: name one.");
  CollJob& job = options.job;
  if (const auto code = begin_launches(options.launches, options, options.expect,
                                       {.leads = leads(job.rendezvous)})) {
    return *code;
  }
  job.rendezvous.launch = launch_part().index;
  job.fill = [&options](collective::CollectivePlan& plan, const std::vector<std::string>& hosts) {
    divide(options, hosts, plan);
  };
  job.config = config_facts(options);
  Rows rows(options);
  job.write = [&](const collective::Run& run, const collective::PointToPoint& wire) {
    return write_run(run, wire, options, rows);
  };
  if (options.format != "json" && options.output.empty()) {
    job.print = [&](const collective::Run& so_far) {
      const std::string text = rows.more(so_far, false);
      write_text(options.format == "table" ? for_reading(text, "") : text);
    };
  }
  job.write_each_row = !options.output.empty();
  return run_job(job);
}

}  // namespace

void add_coll(CLI::App& app, Command& command) {
  const auto [sub, options] = add_command<CollOptions>(
      app, command, "coll",
      "Measure collectives among all ranks, check every result and name the late rank",
      "Start it by mpirun, srun or the like, all ranks with the same options. Rank 0 leads and\n"
      "prints. Every timed operation has its own input, and its result is checked bit for bit: a\n"
      "wrong one is reported with its rank, place, length and pattern. The time of a row\n"
      "is the median of its samples; a sample is the longest that any rank took. algbw is the size\n"
      "over that time, busbw that times nccl-tests' factor; GB/s are of 1e9 bytes. A rank is\n"
      "called late by when it arrived, on compared clocks, never by how long it took.\n"
      "\n"
      "Examples:\n"
      "  mpirun -n 4 rdmabench coll all-reduce --size 8:64M\n"
      "  srun --mpi=pmix -n 16 rdmabench coll all --type all --reduction all --size 64K -n 20\n"
      "  mpirun -n 8 rdmabench coll all-gather,reduce-scatter --place both --format json\n"
      "  mpirun -n 64 rdmabench coll all-reduce --size 64M --bisect\n"
      "\n"
      "Exit codes: 0 done; 1 a result was wrong or broke --expect or --require, a rank hung or\n"
      "died, a point-to-point pair failed; 2 wrong usage; 3 not available here, for example if every row was skipped.",
      run_coll);
  options.command = &sub;
  add_coll_options(sub, options);
}

}  // namespace rdmabench::inline v1::tools
