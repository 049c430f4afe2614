// workload: the loops that are measured. One template per shape of traffic, over any Transport.
//
// A loop runs one epoch: an agreed number of messages of one size. It neither allocates nor throws;
// what went wrong is a small result that run/ puts into words. It knows transport/ and measure/
// only.
#pragma once

#include <cstdint>

#include "rdmabench/measure/clock.h"

namespace rdmabench::workload {

enum class Side : std::uint8_t { initiator, target };

/// What both sides agreed to run. Not changed by the loop.
struct EpochPlan {
  std::uint64_t iterations = 1;  ///< messages each way (ping-pong) or in all (stream), >= 1
  std::uint64_t size = 1;        ///< bytes of a message
  /// Posts that may be outstanding. When validating at most the send slots: what is under way must
  /// not change.
  std::uint32_t depth = 1;
  std::uint32_t receives = 1;   ///< receives kept posted
  std::uint32_t post_list = 1;  ///< messages posted by one call
  /// Ticks from the intended start of one message to that of the next, in 2^-16 ticks; 0 = as fast
  /// as the depth allows.
  std::uint64_t gap_q16 = 0;
};

enum class Outcome : std::uint8_t {
  ok,
  stalled,            ///< nothing completed for the watch's limit
  interrupted,        ///< the peer left or gave up
  post_failed,        ///< Endpoint::failure() says why
  completion_failed,  ///< Endpoint::failure() says why
  wrong_size,         ///< `message` had another length
  wrong_messages,     ///< each message is whole, but together they are not those that were sent
  wrong_data,         ///< `message` and `byte` say where
  wrong_immediate,    ///< `message` carried another immediate than it should
};

/// What the loop was waiting for when it ended otherwise than ok.
enum class Wait : std::uint8_t { nothing, message, completion, confirmation, room_to_post };

struct EpochResult {
  Outcome outcome = Outcome::ok;
  Wait wait = Wait::nothing;
  std::uint64_t message = 0;  ///< index of the message in the epoch at which it ended
  std::uint64_t byte = 0;     ///< wrong_data: the first wrong byte
  measure::Ticks begin = 0;   ///< initiator of a stream: before the first post ...
  measure::Ticks end =
      0;  ///< ... and when the target's confirmation (reads: the last data) was here
  std::uint64_t checked = 0;  ///< messages whose every byte was compared
  std::uint64_t arrived =
      0;  ///< messages that this side received, as a target that is told of them
  /// Atomics at the target: how often its words moved by one, hence how many operations succeeded.
  std::uint64_t succeeded = 0;
};

/// The tag of message i: never 0, which a cleared buffer holds, and never that of its neighbours.
constexpr std::uint8_t tag_of(std::uint64_t message) {
  return static_cast<std::uint8_t>(message % 255 + 1);
}

}  // namespace rdmabench::workload
