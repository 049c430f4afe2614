// Rank 0's connections to the ranks of a run, or one to rank 0, once admitted (admission.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/readiness.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {

/// The ranks as rank 0 sees them: it sends them messages and they answer.
class Ranks {
 public:
  struct Event {
    std::uint32_t rank = 0;
    bool ended = false;  ///< nothing more will come; `text` is the reason
    MessageType type{0};
    std::string text{};  ///< the payload
  };

  virtual ~Ranks() = default;
  Ranks& operator=(Ranks&&) = delete;

  /// Never waits for long; what fails comes back as an event.
  virtual void send(std::uint32_t rank, MessageType type, std::string_view payload) = 0;

  /// Appends what has come; returns as soon as there is something, or at the deadline.
  virtual void wait(Deadline deadline, std::vector<Event>& events) = 0;

  /// Tells the rank why, and is done with it.
  virtual void drop(std::uint32_t rank, std::string_view reason) = 0;
};

/// Ranks at the other end of channels, all served by one thread. An `abort` ends its rank, and is
/// the type of that event. Thread rule: one thread, but wake() may run beside any other call.
class Star final : public Ranks {
 public:
  /// By rank; none where a rank is lost. Connections to `late`, which has to outlive it, are told
  /// that they come too late.
  explicit Star(std::vector<std::optional<Channel>> channels, Listener* late = nullptr);

  void send(std::uint32_t rank, MessageType type, std::string_view payload) override;
  void wait(Deadline deadline, std::vector<Event>& events) override;
  void drop(std::uint32_t rank, std::string_view reason) override;

  /// Ends the wait() in progress, or else the next one.
  void wake() noexcept { readiness_.wake(); }

 private:
  void take(std::uint32_t rank);
  void end(std::uint32_t rank, std::string reason, MessageType type = MessageType{0});

  std::vector<std::optional<Channel>> channels_;
  Listener* late_;
  Readiness readiness_;
  std::vector<Event> events_;  ///< not delivered yet
};

}  // namespace rdmabench::inline v1::control
