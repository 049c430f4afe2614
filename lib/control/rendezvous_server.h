// Rank 0's service to all ranks, itself included: a thread that has the key-value store.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "admission.h"
#include "key_value_store.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "readiness.h"

namespace rdmabench::control {

/// Thread rule: made and destroyed by one thread; the rest belongs to its own thread.
class RendezvousServer {
 public:
  /// Serves until it is destroyed. Throws std::system_error when no thread can be started.
  RendezvousServer(Listener listener, std::uint32_t size);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

 private:
  struct Client {
    std::uint32_t rank;
    Channel channel;
  };

  void run() noexcept;
  void serve(std::uint64_t key);
  void answer_all();
  void drop(std::uint64_t key);
  std::chrono::nanoseconds patience() const;

  Listener listener_;
  Readiness readiness_;
  Admission admission_;
  KeyValueStore store_;
  std::map<std::uint64_t, Client> clients_;  // by the key of the connection
  std::vector<std::uint64_t> key_of_rank_;   // 0 while it is not here
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rdmabench::control
