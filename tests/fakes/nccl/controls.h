// What the environment asks the fake to do wrong. Every one is "RANK:FROM[:WHAT]": on that rank,
// from its operation number FROM on (the first is 0).
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
  Fault stall;          ///< FAKE_NCCL_STALL: the operation does not begin
  Fault delay;          ///< FAKE_NCCL_DELAY: the operation begins WHAT microseconds later
  Fault async_error;    ///< FAKE_NCCL_ASYNC_ERROR: ncclCommGetAsyncError gives WHAT
  Fault init;           ///< FAKE_NCCL_INIT_HANG=RANK: ends by ncclCommAbort alone
  bool slow_enqueue = false;  ///< FAKE_NCCL_SLOW_ENQUEUE=1: calls are in progress for a while
  std::string refuse;         ///< FAKE_NCCL_REFUSE: a call that gives ncclInvalidUsage
  std::string choice;         ///< FAKE_NCCL_CHOICE=ALGORITHM:PROTOCOL:CHANNELS, told to a profiler
  std::string trace;          ///< FAKE_NCCL_TRACE: a file to which calls are appended
};

/// For this rank. Reads the environment afresh.
Controls controls(int rank);

}  // namespace fake_nccl
