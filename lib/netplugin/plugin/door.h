// Who comes to a listener, and which of them has its handle.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/readiness.h"

namespace rdmabench::netplugin::plugin {

/// Waits for the greetings of many connections at once, so that nobody who is silent keeps another
/// one from being heard.
///
/// Thread rule: one thread at a time, but wake() may run beside any other call.
class Door {
 public:
  struct Guest {
    control::Channel channel;
    std::string hello;  ///< a JSON object with the secret; the rest is whatever the peer wrote
  };

  /// `patience`: how long a connection may stay without having said who it is. The listener must
  /// outlive the door. Throws Error(failed) when there is no room for more file descriptors.
  Door(control::Listener& listener, std::string secret, std::chrono::milliseconds patience);

  /// The next who knows the secret; nothing when the deadline passes or wake() was called. Throws
  /// as control::Listener::accept() does.
  std::optional<Guest> next(Deadline deadline);
  void wake() noexcept { readiness_.wake(); }

 private:
  struct Stranger {
    std::uint64_t key;
    control::Channel channel;
    Deadline deadline;
  };

  void accept();
  std::optional<Guest> hear(std::uint64_t key);

  control::Listener& listener_;
  std::string secret_;
  std::chrono::milliseconds patience_;
  control::Readiness readiness_;
  std::list<Stranger> strangers_;  // the oldest first
  std::uint64_t next_key_ = 1;     // 0 is the listener's
};

}  // namespace rdmabench::netplugin::plugin
