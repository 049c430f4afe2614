#include <algorithm>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/run/protocol.h"

namespace rdmabench::run {
namespace {

// Where every message needs a buffer of its own, as many as fit in here; at least one.
constexpr std::uint64_t kValidatedMemory = std::uint64_t{16} << 20;

// Otherwise messages rotate through one page: hot in cache, as perftest's are, and yet not all on
// one line.
constexpr std::uint64_t kHotMemory = 4096;

constexpr std::uint32_t kTokenReceives = 8;     // where only tokens and ping-pong replies arrive
constexpr std::uint32_t kStreamReceives = 512;  // perftest's default: a burst that finds room

std::uint32_t slots_within(std::uint64_t memory, std::uint64_t stride, std::uint32_t at_most) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(memory / stride, 1, at_most));
}

}  // namespace

transport::EndpointRequest endpoint_request(const SessionSpec& spec, bool client) {
  using transport::OperationCode;
  const bool stream = spec.shape == workload::Shape::stream;
  const bool notifies =
      spec.operation == OperationCode::send || spec.operation == OperationCode::write_imm;
  const std::uint64_t stride = memory::slot_stride(spec.max_size);

  transport::EndpointRequest request;
  request.client = client;
  request.operation = spec.operation;
  request.latency = !stream;
  request.max_size = spec.max_size;
  request.depth = spec.depth;
  request.signal_every = spec.signal_every;
  request.inline_limit = spec.inline_limit;
  request.mtu = spec.mtu;
  request.provider = spec.provider;
  request.receives =
      stream && notifies ? std::max(kStreamReceives, 2 * spec.depth) : kTokenReceives;

  const std::uint64_t memory = stream && spec.validate ? kValidatedMemory : kHotMemory;
  request.send_slots = slots_within(memory, stride, spec.depth);
  request.receive_slots = slots_within(memory, stride, request.receives);
  if (stream && spec.validate) {
    // What is under way must not change, and what has arrived must stay until it was checked.
    request.depth = request.send_slots;
    request.signal_every = std::min(request.signal_every, std::max(1U, request.depth / 2));
    if (spec.operation == OperationCode::send) request.receives = request.receive_slots;
  }
  return request;
}

std::uint64_t memory_of(const transport::EndpointRequest& request) {
  const std::uint64_t slots = std::uint64_t{2} * request.send_slots + request.receive_slots;
  return slots * memory::slot_stride(request.max_size);
}

}  // namespace rdmabench::run
