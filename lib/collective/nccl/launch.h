// One operation given to NCCL.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cuda_abi.h"
#include "library.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::collective::nccl {

Type type_of(DataType type) noexcept;
/// Not for Reduction::mulsum, whose operation is made for each communicator.
RedOp red_op_of(Reduction reduction) noexcept;

/// The scalar of mulsum in the bits of that type, little-endian in the low bytes.
std::uint64_t scalar_bits(DataType type, std::uint32_t scalar) noexcept;

/// Why this NCCL, on a GPU of that compute capability (90 for 9.0), cannot do the call; "" where it
/// can.
std::string unsupported(const Call& call, int version, int capability);

/// All that a call needs besides its buffers.
struct LaunchPlan {
  Call call;
  Team team;
  Type type = 0;
  RedOp op = 0;
  std::uint64_t element = 1;  ///< bytes
  Parts sent;                 ///< all_to_all_v
  Parts received;
};
LaunchPlan make_launch_plan(const Call& call, Team team, RedOp op);

/// By NCCL's own call where this library has one, else by grouped sends and receives. `send` and
/// `receive` are where this rank's input and result begin; one that it has not may be anything.
Result launch(const Library& library, Comm* comm, Stream stream, const LaunchPlan& plan,
              gpu::DevicePointer send, gpu::DevicePointer receive) noexcept;

/// "ncclAllReduce", "grouped ncclSend and ncclRecv": what launch() calls.
std::string call_name(const Library& library, Operation operation);

}  // namespace rdmabench::collective::nccl
