// A loaded plugin, whatever the version of its interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netplugin/abi.h"
#include "netplugin/net.h"
#include "rdmabench/measure/clock.h"
#include "rdmabench/netplugin/check.h"

namespace rdmabench::netplugin {

/// One message, or one buffer of a group of receives.
struct Message {
  void* data = nullptr;
  std::size_t bytes = 0;
  int tag = 0;
  void* registration = nullptr;
};

/// Both directions of a measurement: a comm to send by and one to receive by, and a message each.
struct Exchange {
  void* sending = nullptr;
  void* receiving = nullptr;
  Message out;
  Message in;
  std::uint64_t timeout_ns = 0;  ///< of the whole loop
};

/// How a measuring loop ended.
struct LoopResult {
  abi::Result result = abi::kSuccess;  ///< of the call that failed
  const char* call = "";               ///< which call, or "deadline"
  std::uint64_t done = 0;              ///< messages before it
  measure::Ticks elapsed = 0;
};

/// The calls of a plugin, those of `abi` in one shape. Nothing is checked, and nothing throws: the
/// caller sees what the plugin returns. Calls for which the plugin has no function must not be
/// made; see missing().
///
/// Thread rule: the plugin's own; this object adds none.
class Net {
 public:
  virtual ~Net() = default;
  Net() = default;
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  virtual int version() const noexcept = 0;
  virtual const char* name() const noexcept = 0;  ///< may be null
  /// Functions that NCCL calls without asking whether they are there, and that are not.
  virtual std::vector<std::string_view> missing() const = 0;
  virtual bool has_flush() const noexcept = 0;
  virtual bool has_dma_buf() const noexcept = 0;

  /// Makes the context of the calls below where the version has one.
  virtual abi::Result init() = 0;
  virtual abi::Result finalize() = 0;  ///< success where the version has none
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

  // The loops of a measurement, which call the plugin's table without a call of ours between.

  /// One round trip for each element of `ticks`: the first side sends and waits for the answer, the
  /// other one answers. `ticks` are whole round trips; those of the other side mean nothing.
  virtual LoopResult ping_pong(const Exchange& exchange, bool first,
                               std::span<measure::Ticks> ticks) = 0;
  /// `count` messages one way, at most `window` (1..abi::kMaxRequests) under way; then one byte the
  /// other way, by which the receiver confirms them. `elapsed` is from the first send to that byte.
  virtual LoopResult stream(const Exchange& exchange, bool sender, std::uint64_t count,
                            int window) = 0;
};

/// Which versions a library exports, newest first. The library stays loaded for the life of the
/// process. Throws Error(usage) where the file is not there or exports no network plugin,
/// Error(unavailable) with dlerror(3) where it cannot be loaded.
std::vector<int> exported_versions(const std::string& file);

/// `version` 0: the newest that it exports, as NCCL would take. Throws as above.
std::unique_ptr<Net> open_net(const std::string& file, int version);

/// "2 (system error)".
std::string result_text(abi::Result result);

/// The last warning that a plugin of this process logged, and "" before the first. Thread-safe.
std::string last_warning();

}  // namespace rdmabench::netplugin
