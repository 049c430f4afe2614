// What rank 0 orders, and what the ranks answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/walk.h"
#include "rdmabench/collective/run.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::inline v1::collective {

inline constexpr std::uint32_t kMaxSlots = 256;
inline constexpr std::uint32_t kMaxLaunches = 1000;  ///< of a graph of a batch, in a sample
inline constexpr std::uint64_t kMaxSamplesAtOnce = 16384;
inline constexpr std::uint64_t kMaxSamples = 1'000'000;  ///< of a row

/// Messages between a rank and rank 0 after admission (control/admission.h): answers, words and
/// clock questions on the first connection, heartbeats on the second.
enum class GroupMessage : std::uint16_t {
  abort = control::kAbortCode,
  answer = control::first_code(control::Protocol::group),  ///< to rank 0: its part of a gather
  word,                                                    ///< from rank 0: a broadcast
  clock,                                                   ///< asks for the time, and the answer
  heartbeat,                                               ///< a RankState
};
constexpr std::string_view name_of(GroupMessage type) noexcept {
  return control::message_name(
      static_cast<std::uint16_t>(type), control::first_code(control::Protocol::group),
      std::array<std::string_view, 4>{"answer", "word", "clock", "heartbeat"});
}

struct RankCommand {
  enum class What : std::uint8_t { row, epoch, clocks, end, groups, facts };
  What what = What::end;
  // row
  Call call{};
  std::uint32_t row = 0;
  std::uint32_t slots = 1;
  std::uint32_t batch = 1;
  bool check = true;
  // epoch
  std::uint64_t samples = 0;
  std::uint64_t first_iteration = 0;
  // clocks
  std::uint32_t rounds = 0;
  // groups
  std::vector<std::uint32_t> group_of{};  ///< by rank
};

struct Epoch {
  std::vector<Stamps> stamps{};
  Checked checked{};
};

std::string to_text(const Epoch& epoch);
/// With exactly `samples` stamps. Throws Error(failed).
Epoch parse_epoch(std::string_view text, std::uint64_t samples);

/// What a rank tells of its server; where it is, rank 0 knows.
struct PeerServer {
  std::string host{};
  std::uint16_t port = 0;
  std::string memory{};
};

void walk(MessageFields& fields, RankCommand& order);
/// The message of a heartbeat.
void walk(MessageFields& fields, RankState& where);
/// Without the identity, which is known.
void walk(MessageFields& fields, RankReport& report);
inline constexpr std::size_t kReportValues = 2 * kMaxValues;  ///< at most, for its counters
void walk(MessageFields& fields, PeerServer& server);
/// What is read must have a server for each of the ranks.
void walk(MessageFields& fields, std::vector<PeerServer>& servers, std::uint32_t ranks = 0);
/// Rank 0's steps: their shapes.
void walk(MessageFields& fields, std::vector<WireStep>& steps);
/// What is read is of rank `from` among `ranks`; it is not in the message, for it is known.
void walk(MessageFields& fields, PointToPointResult& pair, std::uint32_t from = 0,
          std::uint32_t ranks = control::kMaxRanks);
using rdmabench::to_text;

/// A rank answered what cannot be: it is to blame, and nothing hangs.
class WrongAnswer : public Error {
 public:
  WrongAnswer(const Error& error, const RankIdentity& identity)
      : Error(error.at(to_text(identity))), rank(identity.rank) {}

  const std::uint32_t rank;
};

/// read(), which parses what that rank answered; its Error becomes a WrongAnswer.
template <class Read>
auto answer_of(const RankIdentity& identity, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw WrongAnswer(error, identity);
  }
}

}  // namespace rdmabench::inline v1::collective
