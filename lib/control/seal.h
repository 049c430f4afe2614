// What proves that a part of a frame, its header or its payload, comes from the peer and is the
// next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "secret.h"

namespace rdmabench::inline v1::control {

inline constexpr std::size_t kCodeBytes = 16;

using Code = std::array<char, kCodeBytes>;

/// One direction of an authenticated connection: it numbers the parts. Each direction has its own
/// key.
class Seal {
 public:
  explicit Seal(std::string_view key) : key_(key) {}

  /// The code of the next part: HMAC-SHA256 over its number and its bytes, cut to 16 bytes.
  Code next(std::string_view part);

 private:
  Secret key_;
  std::uint64_t sequence_ = 0;
};

/// Of an authenticated connection.
struct Seals {
  Seals(std::string_view sending_key, std::string_view receiving_key)
      : sending(sending_key), receiving(receiving_key) {}

  Seal sending;
  Seal receiving;
};

}  // namespace rdmabench::inline v1::control
