// The ranks of a machine without a launcher: -t and -g.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rdmabench::inline v1::tools::nccltests {

/// Starts ranks 1 and up as child processes on this machine; this process becomes rank 0. Ranks are
/// configured by RDMABENCH_RANK, _SIZE and _RENDEZVOUS. The destructor ends the children.
class LocalRanks {
 public:
  /// Starts this program again with these arguments (of execve(2), its name first) and the current
  /// environment. Returns 0 and the child, or an errno.
  using Spawn = std::function<int(pid_t* child, char* const* arguments)>;
  static int spawn_self(pid_t* child, char* const* arguments);

  /// `words` is the command line of every rank, after the program's name. Throws Error(failed) if a
  /// child cannot be started, after it has ended those that were started.
  LocalRanks(std::uint32_t ranks, const std::vector<std::string>& words,
             const Spawn& spawn = spawn_self);
  /// Ends the children that still run.
  ~LocalRanks();
  LocalRanks& operator=(LocalRanks&&) = delete;

  /// Waits for all children. Returns false if one failed or did not end within 10 s.
  bool wait();

 private:
  LocalRanks() = default;

  std::vector<pid_t> children_;
};

/// Whether a launcher has set this process's rank.
bool is_launched();

}  // namespace rdmabench::inline v1::tools::nccltests
