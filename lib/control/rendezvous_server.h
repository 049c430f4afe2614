// Rank 0's service to all ranks, itself included: a thread that holds the board.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <thread>

#include "key_value_store.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::control {

/// Thread rule: made and destroyed by one thread; the rest is its own thread's.
class RendezvousServer {
 public:
  /// Serves until it is destroyed. Throws std::system_error when there is no thread to be had.
  RendezvousServer(Listener listener, std::uint32_t size);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

 private:
  struct Client {
    Channel channel;
    Deadline hello_by;
    std::optional<std::uint32_t> rank;  // once it said hello
  };
  using Clients = std::list<Client>;

  void run() noexcept;
  void turn();
  void accept();
  void read(Clients::iterator client);
  void answer_all();
  void drop(Clients::iterator client);
  std::chrono::nanoseconds patience() const;

  Listener listener_;
  KeyValueStore store_;
  Clients clients_;
  std::vector<Clients::iterator> of_rank_;  // clients_.end() while it is not here
  std::size_t strangers_ = 0;               // clients without a rank
  std::thread thread_;
};

}  // namespace rdmabench::control
