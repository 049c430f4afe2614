// What rank 0 tells the others to do, and what they answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/collective/run.h"

namespace rdmabench::collective {

inline constexpr std::uint32_t kMaxSlots = 256;
inline constexpr std::uint32_t kMaxBatch = 1024;
inline constexpr std::uint64_t kMaxSamplesAtOnce = 16384;
inline constexpr std::uint64_t kMaxSamples = 1'000'000;  ///< of a row

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
