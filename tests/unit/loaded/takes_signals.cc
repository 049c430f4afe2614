// A library whose constructor takes signals, as libinfinipath's does.
#include <csignal>

namespace {

[[gnu::constructor]] void take() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGUSR1, SIG_IGN);
}

}  // namespace
