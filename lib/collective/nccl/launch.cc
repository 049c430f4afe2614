#include "launch.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>

#include "collective/inputs.h"

namespace rdmabench::collective::nccl {
namespace {

void* at(gpu::DevicePointer base, std::uint64_t bytes = 0) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver has addresses as numbers
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(base + bytes));
}

/// Groups sends and receives into one operation. A group that was started is always ended.
class Group {
 public:
  explicit Group(const Library& library) noexcept
      : library_(library), result_(library.group_start()) {
    open_ = result_ == kSuccess;
  }
  bool good() const noexcept { return result_ == kSuccess || result_ == kInProgress; }
  void add(Result result) noexcept {
    if (good()) result_ = result;
  }
  Result end() noexcept {
    if (!open_) return result_;
    const Result ended = library_.group_end();
    return good() ? ended : result_;
  }

 private:
  const Library& library_;
  Result result_;
  bool open_ = false;
};

/// The arguments of one launch.
struct Hand {
  const Library& library;
  Comm* comm;
  Stream stream;
  const CallPlan& plan;
  gpu::DevicePointer send;
  gpu::DevicePointer receive;
};

void send_to(Group& group, const Hand& hand, std::uint32_t peer, std::uint64_t offset,
             std::uint64_t count) noexcept {
  if (count == 0 || !group.good()) return;
  group.add(hand.library.send(at(hand.send, offset * hand.plan.element), count, hand.plan.type,
                              static_cast<int>(peer), hand.comm, hand.stream));
}

void receive_from(Group& group, const Hand& hand, std::uint32_t peer, std::uint64_t offset,
                  std::uint64_t count) noexcept {
  if (count == 0 || !group.good()) return;
  group.add(hand.library.recv(at(hand.receive, offset * hand.plan.element), count, hand.plan.type,
                              static_cast<int>(peer), hand.comm, hand.stream));
}

Result all_to_all(const Hand& hand) noexcept {
  const std::uint64_t count = hand.plan.call.count;
  if (hand.library.all_to_all != nullptr) {
    return hand.library.all_to_all(at(hand.send), at(hand.receive), count, hand.plan.type,
                                   hand.comm, hand.stream);
  }
  Group group(hand.library);
  for (std::uint32_t peer = 0; peer < hand.plan.team.size; ++peer) {
    send_to(group, hand, peer, peer * count, count);
    receive_from(group, hand, peer, peer * count, count);
  }
  return group.end();
}

Result all_to_all_v(const Hand& hand) noexcept {
  const Parts& sent = hand.plan.sent;
  const Parts& received = hand.plan.received;
  Group group(hand.library);
  for (std::uint32_t peer = 0; peer < hand.plan.team.size; ++peer) {
    send_to(group, hand, peer, sent.offsets[peer], sent.counts[peer]);
    receive_from(group, hand, peer, received.offsets[peer], received.counts[peer]);
  }
  return group.end();
}

Result gather(const Hand& hand) noexcept {
  const Call& call = hand.plan.call;
  if (hand.library.gather != nullptr) {
    return hand.library.gather(at(hand.send), at(hand.receive), call.count, hand.plan.type,
                               static_cast<int>(call.root), hand.comm, hand.stream);
  }
  Group group(hand.library);
  send_to(group, hand, call.root, 0, call.count);
  for (std::uint32_t peer = 0; hand.plan.team.rank == call.root && peer < hand.plan.team.size;
       ++peer) {
    receive_from(group, hand, peer, peer * call.count, call.count);
  }
  return group.end();
}

Result scatter(const Hand& hand) noexcept {
  const Call& call = hand.plan.call;
  if (hand.library.scatter != nullptr) {
    return hand.library.scatter(at(hand.send), at(hand.receive), call.count, hand.plan.type,
                                static_cast<int>(call.root), hand.comm, hand.stream);
  }
  Group group(hand.library);
  for (std::uint32_t peer = 0; hand.plan.team.rank == call.root && peer < hand.plan.team.size;
       ++peer) {
    send_to(group, hand, peer, peer * call.count, call.count);
  }
  receive_from(group, hand, call.root, 0, call.count);
  return group.end();
}

