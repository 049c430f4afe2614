#include "interval_rows.h"

#include <algorithm>

namespace rdmabench::inline v1::tools::perftest {

IntervalRows::IntervalRows(std::chrono::nanoseconds interval, int directions,
                           const report::PerftestStyle& style, Time start)
    : interval_(interval), directions_(directions), style_(style), due_(start + interval) {}

std::optional<std::string> IntervalRows::add(std::uint64_t size_bytes, std::uint64_t iterations,
                                             double messages_per_s, Time now) {
  if (iterations < seen_) seen_ = 0;  // the next size
  const std::uint64_t messages = iterations - seen_;
  seen_ = iterations;
  if (messages_per_s > 0) {
    messages_ += messages;
    seconds_ += static_cast<double>(messages) / messages_per_s;
    fastest_ = std::max(fastest_, messages_per_s);
  }
  if (now < due_ || messages_ == 0) return std::nullopt;
  while (due_ <= now) due_ += interval_;
  const double bits = 8.0 * static_cast<double>(size_bytes);
  report::BandwidthResult row;
  row.size_bytes = size_bytes;
  row.iterations = messages_;
  row.messages_per_s = directions_ * static_cast<double>(messages_) / seconds_;
  row.bits_per_s = row.messages_per_s * bits;
  row.peak_bits_per_s = directions_ * fastest_ * bits;
  messages_ = 0;
  seconds_ = fastest_ = 0;
  return report::perftest_row(row, style_);
}

}  // namespace rdmabench::inline v1::tools::perftest
