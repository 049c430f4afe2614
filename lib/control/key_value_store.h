// The key-value store of rank 0: who came, what they put, who waits for what. It has neither a
// socket nor a thread, so that a test can try every order of events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rendezvous_messages.h"

namespace rdmabench::control {

/// What one rank may put in all.
inline constexpr std::size_t kMaxKeys = 1024;
inline constexpr std::size_t kMaxBytes = 4U << 20;

/// Thread rule: one thread.
class KeyValueStore {
 public:
  struct Reply {
    std::uint32_t rank;
    Answer answer;
  };

  explicit KeyValueStore(std::uint32_t size) : ranks_(size) {}

  /// A rank was admitted. What another process put that had its place and left is forgotten. `who`
  /// is its host and address, for error texts.
  void join(std::uint32_t rank, std::string who);

  /// The rank's connection is gone. Ranks that wait for it are answered.
  void leave(std::uint32_t rank);

  /// Throws Error(failed) for a call that no correct rank makes: close its connection.
  void call(std::uint32_t rank, Call call);

  /// Answers the ranks whose wait is over.
  void expire();

  /// The time until expire() has something to do; nothing when nobody waits.
  std::optional<std::chrono::nanoseconds> next_expiry() const;

  /// What to send now. A rank that waits gets exactly one reply.
  std::vector<Reply> take_replies();

 private:
  enum class State : std::uint8_t { absent, here, left };

  /// A call that cannot be answered yet.
  struct Wait {
    Call call;  // a get or a barrier
    Deadline until;
    std::chrono::milliseconds given;
  };

  struct Rank {
    State state = State::absent;
    std::string who;  // host and address, for error texts
    std::map<std::string, std::string> values;
    std::size_t bytes = 0;
    std::optional<Wait> wait;
    bool gave_up = false;  // its wait at the current barrier timed out
  };

  void put(std::uint32_t rank, PutCall call);
  void get(std::uint32_t rank, const GetCall& call);
  void barrier(std::uint32_t rank, const BarrierCall& call);
  void end_wait(std::uint32_t rank);
  void reply(std::uint32_t rank, Answer answer);
  bool at_barrier(const Rank& rank) const;
  std::string name(std::uint32_t rank) const;
  std::string why_no_value(const GetCall& call, std::chrono::milliseconds given) const;
  std::string why_no_barrier(std::chrono::milliseconds given) const;

  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> waiting_;  // the ranks with a `wait`
  std::uint32_t at_barrier_ = 0;
  std::optional<std::uint32_t> left_;  // one that left: no barrier is whole until it is back
  std::vector<Reply> replies_;
};

/// "rank 5"; "ranks 1, 2 and 7"; of many the first ten, "and 90 more".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace rdmabench::control
