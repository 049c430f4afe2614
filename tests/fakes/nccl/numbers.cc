#include "numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace fake_nccl {
namespace {

// A small floating-point type: sign, exponent, fraction.
struct Shape {
  int exponent_bits;
  int fraction_bits;
  bool infinity;  // e4m3 has none: only one NaN has its last exponent
};

double decode(std::uint32_t bits, Shape shape) {
  const int fraction_bits = shape.fraction_bits;
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  const auto fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1));
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << shape.exponent_bits) - 1);
  const bool negative = (bits >> (fraction_bits + shape.exponent_bits) & 1U) != 0;
  const int last = (1 << shape.exponent_bits) - 1;
  double value = 0;
  if (exponent == last && shape.infinity) {
    value = fraction == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == last && (bits & 7U) == 7) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp(fraction + std::ldexp(1.0, fraction_bits), exponent - bias - fraction_bits);
  }
  return negative ? -value : value;
}

/// Rounds to nearest, ties to even; overflow gives infinity, or e4m3's largest number.
std::uint32_t encode(double value, Shape shape) {
  const int bias = (1 << (shape.exponent_bits - 1)) - 1;
  const std::uint32_t sign =
      std::signbit(value) ? 1U << (shape.fraction_bits + shape.exponent_bits) : 0;
  const std::uint32_t top = ((1U << shape.exponent_bits) - 1) << shape.fraction_bits;
  if (std::isnan(value)) return sign | top | ((1U << shape.fraction_bits) - 1);
  const double size = std::fabs(value);
  const std::uint32_t most = shape.infinity ? top - 1 : top | 6U;
  if (std::isinf(size)) return sign | (shape.infinity ? top : most);
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(size, shape.fraction_bits - exponent));
  const auto base = static_cast<std::uint32_t>(exponent + bias - 1) << shape.fraction_bits;
  const std::uint32_t bits = base + static_cast<std::uint32_t>(steps);
  return sign | (bits > most ? (shape.infinity ? top : most) : bits);
}

template <class Stored, int Exponent, int Fraction, bool Infinity>
struct Small {
  Stored bits;
  static constexpr Shape kShape{Exponent, Fraction, Infinity};
};
using Half = Small<std::uint16_t, 5, 10, true>;
using Bfloat16 = Small<std::uint16_t, 8, 7, true>;
using E4m3 = Small<std::uint8_t, 4, 3, false>;
using E5m2 = Small<std::uint8_t, 5, 2, true>;

template <class T>
double widen(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return decode(value.bits, T::kShape);
  }
}
template <class T>
T narrow(double value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    T out;
    out.bits = static_cast<decltype(out.bits)>(encode(value, T::kShape));
    return out;
  }
}

/// Calls `use` with a value of the element type.
template <class Use>
void with_type(int type, Use&& use) {
  switch (type) {
    case 0:
      return use(std::int8_t{});
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::int32_t{});
    case 3:
      return use(std::uint32_t{});
    case 4:
      return use(std::int64_t{});
    case 5:
      return use(std::uint64_t{});
    case 6:
      return use(Half{});
    case 7:
      return use(float{});
    case 8:
      return use(double{});
    case 9:
      return use(Bfloat16{});
    case 10:
      return use(E4m3{});
    case 11:
      return use(E5m2{});
    default:
      return;
  }
}

template <class T, class Change>
void each(unsigned char* data, std::size_t count, Change&& change) {
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    value = change(value);
    std::memcpy(data + i * sizeof(T), &value, sizeof(T));
  }
}

/// Integers wrap, as on the GPU.
template <class T>
T combined(int op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    switch (op) {
      case 1:
        return static_cast<T>(x * y);
      case 2:
        return std::max(a, b);
      case 3:
        return std::min(a, b);
      default:
        return static_cast<T>(x + y);
    }
  } else {
    const double x = widen(a);
    const double y = widen(b);
    switch (op) {
      case 1:
        return narrow<T>(x * y);
      case 2:
        return narrow<T>(std::max(x, y));
      case 3:
        return narrow<T>(std::min(x, y));
      default:
        return narrow<T>(x + y);
    }
  }
}

}  // namespace

std::size_t size_of(int type) {
  std::size_t size = 0;
  with_type(type, [&](auto value) { size = sizeof value; });
  return size;
}

Combine premul(int type, const void* scalar) {
  Combine out;
  out.scaled = true;
  with_type(type, [&](auto value) {
    std::memcpy(&value, scalar, sizeof value);
    out.factor = widen(value);
    if constexpr (std::is_integral_v<decltype(value)>) {
      out.whole_factor = static_cast<std::uint64_t>(value);
    }
  });
  return out;
}

void prepare(int type, const Combine& combine, int ranks, unsigned char* data, std::size_t count) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const bool whole = std::is_integral_v<T>;
    if (!combine.scaled && (combine.op != 4 || whole)) return;
    const double factor =
        combine.scaled ? combine.factor : widen(narrow<T>(1.0 / static_cast<double>(ranks)));
    each<T>(data, count, [&](T value) {
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<std::uint64_t>(value) * combine.whole_factor);
      } else {
        return narrow<T>(widen(value) * factor);
      }
    });
  });
}

void combine(int type, const Combine& combine, unsigned char* total, const unsigned char* more,
             std::size_t count) {
  const int op = combine.scaled ? 0 : combine.op;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::size_t i = 0;
    each<T>(total, count, [&](T value) {
      T other;
      std::memcpy(&other, more + i++ * sizeof(T), sizeof(T));
      return combined<T>(op, value, other);
    });
  });
}

void finish(int type, const Combine& combine, int ranks, unsigned char* total, std::size_t count) {
  if (combine.scaled || combine.op != 4) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      each<T>(total, count, [&](T value) {
        return static_cast<T>(
            static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(
                value) /
            ranks);
      });
    }
  });
}

}  // namespace fake_nccl
