// A loaded plugin, independent of the version of its interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netplugin/abi.h"
#include "netplugin/check.h"
#include "rdmabench/measure/clock.h"

namespace rdmabench::inline v1::netplugin {

/// One message, or one buffer of a group of receives.
struct Message {
  void* data = nullptr;
  std::size_t bytes = 0;
  int tag = 0;
  void* registration = nullptr;
};

/// One end of a measurement: a comm to send on, a comm to receive on, and a message for each.
struct Exchange {
  void* sending = nullptr;
  void* receiving = nullptr;
  Message out;
  Message in;
  std::uint64_t timeout_ns = 0;  ///< for the whole loop
};

/// The end of a measuring loop.
struct LoopResult {
  abi::Result result = abi::kSuccess;  ///< of the failed call
  const char* call = "";               ///< the failed call, "deadline", or "" after success
  std::uint64_t done = 0;              ///< completed messages
  measure::Ticks elapsed = 0;
};

/// The calls of a plugin in the same form for every version of `abi`. Nothing is checked and
/// nothing throws: the caller gets the plugin's result codes. Do not make a call that missing()
/// lists, and before init() none but name() and init().
///
/// Thread rule: that of the plugin.
class Net {
 public:
  virtual ~Net() = default;
  Net& operator=(Net&&) = delete;

  virtual int version() const noexcept = 0;
  virtual const char* name() const noexcept = 0;  ///< may be null
  virtual bool has_init() const noexcept = 0;
  /// Mandatory functions that the plugin lacks. Valid after init(), which may set them.
  virtual std::vector<std::string_view> missing() const = 0;
  virtual bool has_flush() const noexcept = 0;
  virtual bool has_dma_buf() const noexcept = 0;

  /// From version 11 on it makes the context that later calls use.
  virtual abi::Result init() = 0;
  virtual abi::Result finalize() = 0;  ///< does nothing before version 11
  virtual abi::Result devices(int& count) = 0;
  virtual abi::Result properties(int device, Properties& properties) = 0;
  virtual abi::Result listen(int device, void* handle, void** comm) = 0;
  virtual abi::Result connect(int device, void* handle, void** comm) = 0;
  virtual abi::Result accept(void* listening, void** comm) = 0;
  virtual abi::Result register_memory(void* comm, void* data, std::size_t bytes, int kind,
                                      void** registration) = 0;
  virtual abi::Result deregister(void* comm, void* registration) = 0;
  virtual abi::Result send(void* comm, const Message& message, void** request) = 0;
  virtual abi::Result receive(void* comm, std::span<const Message> group, void** request) = 0;
  virtual abi::Result flush(void* comm, const Message& message, void** request) = 0;
  virtual abi::Result test(void* request, int* done, int* bytes) = 0;
  virtual abi::Result close_send(void* comm) = 0;
  virtual abi::Result close_receive(void* comm) = 0;
  virtual abi::Result close_listen(void* comm) = 0;

  // The measuring loops. They call the plugin's functions directly.

  /// One round trip for each element of `ticks`. The side with `first` sends and waits for the
  /// answer; the other side answers. `ticks` are whole round trips and valid only on the first
  /// side.
  virtual LoopResult ping_pong(const Exchange& exchange, bool first,
                               std::span<measure::Ticks> ticks) = 0;
  /// `count` messages one way with at most `window` (1..abi::kMaxRequests) in flight. Then the
  /// receiver confirms them by one byte the other way. `elapsed` is from the first send to that
  /// byte.
  virtual LoopResult stream(const Exchange& exchange, bool sender, std::uint64_t count,
                            int window) = 0;
};

/// The interface versions that a library exports, newest first. The library stays loaded until the
/// process ends. Throws Error(usage) if the file does not exist or exports no network plugin,
/// Error(unavailable) with the text of dlerror(3) if it cannot be loaded.
std::vector<int> exported_versions(const std::string& file);

/// `version` 0 takes the newest that the library exports, as NCCL does. Throws like
/// exported_versions().
std::unique_ptr<Net> open_net(const std::string& file, int version);

/// "2 (system error)".
std::string result_text(abi::Result result);

}  // namespace rdmabench::inline v1::netplugin
