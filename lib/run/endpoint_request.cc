#include <algorithm>
#include <limits>

#include "rdmabench/memory/buffer.h"
#include "report/usual_signal.h"
#include "run/pattern_table.h"
#include "run/protocol.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::run {
namespace {

using workload::Shape;

// Where every message needs a buffer of its own, as many as fit in here; at least one for each
// queue pair.
constexpr std::uint64_t kValidatedMemory = std::uint64_t{16} << 20;

// Otherwise messages rotate through one page: hot in cache, as perftest's are, and yet not all on
// one line.
constexpr std::uint64_t kHotMemory = 4096;

constexpr std::uint32_t kStreamDepth = 128;  // perftest's default for bandwidth
constexpr std::uint32_t kLatencyDepth = 16;
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
  if (!spec.traffic.pattern.empty()) return pattern_needs(spec.traffic.pattern).operations;
  if (transport::traits(spec.traffic.operation).flushes)
    return {spec.traffic.operation, OperationCode::write};
  if (spec.traffic.target_idle)
    return {spec.traffic.operation, OperationCode::read};  // reads back what it wrote
  // Those whose last byte may not come last carry an immediate.
  if (is_ping_pong_of_writes(spec)) {
    return {spec.traffic.operation, OperationCode::write_imm};
  }
  return spec.traffic.operation;
}

/// Receives of a queue pair, unless the client said how many.
std::uint32_t usual_receives(const SessionSpec& spec) {
  const std::uint32_t twice = 2 * depth_of(spec);
  if (!spec.traffic.pattern.empty()) return std::max(twice, kMarkerReceives);
  if (!transport::notifies(spec.traffic.operation) || spec.traffic.shape == Shape::latency)
    return kMarkerReceives;
  // Many queue pairs share the burst: no one fills up all of them at once.
  return std::max({kStreamReceives / spec.endpoint.queue_pairs, twice, kMarkerReceives});
}

}  // namespace

bool is_stream(const SessionSpec& spec) noexcept {
  return spec.traffic.pattern.empty() && (spec.traffic.shape == workload::Shape::bandwidth ||
                                          spec.traffic.shape == workload::Shape::bidirectional);
}

bool is_ping_pong_of_writes(const SessionSpec& spec) noexcept {
  return spec.traffic.pattern.empty() && transport::is_plain_write(spec.traffic.operation) &&
         spec.traffic.shape == Shape::latency && !spec.traffic.target_idle;
}

std::uint32_t depth_of(const SessionSpec& spec) noexcept {
  const std::uint32_t usual = spec.traffic.shape == Shape::latency ? kLatencyDepth : kStreamDepth;
  return spec.traffic.depth.value_or(std::max(usual, spec.endpoint.post_list));
}

std::uint32_t signal_every_of(const SessionSpec& spec) noexcept {
  return spec.traffic.signal_every.value_or(
      report::usual_signal_every(spec.traffic.shape == Shape::latency, depth_of(spec)));
}

SlotPlan plan_slots(const SessionSpec& spec) {
  const std::uint32_t depth = depth_of(spec);
  const std::uint32_t posts = transport::posts_of_message(spec.traffic.operation);
  SlotPlan plan{.depth = depth * posts,
                .receives = spec.traffic.receives.value_or(usual_receives(spec)),
                .signal_every = signal_every_of(spec),
                .post_list = spec.endpoint.post_list,
                // A message that is off its cache line needs room for the rest of it in its slot.
                .stride = spec.traffic.stride != 0
                              ? spec.traffic.stride
                              : memory::slot_stride(spec.max_size + spec.endpoint.misalignment)};
  const bool keeps_each = spec.traffic.validate && spec.traffic.shape != Shape::latency;
  // Only the pattern knows which of its messages may share a slot.
  const std::uint64_t memory = spec.traffic.working_set != 0   ? spec.traffic.working_set
                               : !spec.traffic.pattern.empty() ? kMaxSize * kMaxSlots
                               : keeps_each                    ? kValidatedMemory
                                                               : kHotMemory;
  const auto slots = [&](std::uint64_t of_each) {
    return slots_within(
        memory, plan.stride,
        spec.traffic.working_set != 0 ? kMaxSlots : of_each * spec.endpoint.queue_pairs);
  };
  const std::uint32_t needed =
      spec.traffic.pattern.empty() ? 0 : pattern_needs(spec.traffic.pattern).slots;
  plan.send_slots = slots(std::max(depth, needed));
  plan.receive_slots = slots(plan.receives);
  // Each word is one queue pair's own: swaps of two queue pairs on one word would not know each
  // other. And what is under way must not change where each message is kept.
  if (keeps_each || transport::is_atomic(spec.traffic.operation)) {
    plan.send_slots = std::max(plan.send_slots, spec.endpoint.queue_pairs);
  }
  if (!keeps_each) return plan;
  plan.depth = std::min(depth, plan.send_slots / spec.endpoint.queue_pairs) * posts;
  plan.signal_every = std::min(plan.signal_every, std::max(1U, plan.depth / 2));
  plan.post_list = std::min(plan.post_list, plan.depth);
  if (transport::is_two_sided(spec.traffic.operation)) {
    // What has arrived must stay until it was checked.
    plan.receive_slots = std::max(plan.receive_slots, spec.endpoint.queue_pairs);
    plan.receives = std::min(plan.receives, plan.receive_slots / spec.endpoint.queue_pairs);
  }
  return plan;
}

transport::EndpointRequest endpoint_request(const SessionSpec& spec, bool client) {
  const SlotPlan slots = plan_slots(spec);
  transport::EndpointRequest request;
  request.options = spec.endpoint;
  request.client = client;
  request.operations = operations_of(spec);
  request.delivery = !spec.traffic.pattern.empty() && pattern_needs(spec.traffic.pattern).delivery;
  request.depth = slots.depth;
  request.receives = slots.receives;
  request.signal_every = slots.signal_every;
  request.options.post_list = slots.post_list;
  request.latency = spec.traffic.shape == Shape::latency;
  request.max_size = spec.max_size;
  request.local_queue_pairs = client ? spec.traffic.client_queue_pairs : 0;
  request.send_slots = slots.send_slots;
  request.receive_slots = slots.receive_slots;
  request.slot_stride = slots.stride;
  request.memory = spec.peer_memory;
  request.timeout = spec.timeout;
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
    return std::min(kMost,
                    (slots * stride + request.options.misalignment + page - 1) / page * page);
  };
  return 2 * bytes(request.send_slots) + bytes(request.receive_slots);
}

}  // namespace rdmabench::inline v1::run
