// How often a run asks for a completion where nobody said it. Who chooses it and who reads reports
// go by this one rule.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rdmabench::inline v1::report {

/// Posts for each signalled one, 1..depth, as a completion costs the loop and the device: at most
/// half of the send queue is unsignalled, so that it has room again before it is full. `latency`:
/// of a test of latency, whose queue is never full.
constexpr std::uint32_t usual_signal_every(bool latency, std::uint32_t depth) noexcept {
  constexpr std::uint32_t kOfLatency = 8;
  constexpr std::uint32_t kOfStream = 32;
  return std::clamp(depth / 2, std::uint32_t{1}, latency ? kOfLatency : kOfStream);
}

}  // namespace rdmabench::inline v1::report
