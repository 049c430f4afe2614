// The one place where rank 0 admits connections of the other ranks, and where a rank asks to be
// admitted. What proves that a rank belongs to the run is checked here and nowhere else.
//
//   rank                                                 rank 0
//   hello {token, rank, size, host, process, channel} ->
//                                              <- welcome run id, or abort {reason}
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/readiness.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::control {

enum class AdmissionMessage : std::uint16_t {
  abort = kAbortCode,
  hello = first_code(Protocol::admission),
  welcome,
};
constexpr std::string_view name_of(AdmissionMessage type) noexcept {
  return message_name(static_cast<std::uint16_t>(type), first_code(Protocol::admission),
                      std::array<std::string_view, 2>{"hello", "welcome"});
}

inline constexpr std::size_t kMaxRunId = 64;  ///< bytes

/// The first message on every connection to rank 0.
struct RankHello {
  std::string run_id{};  ///< of the run, see BootstrapAddress; "" where it is not known yet
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string host{};
  std::uint64_t process = 0;
  std::uint32_t channel = 0;  ///< which of the rank's connections this is, from 0
};
std::string to_text(RankHello hello);
/// Throws Error(failed) that names the field.
RankHello parse_rank_hello(std::string_view text);

struct AdmissionRules {
  std::string run_id{};
  std::uint32_t size = 1;        ///< ranks
  std::uint32_t channels = 1;    ///< connections of each
  std::uint32_t first_rank = 0;  ///< 1 where rank 0 itself does not connect
};

/// Rank 0's side. It accepts connections, reads their hello, refuses wrong tokens, sizes, ranks and
/// duplicates, and closes those that say nothing in time. Connections that are not admitted yet are
/// limited in number: the oldest is closed. Thread rule: one thread.
class Admission {
 public:
  struct Joined {
    std::uint64_t key;  ///< what Readiness::wait() returns for the channel from now on
    RankHello hello;
    Channel channel;
  };

  /// Watches `listener` in `readiness`; both have to outlive it. Keys of `readiness` are its own.
  Admission(Listener& listener, Readiness& readiness, AdmissionRules rules);

  /// Whether the key is the listener's or of a connection that is not admitted.
  bool owns(std::uint64_t key) const { return key == kListenerKey || pending_.contains(key); }

  /// For a key that it owns: accepts, reads, refuses; returns the connection that is now admitted,
  /// if any.
  std::optional<Joined> handle(std::uint64_t key);

  /// Closes connections that did not say hello in time. Call it at least every `next_expiry()`.
  void expire();
  std::optional<std::chrono::nanoseconds> next_expiry() const;

  /// For who watches an admitted connection: it has ended before the run began, and its seat is
  /// free for another.
  void vacate(std::uint32_t rank, std::uint32_t channel = 0) noexcept;

  bool complete() const noexcept { return admitted_ == seats_.size(); }
  /// The reason of the first refusal; "" if there was none.
  const std::string& first_refusal() const noexcept { return first_refusal_; }

  /// From now on every connection is refused for this reason.
  void close(std::string reason);

 private:
  static constexpr std::uint64_t kListenerKey = 0;

  struct Pending {
    Channel channel;
    Deadline hello_by;
  };

  void accept();
  RankHello read_hello(const Message& message);
  std::string& seat_of(std::uint32_t rank, std::uint32_t channel);

  Listener& listener_;
  Readiness& readiness_;
  AdmissionRules rules_;
  std::uint64_t next_key_ = kListenerKey + 1;
  std::map<std::uint64_t, Pending> pending_;  // by key: the oldest first
  std::vector<std::string> seats_;            // by rank and channel: who has it, "" = nobody
  std::size_t admitted_ = 0;
  std::string first_refusal_;
  std::string closed_;
};

struct BootstrapAddress;

/// A rank's connection to rank 0.
struct Admitted {
  Channel channel;
  Authentication authentication;  ///< of connections among the ranks of this run alone
};

/// Connects to rank 0 at one of the addresses, which are tried in turn, and is admitted.
/// A connection that breaks is tried again until the deadline, and every one where rank 0 may be
/// starting; what rank 0 answers is final. Throws Error(failed) that says what happened at each
/// address.
Admitted join_rank_0(const BootstrapAddress& address, const RankHello& hello, Deadline deadline);

/// The address at which a member of another machine reached this one; "" where there is none.
std::string address_reached(const std::vector<const Channel*>& members);
/// The address at which other members reach this one; `here` is address_reached(). A member of this
/// machine is seen under the address that it dialled, which other machines may not reach (that of a
/// bridge, for example).
std::string address_of(const Channel& member, const std::string& here);

/// What `error` says without its remedy, which may be for somebody else.
std::string reason_of(const Error& error);

}  // namespace rdmabench::control
