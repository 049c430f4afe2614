// Waiting for file descriptors, no longer than a deadline.
#pragma once

#include <poll.h>

#include <chrono>
#include <span>
#include <stop_token>
#include <string>

#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::control {

/// How often a wait looks for a stop. No callback is registered with one: a signal handler may
/// request it.
inline constexpr std::chrono::milliseconds kStopNap{50};

/// False when the deadline passed first; it looks once even when it has passed already. Signals do
/// not end the wait. Throws Error(failed) when ppoll(2) fails, and Cancelled within kStopNap when
/// `stop` is requested.
bool wait_for(std::span<pollfd> entries, Deadline deadline, const std::stop_token& stop = {});

/// "10 s", "250 ms": three digits are plenty for an error text.
std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace rdmabench::inline v1::control
