#include "commands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "packing.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "report/row.h"
#include "run/facts_fields.h"

namespace rdmabench::collective {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxWord = 256;
constexpr std::size_t kMaxText = 1000;
constexpr std::size_t kMaxCounters = 4096;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

template <class E>
E get_enum(const nlohmann::json& json, std::string_view key, std::size_t count) {
  return static_cast<E>(get_uint(json, key, 0, count - 1));
}

std::string get_word(const nlohmann::json& json, std::string_view key, std::size_t most) {
  return control::printable(get_string(json, key, most));
}

nlohmann::ordered_json to_object(const PeerServer& server) {
  return {{"host", server.host}, {"port", server.port}, {"memory", server.memory}};
}

PeerServer peer_server(const nlohmann::json& body) {
  constexpr std::size_t kMostHost = 256;
  return {get_string(body, "host", kMostHost), get_uint<std::uint16_t>(body, "port", 1),
          get_string(body, "memory", kMostHost)};
}

}  // namespace

std::string to_text(const RankCommand& order) {
  const Call& call = order.call;
  return dump({{"what", static_cast<unsigned>(order.what)},
               {"operation", static_cast<unsigned>(call.operation)},
               {"type", static_cast<unsigned>(call.type)},
               {"reduction", static_cast<unsigned>(call.reduction)},
               {"root", call.root},
               {"count", call.count},
               {"in_place", call.in_place},
               {"row", order.row},
               {"slots", order.slots},
               {"batch", order.batch},
               {"check", order.check},
               {"samples", order.samples},
               {"first_iteration", order.first_iteration},
               {"rounds", order.rounds},
               {"group_of", order.group_of}});
}

RankCommand parse_rank_command(std::string_view text) {
  const nlohmann::json json = parse_object(text, "order");
  RankCommand order;
  order.what = get_enum<RankCommand::What>(json, "what", 5);
  order.call = {.operation = get_enum<Operation>(json, "operation", kOperations),
                .type = get_enum<DataType>(json, "type", kDataTypes),
                .reduction = get_enum<Reduction>(json, "reduction", kReductions),
                .root = get_uint<std::uint32_t>(json, "root"),
                .count = get_uint(json, "count", 1, kMost),
                .in_place = get_bool(json, "in_place")};
  order.row = get_uint<std::uint32_t>(json, "row");
  order.slots = get_uint<std::uint32_t>(json, "slots", 1, kMaxBatch);
  order.batch = get_uint<std::uint32_t>(json, "batch", 1, order.slots);
  order.check = get_bool(json, "check");
  order.samples = get_uint(json, "samples", 0, kMaxSamplesAtOnce);
  order.first_iteration = get_uint(json, "first_iteration", 0, kMost);
  order.rounds = get_uint<std::uint32_t>(json, "rounds", 0, 1000);
  const auto groups =
      get_uint_list(json, "group_of", control::kMaxRanks, 0, control::kMaxRanks - 1);
  order.group_of.assign(groups.begin(), groups.end());
  return order;
}

std::string to_text(const RankState& where) {
  const Json json = {{"phase", static_cast<unsigned>(where.phase)},
                     {"operation", static_cast<unsigned>(where.operation)},
                     {"row", where.row},
                     {"size", where.size_bytes},
                     {"iteration", where.iteration}};
  return json.dump();
}

RankState parse_rank_state(std::string_view text) {
  const nlohmann::json json = parse_object(text, "status of life");
  return {.phase = static_cast<Phase>(get_uint(json, "phase", 0, kPhases - 1)),
          .operation = static_cast<Operation>(get_uint(json, "operation", 0, kOperations - 1)),
          .row = get_uint<std::uint32_t>(json, "row"),
          .size_bytes = get_uint<std::uint64_t>(json, "size"),
          .iteration = get_uint<std::uint64_t>(json, "iteration")};
}

std::string to_text(const Epoch& epoch) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(2 * epoch.stamps.size());
  for (const Stamps& stamp : epoch.stamps) {
    numbers.push_back(stamp.enter_ns);
    numbers.push_back(stamp.exit_ns);
  }
  const Checked& checked = epoch.checked;
  Json json = {{"operations", checked.operations},
               {"wrong_operations", checked.wrong_operations},
               {"wrong_elements", checked.wrong_elements},
               {"wrong", checked.first.has_value()}};
  if (checked.first) {
    const Wrong& first = *checked.first;
    json.update({{"iteration", first.iteration},
                 {"offset_bytes", first.offset_bytes},
                 {"run_bytes", first.run_bytes},
                 {"pattern", first.pattern},
                 {"expected", first.expected},
                 {"actual", first.actual}});
  }
  return pack({pack_numbers(numbers), dump(json)});
}

Epoch parse_epoch(std::string_view text, std::uint64_t samples) {
  const std::vector<std::string> parts = unpack(text, 2);
  Epoch epoch;
  const std::vector<std::uint64_t> numbers = unpack_numbers(parts[0], 2 * samples);
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    epoch.stamps.push_back({.enter_ns = numbers[i], .exit_ns = numbers[i + 1]});
    if (numbers[i + 1] < numbers[i])
      throw Error(Fault::failed, "a sample that ends before it begins");
  }
  const nlohmann::json json = parse_object(parts[1], "answer");
  const auto number = [&](std::string_view key) { return get_uint(json, key, 0, kMost); };
  epoch.checked = {.operations = number("operations"),
                   .wrong_operations = number("wrong_operations"),
                   .wrong_elements = number("wrong_elements")};
  if (!get_bool(json, "wrong")) return epoch;
  epoch.checked.first = Wrong{.iteration = number("iteration"),
                              .offset_bytes = number("offset_bytes"),
                              .run_bytes = number("run_bytes"),
                              .pattern = get_word(json, "pattern", kMaxWord),
                              .expected = get_word(json, "expected", kMaxWord),
                              .actual = get_word(json, "actual", kMaxWord)};
  return epoch;
}

