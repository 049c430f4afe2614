// What the library has to say of a bring-up: off unless a program asks for it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace rdmabench {

/// One line without an end of line: "loaded: libfabric.so.1 from /usr/lib/libfabric.so.1.25". What
/// the hook throws is dropped.
using LogHook = std::function<void(std::string_view line)>;

/// The whole process tells `hook` from now on; nullptr: nobody, as at the start. The lines are for
/// people: which optional library was loaded or is missing, which back end, provider and device
/// were chosen and what was passed over, a refused connection that is tried again, a server's
/// sessions. None comes from a measuring loop.
///
/// Thread rule: any thread. The hook is called by the thread that has something to say, so by
/// several at once; a call that is under way when set_log() returns still ends.
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

}  // namespace rdmabench
