// Log lines about set-up. Off unless the program sets a hook.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

/// One line without an end of line: "loaded: libfabric.so.1 from /usr/lib/libfabric.so.1.25". What
/// the hook throws is dropped.
using LogHook = std::function<void(std::string_view line)>;

/// Sets the hook of the whole process. nullptr, the default, turns the lines off. The lines are for
/// people: which optional library was loaded or is missing, which back end, provider and device
/// were chosen and what was passed over, a refused connection that is tried again, a server's
/// sessions. None comes from a measuring loop.
///
/// Thread rule: any thread. Several threads may call the hook at once. A call in progress when
/// set_log() returns is not interrupted.
void set_log(LogHook hook);

namespace detail {

extern std::atomic<bool> log_is_on;

void tell_log(const std::string& line) noexcept;

}  // namespace detail

/// For the library: tells the hook what `line()` returns, a std::string, and without a hook does
/// not call it.
template <class Line>
void log_line(Line&& line) {
  if (detail::log_is_on.load(std::memory_order_relaxed)) detail::tell_log(line());
}

}  // namespace rdmabench::inline v1
