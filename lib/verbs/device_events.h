// What a device says of itself, of its ports and of an endpoint's objects, beside the completions:
// a device that has failed completes nothing.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rdmabench::inline v1::verbs {

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

constexpr std::size_t kMaxEventTexts = 32;

/// At most kMaxEventTexts rows, which docs/errors.md lists; the first that ends a run names its
/// end. Events without a row are ignored. They belong to a healthy run (IBV_EVENT_COMM_EST,
/// IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG, IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SM_CHANGE,
/// IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_DEVICE_SPEED_CHANGE), to objects that we do not make
/// (IBV_EVENT_WQ_FATAL), or to a kernel that is newer than this table.
std::span<const EventText> event_texts() noexcept;

/// Reads the asynchronous events of one context. Nothing waits for them: who waits for a completion
/// in vain asks. Each is acknowledged as it is read, so none delays the end of its object.
/// Thread rule: one thread at a time. Source: ibv_get_async_event(3).
class DeviceEvents {
 public:
  /// `port`: the one that is used; the events of others are left out. `shared_receives`: whether
  /// there is a shared receive queue. Throws Error(failed).
  DeviceEvents(ibv_context& context, std::uint8_t port, bool shared_receives);

  /// Takes what has been reported since. True once there was an event that no endpoint survives. A
  /// port that goes down is none: RC sends again until its retries are over, and the link may be
  /// back by then; UCX and NCCL go on, too.
  bool look() noexcept;

  /// "mlx5_0 reported IBV_EVENT_PORT_ERR (port 1: the link went down). Check the cable, ..."; ""
  /// where nothing was reported that explains an end. `completion_failed`: then every queue pair
  /// reports its last work request, which explains nothing.
  std::string text(bool completion_failed) const;

  /// Of what ends a run: "IBV_EVENT_DEVICE_FATAL"; "" where nothing does.
  std::string_view fatal() const noexcept;

  /// Whether the device or a queue failed: then that is the cause of what completions say. A queue
  /// pair's event may be the effect of a failed completion: irdma and bnxt_re report each queue
  /// pair that goes into the error state.
  bool beyond_queue_pairs() const noexcept;

 private:
  void remember(const ibv_async_event& event) noexcept;

  ibv_context& context_;
  std::uint8_t port_;
  bool read_;               ///< not where that does harm
  std::uint32_t seen_ = 0;  ///< bits, by the rows of the table
  /// By row, of its first event.
  std::array<std::uint32_t, kMaxEventTexts> queue_pairs_{};
  int code_ = 0;  ///< an errno: there is no device any more
};

}  // namespace rdmabench::inline v1::verbs
