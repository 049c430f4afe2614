// Reads and writes sizes, counts and times.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/features.h"

namespace rdmabench::inline v1 {

inline constexpr double kNsPerUs = 1e3;
inline constexpr double kNsPerMs = 1e6;
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kBitsPerByte = 8;
inline constexpr double kBitsPerGigabit = 1e9;
inline constexpr double kBitsPerMebibyte = 8.0 * 1024 * 1024;

/// "8", "64K", "4KiB", "1M", "1G": bytes, by powers of 1024.
/// Throws Error(usage) for an invalid text such as "3Q", "-1", "" or "99999999G".
std::uint64_t parse_size(std::string_view text);

/// A list "8,64,4K", or a range "1:8M": the first size, its doublings, and the last size. Throws
/// Error(usage) for an empty list, a size of 0, or a descending range.
std::vector<std::uint64_t> parse_size_list(std::string_view text);

/// A count: "1000", "5k", "2M" by powers of 1000. Throws Error(usage).
std::uint64_t parse_count(std::string_view text);

/// "10" and "10s" are seconds; "250ms", "5us", "2m" (minutes). Throws Error(usage).
std::chrono::nanoseconds parse_duration(std::string_view text);

/// 8 -> "8", 65536 -> "64K", 1000 -> "1000": the shortest exact form that parse_size() reads.
std::string format_size(std::uint64_t bytes);

}  // namespace rdmabench::inline v1
