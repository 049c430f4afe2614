#include "point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "commands.h"
#include "nccl_shape.h"
#include "rdmabench/base/error.h"
#include "rdmabench/base/units.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/run/client.h"
#include "rdmabench/run/server.h"
#include "results/facts.h"
#include "results/number_column.h"
#include "run/clear_to_send.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr double kGiga = 1e9;
constexpr const char* kStaged =
    ", staged: the wire moved pinned host memory and not the GPU's; the copies are not in it";

constexpr const char* kNoRow = "no row of all ranks has a bus bandwidth and is a ring or a tree";
constexpr std::uint64_t kMostWorkingSet = std::uint64_t{256} << 20;

/// The configuration of the server for the neighbour.
run::ServerConfig server_config(const PointToPointOptions& options,
                                const control::Authentication& authentication) {
  run::ServerConfig config;
  config.authentication = authentication;
  config.port = 0;
  config.device = options.device;
  config.timeout = options.timeout;
  config.allow = config.allow_providers = {"any"};  // the neighbour, by whatever device it has
  return config;
}

run::Config config_of(const PointToPointOptions& options,
                      const control::Authentication& authentication, const std::string& memory,
                      const std::string& peer_memory) {
  run::Config config;
  config.authentication = authentication;
  config.traffic.shape = workload::Shape::bandwidth;
  config.traffic.operation = transport::OperationCode::write;
  config.sizes = {options.shape.size_bytes};
  config.endpoint.queue_pairs = options.shape.queue_pairs;
  if (options.shape.in_flight != 0) {
    // As NCCL: each message has a place of its own in the buffers, and its own completion.
    config.traffic.working_set =
        std::max(options.shape.size_bytes,
                 std::min(kMostWorkingSet, options.shape.size_bytes * options.shape.in_flight *
                                               options.shape.queue_pairs));
    config.traffic.depth = options.shape.in_flight;
    config.traffic.signal_every = 1;
  }
  if (options.shape.clear_to_send) {
    config.traffic.shape = workload::Shape::latency;
    config.traffic.pattern = run::kClearToSend;
    config.endpoint.ofi.delivery = true;  // as of a stream
  }
  config.stop = measure::StopRule::duration(options.duration);
  config.backend = options.backend;
  config.endpoint.ofi.provider = options.provider;
  if (!options.device.empty()) config.placement.devices = {options.device};
  config.placement.memory = memory;
  config.placement.peer_memory = peer_memory;
  config.timeout = options.timeout;
  return config;
}

constexpr std::size_t kMostReason = 1000;

/// The routes of both sides' GPU memory as text; "" if both are host memory.
std::string memory_routes(const report::Report& report) {
  return report::value_of<std::string>(report.resolved.details, "memory_routes")
      .value_or("")
      .substr(0, kMostReason);
}

std::string route_of(const report::Report& report, const std::string& memory,
                     const std::string& peer_memory) {
  const report::Resolved& used = report.resolved;
  std::string text = used.backend;
  for (const std::string& word : {used.provider, used.device, used.transport}) {
    if (!word.empty()) text += ' ' + word;
  }
  text += ", memory " + memory;
  if (memory != peer_memory) text += " to " + peer_memory;
  const std::string routes = memory_routes(report);
  return routes.empty() ? text : fmt::format("{} ({})", text, routes);
}

/// Clients may not name server files: the server would open them.
std::string memory_for_others(const std::string& memory) {
  const bool is_file = memory.rfind("file:", 0) == 0 || memory.rfind("dmabuf", 0) == 0;
  return is_file ? "host" : memory;
}

/// Of the one row that was measured; 0 without one.
double bits_per_s(const report::Report& report) {
  if (const auto* const rows = std::get_if<std::vector<report::BandwidthResult>>(&report.results)) {
    return rows->empty() ? 0 : rows->front().bits_per_s;
  }
  const auto& rows = std::get<std::vector<report::LatencyResult>>(report.results);
  if (rows.empty()) return 0;
  return static_cast<double>(rows.front().size_bytes) * kBitsPerByte * kGiga /
         rows.front().latency.mean_ns;
}

