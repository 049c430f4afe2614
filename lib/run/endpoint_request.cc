#include <algorithm>
#include <limits>

#include "rdmabench/memory/buffer.h"
#include "run/pattern_table.h"
#include "run/protocol.h"
#include "transport/slots.h"

namespace rdmabench::run {
namespace {

using workload::Shape;

// Where every message needs a buffer of its own, as many as fit in here; at least one for each
// queue pair.
constexpr std::uint64_t kValidatedMemory = std::uint64_t{16} << 20;

// Otherwise messages rotate through one page: hot in cache, as perftest's are, and yet not all on
// one line.
constexpr std::uint64_t kHotMemory = 4096;

constexpr std::uint32_t kMarkerReceives = 8;    // where only markers and ping-pong replies arrive
constexpr std::uint32_t kStreamReceives = 512;  // perftest's default: a burst that finds room
constexpr std::uint64_t kMaxSlots = std::uint64_t{1} << 30;

std::uint32_t slots_within(std::uint64_t memory, std::uint64_t stride, std::uint64_t at_most) {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(memory / stride, 1, std::min(at_most, kMaxSlots)));
}

/// What the loops of a session post.
transport::OperationSet operations_of(const SessionSpec& spec) {
  using transport::OperationCode;
  if (!spec.pattern.empty()) return pattern_operations(spec.pattern);
  if (transport::traits(spec.operation).flushes) return {spec.operation, OperationCode::write};
  if (spec.target_idle) return {spec.operation, OperationCode::read};  // reads back what it wrote
  // Those whose last byte may not come last carry an immediate.
  if (is_ping_pong_of_writes(spec)) {
    return {OperationCode::write, OperationCode::write_imm};
  }
  return spec.operation;
}

/// Receives of a queue pair, unless the client said how many.
std::uint32_t usual_receives(const SessionSpec& spec) {
  if (!spec.pattern.empty()) return std::max(2 * spec.depth, kMarkerReceives);
  if (!transport::notifies(spec.operation) || spec.shape == Shape::latency) return kMarkerReceives;
  // Many queue pairs share the burst: no one fills up all of them at once.
  return std::max({kStreamReceives / spec.queue_pairs, 2 * spec.depth, kMarkerReceives});
}

}  // namespace

bool is_ping_pong_of_writes(const SessionSpec& spec) noexcept {
  return spec.pattern.empty() && spec.operation == transport::OperationCode::write &&
         spec.shape == Shape::latency && !spec.target_idle;
}

transport::EndpointRequest endpoint_request(const SessionSpec& spec, bool client) {
  transport::EndpointRequest request;
  const transport::EndpointOptions& options = spec;
  static_cast<transport::EndpointOptions&>(request) = options;
  request.client = client;
  request.operations = operations_of(spec);
  request.latency = spec.shape == Shape::latency;
  request.max_size = spec.max_size;
  request.local_queue_pairs = client ? spec.client_queue_pairs : 0;
  request.memory = spec.peer_memory;
  request.timeout = spec.timeout;
  request.receives = spec.receives != 0 ? spec.receives : usual_receives(spec);

  // A message that is off its cache line needs room for the rest of it in its slot.
  request.slot_stride = spec.stride;
  if (spec.stride == 0 && spec.misalignment != 0) {
    request.slot_stride = memory::slot_stride(spec.max_size + spec.misalignment);
  }

  const std::uint64_t stride = transport::stride_of(request);
  const bool keeps_each = spec.validate && spec.shape != Shape::latency;
  const std::uint64_t outstanding = std::uint64_t{spec.depth} * spec.queue_pairs;
  const std::uint64_t all_receives = std::uint64_t{request.receives} * spec.queue_pairs;
  // Only the pattern knows which of its messages may share a slot.
  const std::uint64_t memory = !spec.pattern.empty() ? kMaxSize * kMaxSlots
                               : keeps_each          ? kValidatedMemory
                                                     : kHotMemory;
  request.send_slots = spec.working_set != 0 ? slots_within(spec.working_set, stride, kMaxSlots)
                                             : slots_within(memory, stride, outstanding);
  request.receive_slots = spec.working_set != 0 ? slots_within(spec.working_set, stride, kMaxSlots)
                                                : slots_within(memory, stride, all_receives);
  if (transport::is_atomic(spec.operation)) {
    // Each word is one queue pair's own: swaps of two queue pairs on one word would not know each
    // other.
    request.send_slots = std::max(request.send_slots, spec.queue_pairs);
  }
  const std::uint32_t posts = transport::posts_of_message(spec.operation);
  request.depth *= posts;
  if (keeps_each) {
    // What is under way must not change, and what has arrived must stay until it was checked.
    request.send_slots = std::max(request.send_slots, spec.queue_pairs);
    request.depth = std::min(spec.depth, request.send_slots / spec.queue_pairs);
    request.depth *= posts;
    request.signal_every = std::min(request.signal_every, std::max(1U, request.depth / 2));
    request.post_list = std::min(request.post_list, request.depth);
    if (spec.operation == transport::OperationCode::send ||
        spec.operation == transport::OperationCode::send_imm) {
      request.receive_slots = std::max(request.receive_slots, spec.queue_pairs);
      request.receives = std::min(request.receives, request.receive_slots / spec.queue_pairs);
    }
  }
  return request;
}

std::uint64_t memory_of(const transport::EndpointRequest& request) {
  constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;  // x86-64's default
  const memory::Request memory = memory::parse_request(request.memory);
  const std::uint64_t page = memory.kind != memory::Kind::huge ? 4096
                             : memory.huge_page_bytes != 0     ? memory.huge_page_bytes
                                                               : kHugePage;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / kMaxWorkers / 4;
  const std::uint64_t stride = transport::stride_of(request);
  const auto bytes = [&](std::uint64_t slots) {
    if (slots > kMost / stride) return kMost;
    return std::min(kMost, (slots * stride + request.misalignment + page - 1) / page * page);
  };
  return 2 * bytes(request.send_slots) + bytes(request.receive_slots);
}

}  // namespace rdmabench::run
