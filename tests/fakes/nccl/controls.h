// Faults that the environment requests. Each is "RANK:FROM[:WHAT]": on that rank, from its
// operation number FROM on (the first is 0).
#pragma once

#include <cstdint>
#include <string>

namespace fake_nccl {

struct Fault {
  bool set = false;
  std::uint64_t from = 0;
  std::uint64_t what = 0;

  bool holds(std::uint64_t number) const { return set && number >= from; }
};

struct Controls {
  int version = 22809;  ///< FAKE_NCCL_VERSION
  Fault corrupt;        ///< FAKE_NCCL_CORRUPT: flips a bit of byte WHAT of its result, or behind it
  Fault stall;          ///< the operation does not start
  Fault async_error;    ///< ncclCommGetAsyncError returns WHAT
  Fault init;           ///< FAKE_NCCL_INIT_HANG=RANK: only ncclCommAbort ends it
  Fault block;          ///< FAKE_NCCL_BLOCK: the call itself never returns
  bool slow_enqueue = false;  ///< FAKE_NCCL_SLOW_ENQUEUE=1: calls stay in progress for a
                              ///< while, unless the communicator is a blocking one
  std::string refuse;         ///< FAKE_NCCL_REFUSE=CALL[:RESULT]: it returns that, or 5,
  int refusal = 5;            ///< ncclInvalidUsage
  std::string choice;         ///< FAKE_NCCL_CHOICE=ALGORITHM:PROTOCOL:CHANNELS, for a profiler
  std::string trace;          ///< FAKE_NCCL_TRACE: a file to which calls are appended
};

/// The faults of this rank. Reads the environment again.
Controls controls(int rank);

}  // namespace fake_nccl
