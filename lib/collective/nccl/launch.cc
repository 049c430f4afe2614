#include "launch.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>

#include "collective/inputs.h"

namespace rdmabench::inline v1::collective::nccl {
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
struct LaunchArguments {
  const Library& library;
  Comm* comm;
  Stream stream;
  const CallPlan& plan;
  gpu::DevicePointer send;
  gpu::DevicePointer receive;
};

void send_to(Group& group, const LaunchArguments& arguments, std::uint32_t peer,
             std::uint64_t offset, std::uint64_t count) noexcept {
  if (count == 0 || !group.good()) return;
  group.add(arguments.library.send(at(arguments.send, offset * arguments.plan.element), count,
                                   arguments.plan.type, static_cast<int>(peer), arguments.comm,
                                   arguments.stream));
}

void receive_from(Group& group, const LaunchArguments& arguments, std::uint32_t peer,
                  std::uint64_t offset, std::uint64_t count) noexcept {
  if (count == 0 || !group.good()) return;
  group.add(arguments.library.recv(at(arguments.receive, offset * arguments.plan.element), count,
                                   arguments.plan.type, static_cast<int>(peer), arguments.comm,
                                   arguments.stream));
}

Result all_to_all(const LaunchArguments& arguments) noexcept {
  const std::uint64_t count = arguments.plan.call.count;
  if (arguments.library.all_to_all != nullptr) {
    return arguments.library.all_to_all(at(arguments.send), at(arguments.receive), count,
                                        arguments.plan.type, arguments.comm, arguments.stream);
  }
  Group group(arguments.library);
  for (std::uint32_t peer = 0; peer < arguments.plan.team.size; ++peer) {
    send_to(group, arguments, peer, peer * count, count);
    receive_from(group, arguments, peer, peer * count, count);
  }
  return group.end();
}

Result all_to_all_v(const LaunchArguments& arguments) noexcept {
  const Parts& sent = arguments.plan.sent;
  const Parts& received = arguments.plan.received;
  Group group(arguments.library);
  for (std::uint32_t peer = 0; peer < arguments.plan.team.size; ++peer) {
    send_to(group, arguments, peer, sent.offsets[peer], sent.counts[peer]);
    receive_from(group, arguments, peer, received.offsets[peer], received.counts[peer]);
  }
  return group.end();
}

Result gather(const LaunchArguments& arguments) noexcept {
  const Call& call = arguments.plan.call;
  if (arguments.library.gather != nullptr) {
    return arguments.library.gather(at(arguments.send), at(arguments.receive), call.count,
                                    arguments.plan.type, static_cast<int>(call.root),
                                    arguments.comm, arguments.stream);
  }
  Group group(arguments.library);
  send_to(group, arguments, call.root, 0, call.count);
  for (std::uint32_t peer = 0;
       arguments.plan.team.rank == call.root && peer < arguments.plan.team.size; ++peer) {
    receive_from(group, arguments, peer, peer * call.count, call.count);
  }
  return group.end();
}

Result scatter(const LaunchArguments& arguments) noexcept {
  const Call& call = arguments.plan.call;
  if (arguments.library.scatter != nullptr) {
    return arguments.library.scatter(at(arguments.send), at(arguments.receive), call.count,
                                     arguments.plan.type, static_cast<int>(call.root),
                                     arguments.comm, arguments.stream);
  }
  Group group(arguments.library);
  for (std::uint32_t peer = 0;
       arguments.plan.team.rank == call.root && peer < arguments.plan.team.size; ++peer) {
    send_to(group, arguments, peer, peer * call.count, call.count);
  }
  receive_from(group, arguments, call.root, 0, call.count);
  return group.end();
}

Result send_receive(const LaunchArguments& arguments) noexcept {
  const Team team = arguments.plan.team;
  Group group(arguments.library);
  send_to(group, arguments, (team.rank + 1) % team.size, 0, arguments.plan.call.count);
  receive_from(group, arguments, (team.rank + team.size - 1) % team.size, 0,
               arguments.plan.call.count);
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

std::string unsupported(const Call& call, std::uint32_t ranks, int version, int capability) {
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
  const bool scales = call.reduction == Reduction::avg || call.reduction == Reduction::mulsum;
  if (fp8 && reduces(call.operation) && scales && ranks == 1) {
    // Source: NCCL 2.24 to 2.30, ncclLaunchOneRank(): its 8-bit cases are compiled for devices
    // only.
    return fmt::format("NCCL has no {} of {} with one rank", name(call.reduction), name(call.type));
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
  const LaunchArguments arguments{library, comm, stream, plan, send, receive};
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
      return all_to_all(arguments);
    case Operation::all_to_all_v:
      return all_to_all_v(arguments);
    case Operation::gather:
      return gather(arguments);
    case Operation::scatter:
      return scatter(arguments);
    case Operation::send_receive:
      return send_receive(arguments);
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

}  // namespace rdmabench::inline v1::collective::nccl
