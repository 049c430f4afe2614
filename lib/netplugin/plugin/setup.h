// How a connection comes to be: over TCP, in threads of their own, so that connect() and accept()
// do not wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "comm.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/listener.h"
#include "settings.h"

namespace rdmabench::netplugin::plugin {

/// What listen() tells connect(), within 128 bytes. `pending` is the connector's own: a number of
/// its Attempts.
struct Handle {
  static constexpr std::uint64_t kMark = 0x72646d61'6e657401;
  struct Address {
    unsigned char bytes[16];  ///< of IPv6, or IPv4 mapped into it
    std::uint32_t scope;
    std::uint32_t unused;
  };
  std::uint64_t mark = kMark;
  std::uint64_t secret[2] = {0, 0};  ///< by which the listener knows who has the handle
  std::uint16_t port = 0;
  std::uint16_t addresses = 0;
  std::uint32_t unused = 0;
  Address address[3] = {};
  std::uint64_t pending = 0;
};
static_assert(sizeof(Handle) <= abi::kHandleBytes);

/// Threads that end by themselves, within the timeout of what they do; the process waits for them
/// at its end. Thread-safe.
class Background {
 public:
  ~Background() { end(); }
  /// Waits for all threads. Those that began since are for a later call.
  void end();
  /// Throws std::system_error where there is no room for another thread.
  void start(std::function<void()> work);
  /// Lets a connection come to its end, for the settings' linger at most.
  void bury(std::unique_ptr<Comm> comm, std::chrono::milliseconds linger);
  /// The process comes to its end.
  bool ending() const { return ending_; }

 private:
  struct Worker {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> done;
  };
  struct Closing {
    std::unique_ptr<Comm> comm;
    Deadline deadline;
  };
  void linger_all();

  std::mutex mutex_;
  std::list<Worker> workers_;
  std::vector<Closing> closing_;
  bool lingering_ = false;
  std::atomic<bool> ending_{false};
};
Background& background();

/// What listen() gives. Thread-safe.
class Listening {
 public:
  /// Throws Error.
  Listening(const Settings& settings, const Device& device, Handle& handle);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// The next connection, or null if there is none yet. Throws what kept one from being made.
  std::unique_ptr<Receiver> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// A connect() that is under way, with a handle whose bounds were looked at.
class Connecting {
 public:
  Connecting(const Settings& settings, const Device& device, const Handle& handle);
  /// Null while it is under way. Throws Error.
  std::unique_ptr<Sender> take();

 private:
  std::shared_ptr<std::promise<std::unique_ptr<Sender>>> promise_;
  std::future<std::unique_ptr<Sender>> result_;
};

}  // namespace rdmabench::netplugin::plugin
