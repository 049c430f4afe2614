// Connections whose other end is not authenticated yet. They share the server's thread, and none
// can delay another.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "handshake.h"
#include "munge_decoder.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "refusals.h"

namespace rdmabench::inline v1::control {

/// Thread rule: one thread.
class PendingHandshakes {
 public:
  static constexpr std::size_t kMaxPerHost = 64;
  static constexpr std::chrono::seconds kLimit{2};        ///< for all of the handshake
  static constexpr std::chrono::milliseconds kGrace{10};  ///< before one makes room for another

  /// `authentication` is loaded(), and outlives this.
  explicit PendingHandshakes(const Authentication& authentication)
      : authentication_(authentication) {
    if (authentication.method() == Authentication::Method::munge) decoder_.emplace();
  }

  /// Returns its key. `host` is whom it counts as. If that has kMaxPerHost or half of all places,
  /// refuses the oldest of them; if there are Listener::max_pending(), the oldest of the host that
  /// has most. If that one is younger than kGrace, refuses the new one, which will try again, and
  /// returns nothing.
  std::optional<std::uint64_t> add(Channel channel, const std::string& host);

  std::size_t size() const noexcept { return all_.size(); }

  /// Closes it, if it is there.
  void drop(std::uint64_t key) noexcept;

  /// Refuses the oldest, for its file descriptor. False where there is none.
  bool drop_oldest() noexcept;

  /// Reads what it sent. Returns its channel and forgets it, once it is authenticated.
  std::optional<Channel> proceed(std::uint64_t key);

  /// The same for one of those whose credential has been decoded. Nothing where none is known.
  std::optional<Channel> proceed_decoded();

  /// The socket of a connection that is not to be read now, because its credential is being
  /// decoded; -1 otherwise.
  int decoding(std::uint64_t key) const;

  /// Readable when proceed_decoded() has work; -1 where nobody uses MUNGE.
  int decoded_handle() const noexcept { return decoder_ ? decoder_->event().get() : -1; }

  /// As Listener::on_refused().
  void on_refused(std::function<void(const RefusedPeer&)> tell) {
    refusals_.on_refused(std::move(tell));
  }
  void tell_rest_of_refusals() noexcept { refusals_.tell_rest(); }

  /// Closes those that took too long, and tells whom it refused as on_refused() says. Returns when
  /// the next is due; nothing where there is none.
  std::optional<std::chrono::nanoseconds> expire();

 private:
  struct Keys {  // of one host, the oldest first
    std::array<std::uint64_t, kMaxPerHost> list{};
    std::size_t count = 0;
  };
  using Hosts = std::map<std::string, Keys>;

  struct PendingHandshake {
    Channel channel;
    Hosts::iterator host;
    Handshake handshake;
    Deadline grace;
    Deadline limit;
  };
  using Map = std::map<std::uint64_t, PendingHandshake>;  // the oldest first

  std::optional<std::uint64_t> in_the_way_of(const std::string& host) const;
  void refuse(Channel& channel, RefusalReason reason) const noexcept;
  void tell_of(const Channel& channel, const RefusedHandshake& refused) noexcept;
  void refuse_oldest(RefusalReason reason) noexcept;
  Map::node_type take(Map::iterator one) noexcept;

  const Authentication& authentication_;
  std::optional<MungeDecoder> decoder_;
  Refusals refusals_;
  std::uint64_t next_ = 1;
  Map all_;
  Hosts hosts_;  // that have any
};

}  // namespace rdmabench::inline v1::control
