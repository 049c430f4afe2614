// The ranks of a machine without a launcher: -t and -g.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rdmabench::tools::nccltests {

/// Ranks 1 and up as children of this process, which becomes rank 0; all of this machine. They are
/// told by RDMABENCH_RANK, _SIZE and _RENDEZVOUS, and end with the object.
class LocalRanks {
 public:
  /// `words` is the command line after the program's name, for every rank the same. Throws
  /// Error(failed) where a child cannot be started.
  LocalRanks(std::uint32_t ranks, const std::vector<std::string>& words);
  /// Ends those that are left.
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  /// Waits for all; false where one failed or does not end in 10 s.
  bool wait();

 private:
  std::vector<pid_t> children_;
};

/// Whether a launcher has said who this process is.
bool is_launched();

}  // namespace rdmabench::tools::nccltests
