// Packs several texts, or numbers, into one message between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::collective {

/// Each text is preceded by its length: 32 bits, big-endian.
std::string pack(const std::vector<std::string>& texts);

/// Unpacks exactly `count` texts. Throws Error(failed).
std::vector<std::string> unpack(std::string_view text, std::size_t count);

/// 8 bytes for each number, big-endian.
std::string pack_numbers(const std::vector<std::uint64_t>& numbers);

/// Unpacks exactly `count` numbers. Throws Error(failed).
std::vector<std::uint64_t> unpack_numbers(std::string_view text, std::size_t count);

}  // namespace rdmabench::inline v1::collective