std::string to_text(const RankReport& report) {
  Json counters = Json::array();
  for (const report::Counter& counter : report.counters) {
    counters.push_back({{"device", counter.device},
                        {"name", counter.name},
                        {"kind", counter.kind},
                        {"source", counter.source},
                        {"known", counter.change.has_value()},
                        {"change", counter.change.value_or(0)},
                        {"at_least", counter.at_least}});
  }
  return dump(
      {{"facts", report::to_list(report.facts)}, {"counters", counters}, {"notes", report.notes}});
}

RankReport parse_rank_report(std::string_view text) {
  const nlohmann::json json = parse_object(text, "report of a rank", 2 * kMaxValues);
  RankReport report;
  report.facts = run::facts_from(json, "facts", kMaxWord, kMaxWord, kMaxText);
  for (const nlohmann::json& one : get_list(json, "counters", kMaxCounters)) {
    if (!one.is_object()) throw Error(Fault::failed, "a counter is not an object");
    report::Counter counter{.device = get_word(one, "device", kMaxWord),
                            .name = get_word(one, "name", kMaxWord),
                            .kind = get_word(one, "kind", kMaxWord),
                            .source = get_word(one, "source", kMaxWord),
                            .change = get_uint(one, "change", 0, kMost),
                            .at_least = get_bool(one, "at_least")};
    if (!get_bool(one, "known")) counter.change.reset();
    report.counters.push_back(std::move(counter));
  }
  for (const nlohmann::json& one : get_list(json, "notes", kMaxWord)) {
    if (one.is_string()) report.notes.push_back(control::printable(one.get<std::string>()));
  }
  return report;
}

std::string to_text(const PeerServer& server) {
  return dump(to_object(server));
}

std::string to_text(const std::vector<PeerServer>& servers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PeerServer& server : servers) list.push_back(to_object(server));
  return dump({{"servers", std::move(list)}});
}

PeerServer parse_peer_server(std::string_view text) {
  return peer_server(parse_object(text, "a rank's address"));
}

std::vector<PeerServer> parse_peer_servers(std::string_view text, std::uint32_t ranks) {
  std::vector<PeerServer> servers;
  const nlohmann::json body = parse_object(text, "the ranks' addresses", 4 * kMaxValues);
  for (const nlohmann::json& one : get_list(body, "servers", ranks)) {
    servers.push_back(peer_server(one));
  }
  if (servers.size() != ranks) {
    throw Error(Fault::failed, fmt::format("{} addresses of {} ranks", servers.size(), ranks));
  }
  return servers;
}

std::string to_text(const std::vector<WireStep>& steps) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const WireStep& step : steps) {
    list.push_back({{"size_bytes", step.shape.size_bytes},
                    {"in_flight", step.shape.in_flight},
                    {"queue_pairs", step.shape.queue_pairs},
                    {"clear_to_send", step.shape.clear_to_send}});
  }
  return dump({{"steps", std::move(list)}});
}

std::vector<WireStep> parse_wire_steps(std::string_view text) {
  constexpr std::size_t kMostSteps = 8;
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
  constexpr std::uint32_t kMostInFlight = 64;
  std::vector<WireStep> steps;
  const nlohmann::json body = parse_object(text, "the steps of the wire");
  for (const nlohmann::json& step : get_list(body, "steps", kMostSteps)) {
    steps.push_back(
        {.shape = {
             .size_bytes = get_uint(step, "size_bytes", 1, kMostBytes),
             .in_flight = get_uint<std::uint32_t>(step, "in_flight", 0, kMostInFlight),
             .queue_pairs = get_uint<std::uint32_t>(step, "queue_pairs", 1, kMaxWireQueuePairs),
             .clear_to_send = get_bool(step, "clear_to_send")}});
  }
  return steps;
}

std::string to_text(const PointToPointResult& pair) {
  return dump({{"to", pair.to},
               {"bits_per_s", pair.bits_per_s},
               {"route", pair.route},
               {"error", pair.error},
               {"staged", pair.staged}});
}

PointToPointResult parse_pair(std::string_view text, std::uint32_t from, std::uint32_t ranks) {
  constexpr std::size_t kMostText = 4096;
  constexpr double kMostBits = 1e15;
  const nlohmann::json body = parse_object(text, "a rank's wire");
  PointToPointResult pair{.from = from,
                          .to = get_uint<std::uint32_t>(body, "to", 0, ranks - 1),
                          .bits_per_s = get_double(body, "bits_per_s", 0, kMostBits),
                          .route = get_string(body, "route", kMostText),
                          .error = get_string(body, "error", kMostText),
                          .staged = get_bool(body, "staged")};
  if (pair.error.empty() && pair.bits_per_s < 1) pair.error = "it measured nothing";
  return pair;
}

}  // namespace rdmabench::collective