Result send_receive(const Hand& hand) noexcept {
  const Team team = hand.plan.team;
  Group group(hand.library);
  send_to(group, hand, (team.rank + 1) % team.size, 0, hand.plan.call.count);
  receive_from(group, hand, (team.rank + team.size - 1) % team.size, 0, hand.plan.call.count);
  return group.end();
}

}  // namespace

RedOp red_op_of(Reduction reduction) noexcept {
  constexpr std::array<RedOp, kReductions> kOps{kSum, kProd, kMin, kMax, kAvg, kSum};
  return kOps[static_cast<std::size_t>(reduction)];
}

std::uint64_t scalar_bits(DataType type, std::uint32_t scalar) noexcept {
  std::array<std::byte, sizeof(std::uint64_t)> bytes{};
  encode(type, scalar, bytes.data());
  return std::bit_cast<std::uint64_t>(bytes);
}

std::string unsupported(const Call& call, int version, int capability) {
  const bool fp8 = call.type == DataType::f8e4m3 || call.type == DataType::f8e5m2;
  if (fp8 && version < kHasFp8) {
    return fmt::format("NCCL {} has no {}: it came with 2.24", version_text(version),
                       name(call.type));
  }
  constexpr int kHopper = 90;
  if (fp8 && reduces(call.operation) && capability < kHopper) {
    return fmt::format("NCCL reduces {} on compute capability 9.0 and newer only; this is {}.{}",
                       name(call.type), capability / 10, capability % 10);
  }
  const bool many = call.operation == Operation::all_to_all ||
                    call.operation == Operation::all_to_all_v ||
                    call.operation == Operation::send_receive;
  if (call.in_place && many) {
    return fmt::format("NCCL has no {} in place", name(call.operation));
  }
  return "";
}

CallPlan make_call_plan(const Call& call, Team team, RedOp op) {
  CallPlan plan;
  plan.call = call;
  plan.team = team;
  plan.type = type_of(call.type);
  plan.op = op;
  plan.element = bytes_of(call.type);
  if (call.operation == Operation::all_to_all_v) {
    plan.sent = parts_sent(call, team);
    plan.received = parts_received(call, team);
  }
  return plan;
}

Result launch(const Library& library, Comm* comm, Stream stream, const CallPlan& plan,
              gpu::DevicePointer send, gpu::DevicePointer receive) noexcept {
  const Call& call = plan.call;
  const auto root = static_cast<int>(call.root);
  const Hand hand{library, comm, stream, plan, send, receive};
  switch (call.operation) {
    case Operation::all_reduce:
      return library.all_reduce(at(send), at(receive), call.count, plan.type, plan.op, comm,
                                stream);
    case Operation::reduce:
      return library.reduce(at(send), at(receive), call.count, plan.type, plan.op, root, comm,
                            stream);
    case Operation::broadcast:
      return library.broadcast(at(send), at(receive), call.count, plan.type, root, comm, stream);
    case Operation::reduce_scatter:
      return library.reduce_scatter(at(send), at(receive), call.count, plan.type, plan.op, comm,
                                    stream);
    case Operation::all_gather:
      return library.all_gather(at(send), at(receive), call.count, plan.type, comm, stream);
    case Operation::all_to_all:
      return all_to_all(hand);
    case Operation::all_to_all_v:
      return all_to_all_v(hand);
    case Operation::gather:
      return gather(hand);
    case Operation::scatter:
      return scatter(hand);
    case Operation::send_receive:
      return send_receive(hand);
  }
  return kInvalidUsage;
}

std::string call_name(const Library& library, Operation operation) {
  constexpr const char* kGrouped = "grouped ncclSend and ncclRecv";
  switch (operation) {
    case Operation::all_reduce:
      return "ncclAllReduce";
    case Operation::reduce:
      return "ncclReduce";
    case Operation::broadcast:
      return "ncclBroadcast";
    case Operation::reduce_scatter:
      return "ncclReduceScatter";
    case Operation::all_gather:
      return "ncclAllGather";
    case Operation::all_to_all:
      return library.all_to_all != nullptr ? "ncclAlltoAll" : kGrouped;
    case Operation::gather:
      return library.gather != nullptr ? "ncclGather" : kGrouped;
    case Operation::scatter:
      return library.scatter != nullptr ? "ncclScatter" : kGrouped;
    case Operation::all_to_all_v:
    case Operation::send_receive:
      break;
  }
  return kGrouped;
}

}  // namespace rdmabench::collective::nccl
