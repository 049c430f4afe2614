// A process that was started to ask what may never answer. Private to this room.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::health {

/// What comes from a pipe up to its end, kMaxFileBytes or the deadline; after that, what is ready.
std::string read_all(int input, const Deadline& deadline);

/// The status of waitpid(2); none where the child had to be killed at the deadline. Its process
/// group is killed with it. A killed process may be held by a device that does not answer: it is
/// left `after_kill` later.
std::optional<int> end_of(pid_t child, const Deadline& deadline,
                          std::chrono::milliseconds after_kill);

}  // namespace rdmabench::inline v1::health
