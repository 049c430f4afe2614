// Connects RC queue pairs by the RDMA connection manager (librdmacm).
#pragma once

#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/handles.h"
#include "verbs/queue_pair.h"

namespace rdmabench::inline v1::verbs {

enum class SetupCall : std::uint8_t;  // lib/verbs/setup_error.h

/// Settings of all connections of an endpoint.
struct ManagedConnection {
  std::string device;         ///< of the queue pairs; a route by another device is refused
  std::uint8_t port = 1;      ///< of the queue pairs
  std::uint64_t session = 0;  ///< identifies this server's client
  std::uint32_t mtu = 0;      ///< bytes
  std::uint8_t reads_out = 0;
  std::uint8_t reads_in = 0;
  PathAttributes path{};  ///< values other than the defaults replace those of the manager
  std::chrono::milliseconds timeout{10000};  ///< of each wait for the manager or the peer
  std::stop_token stop{};                    ///< ends them
};

/// The connections of one endpoint. The queue pairs belong to the caller, are in INIT, and must
/// outlive this object. The destructor disconnects. Thread rule: one thread at a time.
/// Source: rdma_cm(7), rdma_establish(3), rdma_init_qp_attr(3).
class ConnectionManager {
 public:
  /// Throws Error(unavailable) if the kernel has no connection manager.
  ConnectionManager();
  ~ConnectionManager();
  ConnectionManager& operator=(ConnectionManager&&) = delete;

  /// Server: listens on the local IP address `at` and returns the port, which the kernel chooses.
  /// Throws Error(failed).
  std::uint16_t listen(const Gid& at, std::uint32_t backlog);

  /// Server: connects each queue pair with the client's queue pair of the same index, to RTS.
  /// Rejects requests of other sessions. Throws Error(failed), also after the timeout, and
  /// Error(unavailable) if a request arrives by another device or port; the client is told.
  void accept(std::span<const QueuePair> queue_pairs, const ManagedConnection& with);

  /// Client: connects the queue pairs one after the other. Throws Error(failed) that names the
  /// failed step, Error(unavailable) if the route uses another device.
  void connect(const Gid& from, const Gid& to, std::uint16_t port,
               std::span<const QueuePair> queue_pairs, const ManagedConnection& with);

 private:
  using Channel = Handle<rdma_event_channel, rdma_destroy_event_channel>;
  using Id = Handle<rdma_cm_id, rdma_destroy_id>;

  struct Event {
    rdma_cm_event_type type = RDMA_CM_EVENT_ADDR_ERROR;
    int status = 0;
    rdma_cm_id* id = nullptr;  ///< not owned yet if the event is a connect request
    std::uint64_t session = 0;
    std::uint32_t number = 0;
    std::string refusal{};  ///< what the server says of its rejection
  };

  Id make_id();
  Event next(const ManagedConnection& with, std::string_view step, Deadline deadline);
  void expect(rdma_cm_event_type type, const ManagedConnection& with, SetupCall call,
              const std::string& step);
  void connect_one(const sockaddr& from, const sockaddr& to, const std::string& where,
                   std::uint32_t number, ibv_qp& queue_pair, const ManagedConnection& with);
  bool accept_one(Id id, const Event& request, std::span<const QueuePair> queue_pairs,
                  std::vector<bool>& taken, const ManagedConnection& with);

  Channel channel_;
  Id listener_;
  std::vector<Id> ids_;
};

}  // namespace rdmabench::inline v1::verbs