/// Measures one pair with this rank as the initiator.
PointToPointResult measure_pair(const PointToPointOptions& options,
                                const control::Authentication& authentication, std::uint32_t from,
                                std::uint32_t to, const PeerServer& server,
                                const std::string& memory, const std::string& peer_memory) {
  PointToPointResult pair{.from = from, .to = to};
  try {
    const report::Report report =
        run::run(config_of(options, authentication, memory, peer_memory), server.host, server.port);
    pair.route = route_of(report, memory, peer_memory);
    pair.staged = report.resolved.staged;
    pair.error = report.error.value_or("");
    pair.bits_per_s = bits_per_s(report);
    if (pair.bits_per_s == 0 && pair.error.empty()) pair.error = "nothing was measured";
  } catch (const Error& error) {
    pair.error = error.what();
  }
  return pair;
}

double gigabits(double bits_per_s) {
  return bits_per_s / kGiga;
}

/// The slowest pair, because a ring is no faster.
std::optional<double> slowest(const std::vector<PointToPointResult>& pairs) {
  std::optional<double> found;
  for (const PointToPointResult& pair : pairs) {
    if (!pair.error.empty()) return std::nullopt;
    if (!found || pair.bits_per_s < *found) found = pair.bits_per_s;
  }
  return found;
}

bool any_staged(const std::vector<PointToPointResult>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [](const PointToPointResult& pair) { return pair.staged; });
}

std::string pair_text(const PointToPointResult& pair) {
  const std::string head = fmt::format("rank {} -> {}: ", pair.from, pair.to);
  if (!pair.error.empty()) return head + ascii_only(pair.error);
  return head + fmt::format("{} by {}", report::rate_text(pair.bits_per_s), ascii_only(pair.route));
}

}  // namespace

std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> point_to_point_rounds(
    std::uint32_t ranks) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> rounds;
  if (ranks < 2) return rounds;
  rounds.resize(ranks % 2 == 0 ? 2 : 3);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool odd_one = ranks % 2 != 0 && rank == ranks - 1;
    rounds[odd_one ? 2 : rank % 2].emplace_back(rank, (rank + 1) % ranks);
  }
  return rounds;
}

PointToPointResult measure_in(
    const std::string& memory, const std::string& peer_memory, bool host_instead,
    const std::function<PointToPointResult(const std::string& memory,
                                           const std::string& peer_memory)>& measure) {
  PointToPointResult pair = measure(memory, peer_memory);
  const bool is_host = memory == "host" && peer_memory == "host";
  if (is_host || (pair.error.empty() && !pair.staged)) return pair;
  if (!host_instead) {
    if (pair.staged) pair.route += kStaged;
    return pair;
  }
  const std::string reason =
      pair.error.empty() ? "it is staged: " + pair.route : pair.error.substr(0, kMostReason);
  pair = measure("host", "host");
  pair.route += fmt::format(", for with {} to {}: {}", memory, peer_memory, reason);
  return pair;
}

std::string memory_of(const report::Facts& facts) {
  return report::value_of<std::string>(facts, "memory").value_or("host");
}

