// What each data type is stored as and computed in.
#pragma once

#include <cstdint>

#include "collective/small_float.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective {

/// Arithmetic on one type; T is its storage type.
template <class T>
struct Plain {
  using Bits = T;
  using Value = T;
  static Value load(Bits bits) { return bits; }
  static Bits store(Value value) { return value; }
};
template <class Format, class T>
struct Small {
  using Bits = T;
  using Value = double;
  static Value load(Bits bits) { return Format::decode(bits); }
  static Bits store(Value value) { return static_cast<Bits>(Format::encode(value)); }
};

/// Whether C has the type, and so MPI.
constexpr bool is_of_c(DataType type) noexcept {
  return is_integer(type) || type == DataType::float32 || type == DataType::float64;
}

/// Calls `visit` with the arithmetic of the type.
template <class Visit>
void with_type(DataType type, Visit visit) {
  switch (type) {
    case DataType::int8:
      return visit(Plain<std::int8_t>());
    case DataType::uint8:
      return visit(Plain<std::uint8_t>());
    case DataType::int32:
      return visit(Plain<std::int32_t>());
    case DataType::uint32:
      return visit(Plain<std::uint32_t>());
    case DataType::int64:
      return visit(Plain<std::int64_t>());
    case DataType::uint64:
      return visit(Plain<std::uint64_t>());
    case DataType::float32:
      return visit(Plain<float>());
    case DataType::float64:
      return visit(Plain<double>());
    case DataType::half:
      return visit(Small<Half, std::uint16_t>());
    case DataType::bfloat16:
      return visit(Small<Bfloat16, std::uint16_t>());
    case DataType::f8e4m3:
      return visit(Small<F8e4m3, std::uint8_t>());
    case DataType::f8e5m2:
      return visit(Small<F8e5m2, std::uint8_t>());
  }
}

}  // namespace rdmabench::inline v1::collective
