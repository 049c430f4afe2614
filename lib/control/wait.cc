#include "wait.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {

bool wait_for(std::span<pollfd> entries, Deadline deadline, const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) throw Cancelled();
    std::chrono::nanoseconds left = deadline.left();
    if (stop.stop_possible()) left = std::min<std::chrono::nanoseconds>(left, kStopNap);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{seconds.count(), (left - seconds).count()};
    const int ready = ppoll(entries.data(), entries.size(), &timeout, nullptr);
    if (ready > 0) return true;
    if (ready == 0 && left.count() == 0) return false;
    if (ready < 0 && errno != EINTR) {
      throw Error(Fault::failed, "ppoll()", "", errno, {.library = "libc", .call = "ppoll"});
    }
  }
}

std::string duration_text(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  return seconds < 0.9995 ? fmt::format("{:.3g} ms", seconds * 1e3)
                          : fmt::format("{:.3g} s", seconds);
}

}  // namespace rdmabench::inline v1::control