namespace {

/// One shape, between all neighbours.
std::vector<PointToPointResult> measure_pairs(RankGroup& group,
                                              const PointToPointOptions& options) {
  const Team team = group.team();
  std::vector<PointToPointResult> pairs;
  // Twice, because any rank may try a second time.
  const auto patience = [&] { return Deadline::after(2 * options.duration + 8 * options.timeout); };
  const run::ServerThread served(server_config(options, group.authentication()));
  const PeerServer mine{"", served.port(), memory_for_others(options.memory)};
  // Where each rank is reached is what rank 0 saw: not every machine's name can be looked up.
  std::vector<PeerServer> servers;
  const std::vector<std::string> addresses = group.addresses();
  for (const std::string& text : group.gather(to_text(mine), patience())) {
    servers.push_back(parse<PeerServer>(text));
    servers.back().host = addresses[servers.size() - 1];
  }
  servers = parse<std::vector<PeerServer>, 4 * kMaxValues>(
      group.broadcast(to_text(servers), patience()), team.size);
  std::string result;
  for (const auto& round : point_to_point_rounds(team.size)) {
    group.barrier(patience());
    for (const auto& [from, to] : round) {
      if (from != team.rank) continue;
      const PeerServer& server = servers[to];
      result = to_text(
          measure_in(options.memory, server.memory, options.host_instead,
                     [&, target = to](const std::string& memory, const std::string& peer_memory) {
                       return measure_pair(options, group.authentication(), team.rank, target,
                                           server, memory, peer_memory);
                     }));
    }
  }
  const std::vector<std::string> results = group.gather(result, patience());
  for (std::uint32_t rank = 0; rank < results.size(); ++rank) {
    pairs.push_back(answer_of(group.identities()[rank], [&] {
      return parse<PointToPointResult>(results[rank], rank, team.size);
    }));
  }
  group.barrier(patience());  // no server ends while a neighbour may need it
  return pairs;
}

std::vector<WireStep> steps_of(const Run& run, std::uint32_t ranks, const WireShape& plain) {
  const Row* const row = explained_row(run);
  if (row == nullptr) return {};
  return nccl_steps(*row, ranks, nccl_settings([](const char* name) { return std::getenv(name); }),
                    plain);
}

}  // namespace

PointToPoint measure_point_to_point(RankGroup& group, const PointToPointOptions& options,
                                    const Run& run) {
  const std::uint32_t ranks = group.team().size;
  if (ranks < 2) return {};
  PointToPoint wire{measure_pairs(group, options), options.shape, {}};
  if (!options.as_nccl) return wire;
  run::add_clear_to_send();
  if (group.leads()) {
    wire.steps = steps_of(run, ranks, options.shape);
    wire.no_steps = wire.steps.empty();
  }
  if (!wire.steps.empty() && options.memory != "host") {
    wire.steps.insert(wire.steps.begin(), {"from host memory to host memory", options.shape, {}});
  }
  const std::string shapes = group.broadcast(to_text(wire.steps), Deadline::after(options.timeout));
  if (!group.leads()) wire.steps = parse<std::vector<WireStep>>(shapes);
  PointToPointOptions changed = options;
  changed.memory = "host";  // which a pattern needs
  for (WireStep& step : wire.steps) {
    changed.shape = step.shape;
    step.pairs = measure_pairs(group, changed);
  }
  return wire;
}

bool any_failed(const PointToPoint& wire) {
  const auto failed = [](const std::vector<PointToPointResult>& pairs) {
    return std::any_of(pairs.begin(), pairs.end(),
                       [](const PointToPointResult& pair) { return !pair.error.empty(); });
  };
  return failed(wire.pairs) || std::any_of(wire.steps.begin(), wire.steps.end(),
                                           [&](const auto& step) { return failed(step.pairs); });
}

