// Waiting for file descriptors, no longer than a deadline.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <string>

#include "rdmabench/base/deadline.h"

namespace rdmabench::control {

/// False when the deadline passed first; it looks once even when it has passed already. Signals do
/// not end the wait. Throws Error(failed) when ppoll(2) fails.
bool wait_for(std::span<pollfd> entries, Deadline deadline);

/// "10 s", "250 ms": three digits are plenty for an error text.
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace rdmabench::control
