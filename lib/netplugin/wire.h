// How the two ends of a case talk beside the plugin.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "isolate.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::netplugin {

/// The other end has failed, or is no more.
struct PeerEnded {};
/// The other end says nothing within the time of the case: it hangs, or waits itself.
struct PeerSilent {};

class Wire {
 public:
  virtual ~Wire() = default;
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  virtual void send(std::string_view text) = 0;
  /// Throws PeerEnded, and PeerSilent when the deadline passes.
  virtual std::string receive(const Deadline& deadline) = 0;
  /// Thread-safe.
  virtual bool peer_ended() = 0;
};

/// Between two threads.
class ThreadWires {
 public:
  Wire& end(bool sender) { return ends_[sender ? 1 : 0]; }
  /// What the other end then sees.
  void ended(bool sender);

 private:
  struct Mailbox {
    std::deque<std::string> messages;
    bool closed = false;
  };
  class End final : public Wire {
   public:
    void send(std::string_view text) override;
    std::string receive(const Deadline& deadline) override;
    bool peer_ended() override;
    ThreadWires* all = nullptr;
    int own = 0;
  };

 public:
  ThreadWires();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Mailbox inbox_[2];
  End ends_[2];
};

/// From a child to the other host, by way of the parents.
class RelayWire final : public Wire {
 public:
  explicit RelayWire(Pipe& pipe) : pipe_(pipe) {}
  void send(std::string_view text) override;
  std::string receive(const Deadline& deadline) override;
  bool peer_ended() override;

 private:
  void take(std::chrono::milliseconds wait);
  std::mutex mutex_;
  Pipe& pipe_;
  std::deque<std::string> messages_;
  bool ended_ = false;
};

}  // namespace rdmabench::netplugin
