// What a device says of itself, of its ports and of an endpoint's objects, beside the completions:
// a device that has failed completes nothing.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::verbs {

/// One row of the table.
struct EventText {
  /// Which member of ibv_async_event::element is valid.
  enum class About : std::uint8_t { device, port, queue_pair, queue };

  ibv_event_type type;
  std::string_view name;  ///< "IBV_EVENT_QP_FATAL"
  About about;
  bool ends;  ///< a run; else it only helps to explain what did
  std::string_view meaning;
};

/// What ends a run comes first; at most 32 rows. Not among them are events of a healthy run:
/// IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_PATH_MIG,
/// IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER. docs/errors.md lists them.
std::span<const EventText> event_texts() noexcept;

/// Reads the asynchronous events of one context. Nothing waits for them: who waits for a completion
/// in vain asks. Each is acknowledged as it is read, so none delays the end of its object.
/// Thread rule: one thread at a time. Source: ibv_get_async_event(3).
class DeviceEvents {
 public:
  /// `port`: the one that is used; the events of others are left out. Throws Error(failed).
  DeviceEvents(ibv_context& context, std::uint8_t port);

  /// Takes what has been reported since. True once there was an event that no endpoint survives. A
  /// port that goes down is none: RC sends again until its retries are over, and the link may be
  /// back by then; UCX and NCCL go on, too.
  bool look() noexcept;

  /// "mlx5_0 reported IBV_EVENT_PORT_ERR (the link of port 1 went down). Check the cable."; ""
  /// where nothing was reported that could end a run.
  std::string text() const;

  /// Of what ends a run: "IBV_EVENT_DEVICE_FATAL"; "" where nothing does.
  std::string_view fatal() const noexcept;

 private:
  void remember(const ibv_async_event& event) noexcept;

  ibv_context& context_;
  std::uint8_t port_;
  std::uint32_t seen_ = 0;        ///< bits, by the rows of the table
  std::uint32_t queue_pair_ = 0;  ///< of the first event of a queue pair
  int code_ = 0;                  ///< an errno: there is no device any more
};

}  // namespace rdmabench::verbs
