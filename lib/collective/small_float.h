// Floating-point types that C++20 lacks: half, bfloat16 and two of 8 bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rdmabench::inline v1::collective {

/// A format of 1 sign bit, `Exponent` and `Mantissa` bits with IEEE 754's bias. `Finite`: no
/// infinity, all ones is the only NaN (E4M3), and overflow gives the largest number; else it gives
/// infinity. Sources: IEEE 754-2019, 3.4; OCP 8-bit Floating Point Specification 1.0.
template <int Exponent, int Mantissa, bool Finite = false>
struct SmallFloat {
  static constexpr int kBits = 1 + Exponent + Mantissa;
  static constexpr int kBias = (1 << (Exponent - 1)) - 1;
  static constexpr std::uint32_t kExponentMask = (1U << Exponent) - 1;
  static constexpr std::uint32_t kMantissaMask = (1U << Mantissa) - 1;
  /// The largest number, and the result of an overflow.
  static constexpr std::uint32_t kMost = Finite ? (kExponentMask << Mantissa | (kMantissaMask - 1))
                                                : ((kExponentMask - 1) << Mantissa | kMantissaMask);
  static constexpr std::uint32_t kOver = Finite ? kMost : kExponentMask << Mantissa;
  static constexpr std::uint32_t kNan = kExponentMask << Mantissa | kMantissaMask;

  static double decode(std::uint32_t bits) noexcept {
    const bool negative = (bits >> (kBits - 1) & 1U) != 0;
    const std::uint32_t exponent = bits >> Mantissa & kExponentMask;
    const std::uint32_t mantissa = bits & kMantissaMask;
    double value = 0;
    if (exponent == kExponentMask && (!Finite || mantissa == kMantissaMask)) {
      value = !Finite && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                       : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
      value = std::ldexp(mantissa, 1 - kBias - Mantissa);
    } else {
      value = std::ldexp(mantissa | 1U << Mantissa, static_cast<int>(exponent) - kBias - Mantissa);
    }
    return negative ? -value : value;
  }

  /// Rounds to nearest, ties to even.
  static std::uint32_t encode(double value) noexcept {
    const std::uint32_t sign = std::signbit(value) ? 1U << (kBits - 1) : 0;
    if (std::isnan(value)) return sign | kNan;
    const double magnitude = std::fabs(value);
    if (magnitude > decode(kMost) * 2) return sign | kOver;
    if (magnitude == 0) return sign;
    const int exponent = std::max(std::ilogb(magnitude), 1 - kBias);
    // Halfway cases are exact in a double, so nearbyint() rounds ties to even as the format does.
    const auto units =
        static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, Mantissa - exponent)));
    // A mantissa rounded up to the next power of two carries into the exponent.
    const std::uint32_t bits =
        (static_cast<std::uint32_t>(exponent + kBias - 1) << Mantissa) + units;
    return sign | (bits > kMost ? kOver : bits);
  }
};

using Half = SmallFloat<5, 10>;
using Bfloat16 = SmallFloat<8, 7>;
using F8e4m3 = SmallFloat<4, 3, true>;
using F8e5m2 = SmallFloat<5, 2>;

}  // namespace rdmabench::inline v1::collective
