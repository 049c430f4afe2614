// The ranks of a machine without a launcher: -t and -g.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rdmabench::tools::nccltests {

/// Ranks 1 and up as children of this process, which becomes rank 0; all of this machine. They are
/// told by RDMABENCH_RANK, _SIZE and _RENDEZVOUS, and end with the object.
class LocalRanks {
 public:
  /// Starts this program anew with these arguments (of execve(2), the first being its name) and the
  /// environment as it is; returns 0 and the child, or an errno.
  using Spawn = std::function<int(pid_t* child, char* const* arguments)>;
  static int spawn_self(pid_t* child, char* const* arguments);

  /// `words` is the command line after the program's name, for every rank the same. Throws
  /// Error(failed) where a child cannot be started; those that were end before that.
  LocalRanks(std::uint32_t ranks, const std::vector<std::string>& words,
             const Spawn& spawn = spawn_self);
  /// Ends those that are left.
  ~LocalRanks();
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  /// Waits for all; false where one failed or does not end in 10 s.
  bool wait();

 private:
  LocalRanks() = default;

  std::vector<pid_t> children_;
};

/// Whether a launcher has said who this process is.
bool is_launched();

}  // namespace rdmabench::tools::nccltests
