// What NVIDIA's management library tells of GPUs, and the release of the Fabric Manager, as facts.
// Private to this room.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

// clang-format off
/// Asks a child process, because a GPU that has failed can hold a caller in the driver for ever.
/// take() adds
///   rdmabench/nvml: "init=0", the library's answer, or kNotTold and why
///   rdmabench/gpu/ADDRESS, of each GPU that answered in time, with these lines where they are known:
///     answer=0
///     fabric state=3 status=0 health=0x11aa summary=1 clique=1 cluster=00000000000000000000000000000000
///     nvlink active=18 inactive=0
///     ecc mode=1 uncorrected=0
///     rows corrected=0 uncorrected=0 pending=0 failed=0
///     slowed 0x1
///     mig now=0 next=0
///     persistence on=1
///     clock mhz=1980 default_mhz=1980
///     recovery action=0
///   rdmabench/fabric_manager: what it prints of its version, where it is installed
/// The numbers are NVML's own. Thread rule: one thread.
// clang-format on
class GpuQuestion {
 public:
  /// Starts at once. With no addresses it loads nothing and starts nothing. `fabric_manager` is a
  /// program's path.
  GpuQuestion(const std::vector<std::string>& addresses, const std::string& fabric_manager,
              std::chrono::milliseconds limit);
  ~GpuQuestion();
  GpuQuestion& operator=(GpuQuestion&&) = delete;

  /// Waits until the limit at most. What has been told counts, however late this is called.
  void take(MemoryStore& facts);

 private:
  std::string failed_;  ///< why nothing is asked
  pid_t child_ = -1;
  Descriptor input_;
  std::chrono::milliseconds limit_;
  Deadline deadline_;
};

}  // namespace rdmabench::inline v1::health
