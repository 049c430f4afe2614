// The one place where rank 0 admits connections of the other ranks, and where a rank asks to be
// admitted. What proves that a rank belongs to the run is checked here and nowhere else.
//
//   rank                                                 rank 0
//   hello {run id, rank, size, host, process, channel} ->
//                                              <- welcome run id, or abort {reason}
//                                              <- the run's greeting, if it has one
//   the run's word for "ready"                 ->
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/walk.h"
#include "control/readiness.h"
#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::control {

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
void walk(MessageFields& fields, RankHello& hello);
void walk(MessageFields& fields, BootstrapAddress& address);
using rdmabench::to_text;

/// Rank 0, where to_text(address) reaches the ranks of the run alone: listens at `port` (0: a free
/// one) of every address of this machine, with a secret of this run unless `authentication` is
/// insecure. Throws Error as Listener and make_bootstrap_address() do.
Bootstrap listen_as_rank_0(std::uint16_t port, const Authentication& authentication);
/// The other ranks: from that text. Throws Error(failed) for one that is none.
Bootstrap find_rank_0(std::string_view published, const Authentication& authentication);

struct AdmissionRules {
  std::string run_id{};
  std::uint32_t size = 1;             ///< ranks
  std::uint32_t channels = 1;         ///< connections of each
  std::uint32_t first_rank = 0;       ///< 1 where rank 0 itself does not connect
  std::optional<Message> greeting{};  ///< what each is sent first, on connection 0
  MessageType ready{kAbortCode};      ///< what each answers there, once it can begin
  /// Takes that answer. Who throws here refuses the rank, with the reason.
  std::function<void(std::uint32_t rank, std::string payload)> on_ready{};
  /// As Rendezvous::host_of(); none: no host is known before its rank has come. Asked once for each
  /// rank, and no more after an answer that took long.
  std::function<std::string(std::uint32_t rank)> host_of{};
  /// Told about once a second who has not come, as "gpu07" or "rank 7".
  std::function<void(const std::vector<std::string>& missing)> on_wait{};
  /// As Listener::on_refused(), of the first addresses alone; the rest is in Seat::absent.
  std::function<void(const RefusedPeer& refused)> on_refused{};
};

/// The place of a rank in the run.
struct Seat {
  RankHello hello{};                               ///< of who came last
  std::vector<std::optional<Channel>> channels{};  ///< all of them, or none where it is absent
  std::string address{};  ///< numeric: where the other ranks reach this one
  std::string absent{};   ///< why it does not take part; "" = it does
};

/// Rank 0's side. It accepts connections, reads their hello, refuses wrong run ids, sizes, ranks
/// and duplicates, and closes those that say nothing in time. Connections that are not admitted yet
/// are limited in number: the oldest is closed. The seat of a rank that leaves is free again, also
/// that of the last one. Thread rule: one thread.
class Admission {
 public:
  /// `listener` has to outlive it, and tells it alone of whom it refuses.
  Admission(Listener& listener, AdmissionRules rules);
  ~Admission() { listener_.on_refused({}); }
  Admission& operator=(Admission&&) = delete;

  /// Until every rank is ready or refused, or the deadline. Returns the seats by rank. Whoever
  /// comes later is to be told by refuse_late(). Throws Error(failed) when epoll_wait(2) fails.
  std::vector<Seat> admit(Deadline deadline);

  /// Whether every rank is ready or refused.
  bool complete();
  /// Takes what has come, or comes until the deadline or within a second.
  void turn(Deadline deadline);
  /// Who has not come, as AdmissionRules::on_wait() is told; no host is asked for after `by`.
  std::vector<std::string> missing(Deadline by);

 private:
  struct Pending {
    Channel channel;
    Deadline hello_by;
  };
  struct Place {
    std::uint32_t rank;
    std::uint32_t channel;
  };
  struct Rank {
    Seat seat;
    std::optional<std::string> host{};  ///< by the launcher, which has been asked: "" = not known
    bool ready = false;
    std::string refused{};  ///< why it does not take part
    std::string left{};     ///< how the last one to leave ended
  };

  void accept();
  void note_refused(const RefusedPeer& refused);
  std::string host_of(std::uint32_t rank, Deadline by);
  const RefusedPeer* refused_of(const std::string& host, Deadline by);
  void take_hello(std::uint64_t key, Channel& channel);
  RankHello read_hello(const Message& message);
  void take(std::uint64_t key, Place place);
  bool settled(const Rank& rank) const;
  std::string why_absent(const Rank& rank, const std::string& given, Deadline by);

  Listener& listener_;
  Readiness readiness_;
  AdmissionRules rules_;
  std::uint64_t next_key_;
  std::map<std::uint64_t, Pending> pending_;  // by key: the oldest first
  std::map<std::uint64_t, Place> places_;     // by key: who has been admitted
  std::vector<Rank> ranks_;
  std::uint32_t open_;  // the last one that was not settled
  std::string first_refusal_;
  std::map<std::string, RefusedPeer> refused_{};               // by address: the first one
  std::map<std::string, const RefusedPeer*> refused_hosts_{};  // by host: looked up, once
  bool launcher_is_slow_ = false;
  bool resolver_is_slow_ = false;
};

/// Tells the next connection that the run has begun without it.
void refuse_late(Listener& listener);

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

/// What `error` says without its remedy, which may be for somebody else.
std::string reason_of(const Error& error);

}  // namespace rdmabench::inline v1::control
