// Starts one operation of NCCL.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/cuda_abi.h"
#include "library.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective::nccl {

constexpr Type type_of(DataType type) noexcept {
  return static_cast<Type>(type);
}
/// Not for Reduction::mulsum, which needs an operation created for the communicator.
RedOp red_op_of(Reduction reduction) noexcept;

/// The scalar of mulsum encoded in that type, little-endian in the low bytes.
std::uint64_t scalar_bits(DataType type, std::uint32_t scalar) noexcept;

/// Why this NCCL, on a GPU of that compute capability (90 for 9.0), cannot do the call; "" where it
/// can.
std::string unsupported(const Call& call, std::uint32_t ranks, int version, int capability);

/// All arguments of a call but its buffers.
struct CallPlan {
  Call call;
  Team team;
  Type type = 0;
  RedOp op = 0;
  std::uint64_t element = 1;  ///< bytes
  Parts sent;                 ///< all_to_all_v
  Parts received;
};
CallPlan make_call_plan(const Call& call, Team team, RedOp op);

/// Uses NCCL's own call if this library has it, else grouped sends and receives. `send` and
/// `receive` are where this rank's input and result begin; unused ones may have any value.
Result launch(const Library& library, Comm* comm, Stream stream, const CallPlan& plan,
              gpu::DevicePointer send, gpu::DevicePointer receive) noexcept;

/// "ncclAllReduce", "grouped ncclSend and ncclRecv": what launch() calls.
std::string call_name(const Library& library, Operation operation);

}  // namespace rdmabench::inline v1::collective::nccl
