// What rank 0 orders, and what the ranks answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/collective/run.h"
#include "rdmabench/collective/tester.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::collective {

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
  enum class What : std::uint8_t { row, epoch, clocks, end, groups };
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

std::string to_text(const RankCommand& order);
/// Throws Error(failed) that names the field.
RankCommand parse_rank_command(std::string_view text);

/// The message of a heartbeat.
std::string to_text(const RankState& state);
/// Throws Error(failed) that names the field.
RankState parse_rank_state(std::string_view text);

struct Epoch {
  std::vector<Stamps> stamps{};
  Checked checked{};
};

std::string to_text(const Epoch& epoch);
/// With exactly `samples` stamps. Throws Error(failed).
Epoch parse_epoch(std::string_view text, std::uint64_t samples);

std::string to_text(const RankReport& report);
/// Without the identity, which is known. Throws Error(failed).
RankReport parse_rank_report(std::string_view text);

/// What a rank tells of its server; where it is, rank 0 knows.
struct PeerServer {
  std::string host{};
  std::uint16_t port = 0;
  std::string memory{};
};

std::string to_text(const PeerServer& server);
std::string to_text(const std::vector<PeerServer>& servers);
/// Each throws Error(failed) that names the field. The list must have a server for each rank.
PeerServer parse_peer_server(std::string_view text);
std::vector<PeerServer> parse_peer_servers(std::string_view text, std::uint32_t ranks);

/// Rank 0's steps: their shapes.
std::string to_text(const std::vector<WireStep>& steps);
/// Throws Error(failed) that names the field.
std::vector<WireStep> parse_wire_steps(std::string_view text);

/// Without `from`, which is known.
std::string to_text(const PointToPointResult& pair);
/// Of rank `from` among `ranks`. Throws Error(failed) that names the field.
PointToPointResult parse_pair(std::string_view text, std::uint32_t from, std::uint32_t ranks);

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

}  // namespace rdmabench::collective
