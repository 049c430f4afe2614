#include "interruption.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "rdmabench/base/error.h"

namespace rdmabench::tools {
namespace {

std::stop_source stopping;
std::atomic<int> caught{0};
std::atomic<const Event*> event{nullptr};  // set by a signal

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

/// The first of them: the next one, whichever it is, ends the process. No callback is registered
/// with the stop_source, so that requesting the stop only sets an atomic flag.
extern "C" void stop_running(int signal) {
  const int before = errno;
  caught = signal;
  stopping.request_stop();
  if (const Event* const waited_for = event) waited_for->set();
  for (const int one : kSignals) {
    if (std::signal(one, SIG_DFL) == SIG_IGN) std::signal(one, SIG_IGN);
  }
  errno = before;
}

}  // namespace

void catch_interruption() {
  static const bool once = [] {
    for (const int signal : kSignals) {
      if (std::signal(signal, stop_running) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
    return true;
  }();
  static_cast<void>(once);
}

std::stop_token interruption() {
  return stopping.get_token();
}

std::string interrupted() {
  const int signal = caught;
  if (signal == 0) return "";
  return fmt::format("interrupted by {}", signal == SIGINT    ? "SIGINT"
                                          : signal == SIGTERM ? "SIGTERM"
                                                              : "SIGHUP");
}

int exit_status(int code) {
  constexpr int kOfSignals = 128;  // as shells have it
  return caught == 0 ? code : kOfSignals + caught;
}

OnInterruption::OnInterruption(std::function<void()> write_and_end) {
  static const Event signalled;
  if (signalled.get() < 0 || ended_.get() < 0) throw Error(Fault::failed, "eventfd", {}, errno);
  event = &signalled;
  thread_ = std::thread([this, write_and_end = std::move(write_and_end)] {
    std::array<pollfd, 2> waits{pollfd{.fd = signalled.get(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = ended_.get(), .events = POLLIN, .revents = 0}};
    while (poll(waits.data(), waits.size(), -1) < 0) {
    }
    if (waits[0].revents != 0) write_and_end();
  });
  catch_interruption();
}

OnInterruption::~OnInterruption() {
  ended_.set();
  thread_.join();
}

}  // namespace rdmabench::tools
