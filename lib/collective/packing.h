// Several texts as one, and numbers without a text: what the ranks send one another in bulk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::collective {

/// A 32-bit length, big-endian, before each.
std::string pack(const std::vector<std::string>& texts);

/// Exactly `count` of them. Throws Error(failed).
std::vector<std::string> unpack(std::string_view text, std::size_t count);

/// 8 bytes each, big-endian.
std::string pack_numbers(const std::vector<std::uint64_t>& numbers);

/// Exactly `count`. Throws Error(failed).
std::vector<std::uint64_t> unpack_numbers(std::string_view text, std::size_t count);

}  // namespace rdmabench::collective
