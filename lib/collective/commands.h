// What rank 0 tells the other ranks to do, and what they answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/collective/run.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::collective {

inline constexpr std::uint32_t kMaxSlots = 256;
inline constexpr std::uint32_t kMaxBatch = 1024;
inline constexpr std::uint64_t kMaxSamplesAtOnce = 16384;
inline constexpr std::uint64_t kMaxSamples = 1'000'000;  ///< of a row

/// What ranks and rank 0 send each other once they are admitted (control/admission.h): on the first
/// connection answers, words and clock questions, on the second one heartbeats.
enum class GroupMessage : std::uint16_t {
  abort = control::kAbortCode,
  answer = control::first_code(control::Protocol::group),  ///< to rank 0: a part of a gather
  word,                                                    ///< of rank 0: a broadcast
  clock,                                                   ///< a question for the time, its answer
  heartbeat,                                               ///< a RankState
};
constexpr std::string_view name_of(GroupMessage type) noexcept {
  return control::message_name(
      static_cast<std::uint16_t>(type), control::first_code(control::Protocol::group),
      std::array<std::string_view, 4>{"answer", "word", "clock", "heartbeat"});
}

struct RankCommand {
  enum class What : std::uint8_t { row, epoch, clocks, end };
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
};

std::string to_text(const RankCommand& order);
/// Throws Error(failed) that names the field.
RankCommand parse_rank_command(std::string_view text);

/// A heartbeat.
std::string to_text(const RankState& state);
/// Throws Error(failed) that names the field.
RankState parse_rank_state(std::string_view text);

/// Of one epoch.
struct Epoch {
  std::vector<Stamps> stamps{};
  Checked checked{};
};

std::string to_text(const Epoch& epoch);
/// With exactly `samples` stamps. Throws Error(failed).
Epoch parse_epoch(std::string_view text, std::uint64_t samples);

std::string to_text(const RankReport& report);
/// Without the person, who is known. Throws Error(failed).
RankReport parse_rank_report(std::string_view text);

}  // namespace rdmabench::collective