namespace {

std::string call_text(const Row& row) {
  return fmt::format("{} of {}", name(row.call.operation), format_size(row.size_bytes));
}

std::string step_text(const WireStep& step) {
  const std::optional<double> wire = slowest(step.pairs);
  if (wire) return fmt::format("{}: {}", step.name, report::rate_text(*wire));
  for (const PointToPointResult& pair : step.pairs) {
    if (!pair.error.empty()) return fmt::format("{}: {}", step.name, pair_text(pair));
  }
  return step.name + ": not measured";
}

/// A line of the steps: what it gave, and what that took from the line before.
void add_line(std::string& text, const std::string& name, std::optional<double> bits,
              std::optional<double>& before) {
  text +=
      fmt::format("  {:<44} {:>10}", name, bits ? report::column_text(gigabits(*bits)) : "failed");
  if (bits && before) text += fmt::format(" {:>+8.1f} %", 100 * (*bits / *before - 1));
  text += '\n';
  if (bits) before = bits;
}

/// Steps that went another way than the first one, so that more than one thing changed.
std::string other_routes_text(const PointToPoint& wire) {
  std::string text;
  const std::vector<PointToPointResult>& first = wire.steps.front().pairs;
  for (const WireStep& step : wire.steps) {
    for (std::size_t i = 0; i < std::min(first.size(), step.pairs.size()); ++i) {
      const PointToPointResult& pair = step.pairs[i];
      if (pair.route == first[i].route || !pair.error.empty()) continue;
      text += fmt::format("  {}: another way than before, {}\n", step.name, pair_text(pair));
    }
  }
  return text;
}

void join_steps(Run& run, const PointToPoint& wire) {
  for (const WireStep& step : wire.steps)
    run.notes.push_back("Wire as NCCL, " + step_text(step) + ".");
  const Row* const explained = explained_row(run);
  if (wire.steps.empty() || explained == nullptr) return;
  const WireStep& last = wire.steps.back();
  const std::optional<double> bits = slowest(last.pairs);
  if (!bits) return;
  Row& row = run.rows[static_cast<std::size_t>(explained - run.rows.data())];
  row.facts.push_back({"wire_nccl_message_bytes", last.shape.size_bytes});
  row.facts.push_back({"wire_nccl_in_flight", std::uint64_t{last.shape.in_flight}});
  row.facts.push_back({"wire_nccl_queue_pairs", std::uint64_t{last.shape.queue_pairs}});
  row.facts.push_back({"wire_nccl_bits_per_s", *bits * data_share(row)});
  row.facts.push_back(
      {"wire_nccl_share", *row.bus_bytes_per_s * kBitsPerByte / (*bits * data_share(row))});
}

}  // namespace

void join(Run& run, const PointToPoint& wire_of_ranks) {
  const std::vector<PointToPointResult>& pairs = wire_of_ranks.pairs;
  if (pairs.empty()) {
    run.notes.emplace_back("Point-to-point bandwidth was not measured: one rank has no neighbour.");
    return;
  }
  for (const PointToPointResult& pair : pairs)
    run.notes.push_back("Wire, " + pair_text(pair) + ".");
  if (wire_of_ranks.no_steps)
    run.notes.emplace_back("Wire as NCCL: not measured, " + std::string(kNoRow) + ".");
  join_steps(run, wire_of_ranks);
  const std::optional<double> wire = slowest(pairs);
  if (!wire) return;
  for (Row& row : run.rows) {
    if (!row.bus_bytes_per_s) continue;
    row.facts.push_back({"wire_bits_per_s", *wire});
    row.facts.push_back({"wire_share", *row.bus_bytes_per_s * kBitsPerByte / *wire});
    if (any_staged(pairs)) row.facts.push_back({"wire_memory", std::string("staged")});
  }
}

std::string wire_steps_text(const Run& run, const PointToPoint& wire) {
  const Row* const row = explained_row(run);
  if (wire.steps.empty() || row == nullptr) return "";
  std::string text =
      fmt::format("\nFrom that to {}, each line with one thing more as NCCL does it [Gb/s]:\n",
                  call_text(*row));
  std::optional<double> before;
  add_line(text, fmt::format("one stream of writes of {}", format_size(wire.shape.size_bytes)),
           slowest(wire.pairs), before);
  for (const WireStep& step : wire.steps) add_line(text, step.name, slowest(step.pairs), before);
  if (before && data_share(*row) < 1) {
    add_line(text, "without the flags of the protocol", *before * data_share(*row), before);
  }
  add_line(text, "the collective: kernels, copies, other ranks",
           *row->bus_bytes_per_s * kBitsPerByte, before);
  for (const WireStep& step : wire.steps) {
    if (!slowest(step.pairs)) text += fmt::format("  {}\n", step_text(step));
  }
  return text + other_routes_text(wire);
}

}  // namespace rdmabench::inline v1::collective
