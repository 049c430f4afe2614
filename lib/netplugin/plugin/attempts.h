// Each connect() that is under way, from NCCL's first call of it to its last.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "setup.h"

namespace rdmabench::netplugin::plugin {

/// A handle came from a peer: what it says is looked up here, and is never where something lies.
/// Thread-safe.
class Attempts {
 public:
  /// The comm, or null while it is under way: then call it again with the same handle, in which
  /// `pending` is the number of the attempt. Two copies of one handle are two attempts.
  ///
  /// Throws Error(usage) for a handle that listen() did not make or that names no attempt of its
  /// own, and what kept the connection from being made; then the attempt is over.
  std::unique_ptr<Sender> connect(const Settings& settings, const Device& device, Handle& handle);

 private:
  struct Attempt {
    Handle handle;
    std::unique_ptr<Connecting> connecting;
  };

  std::mutex mutex_;
  std::map<std::uint64_t, Attempt> attempts_;  // by number
  std::uint64_t last_ = 0;                     // number that was given out
};

}  // namespace rdmabench::netplugin::plugin
