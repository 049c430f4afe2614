#include "commands.h"

#include <fmt/format.h>

#include "packing.h"
#include "rdmabench/base/error.h"
#include "results/facts_fields.h"
#include "results/row.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::size_t kMaxWord = 256;
constexpr std::size_t kMaxText = 1000;
constexpr std::size_t kMaxCounters = 4096;
constexpr std::uint64_t kMost = ~std::uint64_t{0};

}  // namespace

void walk(MessageFields& fields, RankCommand& order) {
  Call& call = order.call;
  fields.code("what", 6, order.what);
  fields.code("operation", kOperations, call.operation);
  fields.code("type", kDataTypes, call.type);
  fields.code("reduction", kReductions, call.reduction);
  fields.number("root", call.root);
  fields.number("count", 1, kMost, call.count);
  fields.flag("in_place", call.in_place);
  fields.number("row", order.row);
  fields.number("slots", 1, kMaxBatch, order.slots);
  fields.number("batch", 1, kMaxBatch * kMaxLaunches, order.batch);
  fields.flag("check", order.check);
  fields.number("samples", 0, kMaxSamplesAtOnce, order.samples);
  fields.number("first_iteration", order.first_iteration);
  fields.number("rounds", 0, 1000, order.rounds);
  fields.numbers("group_of", control::kMaxRanks, 0, control::kMaxRanks - 1, order.group_of);
}

void walk(MessageFields& fields, RankState& where) {
  fields.code("phase", kPhases, where.phase);
  fields.code("operation", kOperations, where.operation);
  fields.number("row", where.row);
  fields.number("size", where.size_bytes);
  fields.number("iteration", where.iteration);
}

void walk(MessageFields& fields, Wrong& wrong) {
  fields.number("iteration", wrong.iteration);
  fields.number("offset_bytes", wrong.offset_bytes);
  fields.number("run_bytes", wrong.run_bytes);
  report::walk_text(fields, "pattern", wrong.pattern);
  report::walk_text(fields, "expected", wrong.expected);
  report::walk_text(fields, "actual", wrong.actual);
}

void walk(MessageFields& fields, Checked& checked) {
  fields.number("operations", checked.operations);
  fields.number("wrong_operations", checked.wrong_operations);
  fields.number("wrong_elements", checked.wrong_elements);
  bool wrong = checked.first.has_value();
  fields.flag("wrong", wrong);
  if (wrong) walk(fields, checked.first ? *checked.first : checked.first.emplace());
}

std::string to_text(const Epoch& epoch) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(2 * epoch.stamps.size());
  for (const Stamps& stamp : epoch.stamps) {
    numbers.push_back(stamp.enter_ns);
    numbers.push_back(stamp.exit_ns);
  }
  return pack({pack_numbers(numbers), dump(write_fields(epoch.checked))});
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
  epoch.checked = parse<Checked>(parts[1]);
  return epoch;
}

void walk(MessageFields& fields, RankReport& report) {
  report::walk_facts(fields, "facts", kMaxWord, kMaxWord, kMaxText, report.facts);
  fields.list("counters", kMaxCounters, report.counters);
  report::walk_notes(fields, report.notes);
}

void walk(MessageFields& fields, PeerServer& server) {
  fields.text("host", server.host);
  fields.number("port", 1, 65535, server.port);
  fields.text("memory", server.memory);
}

void walk(MessageFields& fields, std::vector<PeerServer>& servers, std::uint32_t ranks) {
  fields.list("servers", control::kMaxRanks, servers);
  if (fields.from() != nullptr && servers.size() != ranks) {
    throw Error(Fault::failed, fmt::format("{} addresses of {} ranks", servers.size(), ranks));
  }
}

void walk(MessageFields& fields, WireStep& step) {
  fields.number("size_bytes", 1, std::uint64_t{1} << 30, step.shape.size_bytes);
  fields.number("in_flight", 0, 64, step.shape.in_flight);
  fields.number("queue_pairs", 1, kMaxWireQueuePairs, step.shape.queue_pairs);
  fields.flag("clear_to_send", step.shape.clear_to_send);
}

void walk(MessageFields& fields, std::vector<WireStep>& steps) {
  fields.list("steps", 8, steps);
}

void walk(MessageFields& fields, PointToPointResult& pair, std::uint32_t from,
          std::uint32_t ranks) {
  constexpr std::size_t kMostText = 4096;
  constexpr double kMostBits = 1e15;
  fields.number("to", 0, ranks - 1, pair.to);
  fields.real("bits_per_s", 0, kMostBits, pair.bits_per_s);
  fields.text("route", pair.route, kMostText);
  fields.text("error", pair.error, kMostText);
  fields.flag("staged", pair.staged);
  if (fields.from() == nullptr) return;
  pair.from = from;
  if (pair.error.empty() && pair.bits_per_s < 1) pair.error = "it measured nothing";
}

}  // namespace rdmabench::inline v1::collective
