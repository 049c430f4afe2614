// Connecting RC queue pairs by the RDMA connection manager, librdmacm.
#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/handles.h"
#include "rdmabench/verbs/queue_pair.h"

namespace rdmabench::verbs {

/// What the connections of an endpoint have in common.
struct ManagedConnection {
  std::string device;         ///< the one the queue pairs are of; another route is refused
  std::uint8_t port = 1;      ///< likewise
  std::uint64_t session = 0;  ///< tells this server's client from others
  std::uint32_t mtu = 0;      ///< bytes
  std::uint8_t reads_out = 0;
  std::uint8_t reads_in = 0;
  PathAttributes path{};  ///< what differs from the default replaces what the manager found
  std::chrono::milliseconds timeout{10000};  ///< of each wait for the manager or the peer
};

/// The identifiers of one endpoint's connections. The queue pairs are the caller's, in INIT, and
/// must outlive it. Closing disconnects. Thread rule: one thread at a time.
/// Source: rdma_cm(7), rdma_establish(3), rdma_init_qp_attr(3).
class ConnectionManager {
 public:
  /// Throws Error(unavailable) where the kernel has no connection manager.
  ConnectionManager();
  ~ConnectionManager();
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;

  /// Server: begins to listen at an IP address of its own and returns the port, which the kernel
  /// chooses. Throws Error(failed).
  std::uint16_t listen(const Gid& at, std::uint32_t backlog);

  /// Server: brings each queue pair to RTS with the client's of the same number. Requests of
  /// other sessions are rejected. Throws Error(failed), also when the time is up.
  void accept(std::span<const QueuePair> queue_pairs, const ManagedConnection& with);

  /// Client: likewise, one after the other. Throws Error(failed) that says which step failed and
  /// why, Error(unavailable) where the route leaves by another device.
  void connect(const Gid& from, const Gid& to, std::uint16_t port,
               std::span<const QueuePair> queue_pairs, const ManagedConnection& with);

 private:
  using Channel = Handle<rdma_event_channel, rdma_destroy_event_channel>;
  using Id = Handle<rdma_cm_id, rdma_destroy_id>;

  struct Event {
    rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_ERROR;
    int status = 0;
    rdma_cm_id* id = nullptr;  ///< owned by nobody yet where it is a connect request
    std::uint64_t session = 0;
    std::uint32_t number = 0;
  };

  Id make_id();
  Event next(const ManagedConnection& with, std::string_view step, Deadline deadline);
  void expect(rdma_cm_event_type type, const ManagedConnection& with, const std::string& step);
  void connect_one(const sockaddr& from, const sockaddr& to, const std::string& where,
                   std::uint32_t number, ibv_qp& queue_pair, const ManagedConnection& with);
  bool accept_one(Id id, const Event& request, std::span<const QueuePair> queue_pairs,
                  std::vector<bool>& taken, const ManagedConnection& with);

  Channel channel_;
  Id listener_;
  std::vector<Id> ids_;
};

}  // namespace rdmabench::verbs
