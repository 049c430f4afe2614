// Out-of-band channel: messages between the two ends of a case that do not go through the plugin.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

#include "isolate.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::netplugin {

/// The other end has failed or is gone.
struct PeerEnded {};
/// The other end sent nothing within the timeout of the case.
struct PeerSilent {};

class OobChannel {
 public:
  virtual ~OobChannel() = default;
  OobChannel& operator=(OobChannel&&) = delete;

  virtual void send(std::string_view text) = 0;
  /// Throws PeerEnded, and PeerSilent when the deadline passes.
  virtual std::string receive(const Deadline& deadline) = 0;
  /// Thread-safe.
  virtual bool peer_ended() = 0;
};

/// Both ends of a channel between two threads.
class ThreadChannels {
 public:
  OobChannel& end(bool sender) { return ends_[sender ? 1 : 0]; }
  /// Tells the other end that this end has ended.
  void ended(bool sender);

 private:
  struct Mailbox {
    std::deque<std::string> messages;
    bool closed = false;
  };
  class End final : public OobChannel {
   public:
    void send(std::string_view text) override;
    std::string receive(const Deadline& deadline) override;
    bool peer_ended() override;
    ThreadChannels* all = nullptr;
    int own = 0;
  };

 public:
  ThreadChannels();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Mailbox inbox_[2];
  End ends_[2];
};

/// From a child to a child of another host; the parents forward the messages.
class RelayChannel final : public OobChannel {
 public:
  explicit RelayChannel(Pipe& pipe) : pipe_(pipe) {}
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

}  // namespace rdmabench::inline v1::netplugin
