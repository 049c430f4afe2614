#include "nccl_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "rdmabench/base/units.h"
#include "results/facts.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::uint64_t kSteps = 8;  // NCCL_STEPS, of a connection's buffer
// Buffers of the protocols LL and LL128, which hardly anyone sets.
constexpr std::uint64_t kLlBuffer = std::uint64_t{8} * 512 * kSteps * 16;
constexpr std::uint64_t kLl128Buffer = std::uint64_t{120} * 640 * kSteps * 8;
constexpr std::uint64_t kPointToPointChunk = 128 << 10;  // NCCL_P2P_NET_CHUNKSIZE

constexpr const char* kRing = "RING";

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

/// Bytes of a message, and how many a queue pair has under way.
struct Messages {
  std::uint64_t bytes;
  std::uint32_t in_flight;
};

/// A connection's buffer has eight steps. A message is one, or in a ring of Simple two.
Messages messages_of(const Row& row, const Choice& choice, std::uint32_t ranks,
                     const NcclSettings& settings) {
  const Operation operation = row.call.operation;
  const bool rooted = operation == Operation::broadcast || operation == Operation::reduce;
  const bool ring = choice.algorithm.empty() || choice.algorithm == kRing;
  const bool slices = ring && !rooted && !is_point_to_point(operation) && choice.protocol != "LL" &&
                      choice.protocol != "LL128";
  std::uint64_t bytes = settings.buffer_bytes / kSteps;
  if (is_point_to_point(operation)) {
    bytes = std::min(bytes, kPointToPointChunk);
  } else if (choice.protocol == "LL") {
    bytes = kLlBuffer / kSteps;
  } else if (choice.protocol == "LL128") {
    bytes = kLl128Buffer / kSteps;
  } else if (slices) {
    bytes *= 2;
  }
  const std::uint64_t in_flight = kSteps / (slices ? 2 : 1) / settings.queue_pairs;
  // What a channel of a rank has to send at once. A chunk that is not full has two slices too, of a
  // 32nd of a full one at least.
  const bool whole = rooted || operation == Operation::send_receive || !ring;
  const double share = whole ? 1.0 : static_cast<double>(ranks);
  const double part =
      static_cast<double>(row.size_bytes) / share / choice.channels / data_share(row);
  std::uint64_t most = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part));
  if (slices) most = std::min(most, std::max((most + 1) / 2, bytes / 32));
  return {std::min(bytes, most), static_cast<std::uint32_t>(std::max<std::uint64_t>(1, in_flight))};
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
    // The others (NVLS, CollNet, PAT) have chunks of their own, and reduce in the network.
    const std::string algorithm = choice_of(row).algorithm;
    if (!algorithm.empty() && algorithm != kRing && algorithm != "TREE") continue;
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

}  // namespace rdmabench::inline v1::collective
