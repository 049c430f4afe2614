// The fastest part of a bandwidth test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdmabench::inline v1::run {

/// Takes epochs as they are. Of one that grows only local completions are known, and at its begin
/// they fill buffers: what counts are stretches of many, and not the first.
class PeakRate {
 public:
  /// `ends`: what was added is an epoch, or the last part of one. `messages` in each direction.
  void add(std::uint64_t messages, double elapsed_ns, bool grows, bool ends) {
    constexpr double kLongEnoughNs = 200e6;
    constexpr std::uint64_t kMany = 64;
    messages_ += messages;
    elapsed_ns_ += elapsed_ns;
    const bool counts = !grows || (elapsed_ns_ >= kLongEnoughNs && messages_ >= kMany);
    if (counts && (std::exchange(buffers_full_, true) || !grows)) {
      stretches_.emplace_back(messages_, elapsed_ns_ / static_cast<double>(messages_));
      longest_ = std::max(longest_, messages_);
    }
    if (ends) buffers_full_ = false;
    if (counts || ends) {
      messages_ = 0;
      elapsed_ns_ = 0;
    }
  }

  /// For a message in each direction, of what is not just a probe; infinite where nothing counts.
  double fastest_ns() const {
    double fastest = HUGE_VAL;
    for (const auto& [messages, per_message_ns] : stretches_) {
      if (messages * 4 > longest_) fastest = std::min(fastest, per_message_ns);
    }
    return fastest;
  }

 private:
  std::uint64_t messages_ = 0;  ///< of the stretch that goes on
  double elapsed_ns_ = 0;
  bool buffers_full_ = false;
  std::uint64_t longest_ = 0;
  std::vector<std::pair<std::uint64_t, double>> stretches_;
};

}  // namespace rdmabench::inline v1::run
