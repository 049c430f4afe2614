// Connections whose other end has not proved yet who it is. They share the server's thread, and
// none can delay another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "handshake.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::control {

/// Thread rule: one thread.
class Strangers {
 public:
  static constexpr std::size_t kMost = 512;               ///< in all
  static constexpr std::size_t kMostOfAddress = 8;        ///< of one address
  static constexpr std::chrono::seconds kLimit{2};        ///< for all of the handshake
  static constexpr std::chrono::milliseconds kGrace{10};  ///< before one makes room for another

  /// `authentication` is loaded(), and outlives this.
  explicit Strangers(const Authentication& authentication) : authentication_(authentication) {}

  /// Nothing where one more may be added: the oldest of an address with too many was closed, if
  /// need be. Else for how long none may: the oldest came just now.
  std::optional<std::chrono::nanoseconds> make_room();

  /// Returns its key.
  std::uint64_t add(Channel channel);

  /// Whether the key is of one that is still here.
  bool has(std::uint64_t key) const { return all_.contains(key); }

  /// Reads what it sent. Its channel, once it has proved who it is; it is a stranger no more.
  std::optional<Channel> proceed(std::uint64_t key);

  /// Closes those that took too long. Returns when the next is due; nothing where there is none.
  std::optional<std::chrono::nanoseconds> expire();

 private:
  struct Stranger {
    Channel channel;
    Handshake handshake;
    Deadline grace;
    Deadline limit;
  };
  using Map = std::map<std::uint64_t, Stranger>;  // the oldest first

  void refuse(Map::iterator stranger, RefusalReason reason);

  const Authentication& authentication_;
  std::uint64_t next_ = 1;
  Map all_;
};

}  // namespace rdmabench::control
