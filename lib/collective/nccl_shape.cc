#include "nccl_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/units.h"
#include "report/facts.h"

namespace rdmabench::collective {
namespace {

constexpr std::uint64_t kSteps = 8;  // NCCL_STEPS, of a connection's buffer
// Buffers of the protocols LL and LL128, which hardly anyone sets.
constexpr std::uint64_t kLlBuffer = std::uint64_t{8} * 512 * kSteps * 16;
constexpr std::uint64_t kLl128Buffer = std::uint64_t{120} * 640 * kSteps * 8;
constexpr std::uint64_t kPointToPointChunk = 128 << 10;  // NCCL_P2P_NET_CHUNKSIZE

/// Of a row of NCCL's; what it did not tell is empty.
struct Choice {
  std::string algorithm;
  std::string protocol;
  std::uint32_t channels = 1;
};

Choice choice_of(const Row& row) {
  const auto text = [&](std::string_view name) {
    return report::value_of<std::string>(row.facts, name).value_or("");
  };
  Choice choice{text("algorithm"), text("protocol")};
  for (const std::string_view name : {"channels", "channels_at_most"}) {
    if (const auto channels = report::value_of<std::uint64_t>(row.facts, name)) {
      choice.channels =
          static_cast<std::uint32_t>(std::clamp<std::uint64_t>(*channels, 1, kMaxWireQueuePairs));
    }
  }
  return choice;
}

bool is_point_to_point(Operation operation) {
  return operation != Operation::all_reduce && operation != Operation::all_gather &&
         operation != Operation::reduce_scatter && operation != Operation::broadcast &&
         operation != Operation::reduce;
}

/// Bytes of a message, and how many a connection has under way: its buffer has eight steps, and a
/// message is one or, in a ring of Simple, two of them.
struct Messages {
  std::uint64_t bytes;
  std::uint32_t in_flight;
};

Messages messages_of(const Row& row, const Choice& choice, std::uint32_t ranks,
                     const NcclSettings& settings) {
  const Operation operation = row.call.operation;
  const bool rooted = operation == Operation::broadcast || operation == Operation::reduce;
  std::uint64_t bytes = settings.buffer_bytes / kSteps;
  std::uint32_t in_flight = kSteps;
  if (is_point_to_point(operation)) {
    bytes = std::min(bytes, kPointToPointChunk);
  } else if (choice.protocol == "LL") {
    bytes = kLlBuffer / kSteps;
  } else if (choice.protocol == "LL128") {
    bytes = kLl128Buffer / kSteps;
  } else if (!rooted && (choice.algorithm.empty() || choice.algorithm == "RING")) {
    bytes *= 2;
    in_flight /= 2;
  }
  // No message is larger than what a channel of a rank has to send at once.
  const double share = rooted ? 1.0 : static_cast<double>(ranks);
  const double part =
      static_cast<double>(row.size_bytes) / share / choice.channels / data_share(row);
  bytes = std::min(bytes, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part)));
  return {bytes, in_flight};
}

}  // namespace

NcclSettings nccl_settings(const std::function<const char*(const char* name)>& variable) {
  constexpr std::uint64_t kLeastBuffer = 4096;
  constexpr std::uint64_t kMostBuffer = std::uint64_t{256} << 20;
  const auto read = [&](const char* name, std::uint64_t least, std::uint64_t most,
                        std::uint64_t otherwise) {
    const char* const text = variable(name);
    if (text == nullptr) return otherwise;
    try {
      const std::uint64_t value = parse_count(text);
      return value >= least && value <= most ? value : otherwise;
    } catch (const Error&) {
      return otherwise;
    }
  };
  NcclSettings settings;
  settings.buffer_bytes = read("NCCL_BUFFSIZE", kLeastBuffer, kMostBuffer, settings.buffer_bytes);
  settings.queue_pairs = static_cast<std::uint32_t>(
      read("NCCL_IB_QPS_PER_CONNECTION", 1, kMaxWireQueuePairs, settings.queue_pairs));
  return settings;
}

const Row* explained_row(const Run& run) {
  const Row* largest = nullptr;
  for (const Row& row : run.rows) {
    if (!row.bus_bytes_per_s || !row.skipped.empty() || !row.group.empty()) continue;
    if (largest == nullptr || row.size_bytes > largest->size_bytes) largest = &row;
  }
  return largest;
}

std::vector<WireStep> nccl_steps(const Row& row, std::uint32_t ranks, const NcclSettings& settings,
                                 const WireShape& plain) {
  const Choice choice = choice_of(row);
  const Messages messages = messages_of(row, choice, ranks, settings);
  std::vector<WireStep> steps;
  WireShape shape = plain;
  const auto add = [&](std::string name) { steps.push_back({std::move(name), shape, {}}); };
  shape.size_bytes = messages.bytes;
  if (shape.size_bytes != plain.size_bytes) {
    add(fmt::format("messages of {}", format_size(shape.size_bytes)));
  }
  shape.in_flight = messages.in_flight;
  add(fmt::format("{} in flight", shape.in_flight));
  shape.queue_pairs = std::min(choice.channels * settings.queue_pairs, kMaxWireQueuePairs);
  if (shape.queue_pairs > 1) {
    add(fmt::format("on each of {} queue pairs ({} channels)", shape.queue_pairs, choice.channels));
  }
  shape.clear_to_send = true;
  add("a clear-to-send before each");
  return steps;
}

double data_share(const Row& row) {
  const std::string protocol = choice_of(row).protocol;
  return protocol == "LL" ? 1.0 / 2 : protocol == "LL128" ? 15.0 / 16 : 1;
}

}  // namespace rdmabench::collective
