// Which writes are polled where nobody promises that their last byte becomes visible last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport::verbs {

#if defined(__x86_64__) || defined(__i386__)
inline constexpr bool kX86 = true;
#else
inline constexpr bool kX86 = false;
#endif

/// The longest write whose last byte is taken to become visible last. On x86 one packet: of
/// several, adaptive routing may let the last come first. Other processors may also show the parts
/// of one packet in any order, so that libibverbs does not even ask the device there: one cache
/// line. Source: ibv_query_qp_data_in_order() in libibverbs/verbs.c.
constexpr std::uint64_t assumed_bytes(std::uint64_t packet, bool x86 = kX86) noexcept {
  constexpr std::uint64_t kCacheLine = 64;
  return x86 ? packet : std::min(packet, kCacheLine);
}

/// Whether this side may poll the last byte of a write that comes here; for the report.
constexpr std::string_view write_order_text(const WriteOrder& order, bool x86 = kX86) noexcept {
  if (order.bytes == 0) return "none: the last byte of a write may not come last";
  if (order.promised) return "promised (ibv_query_qp_data_in_order)";
  return x86 ? "not promised (ibv_query_qp_data_in_order): assumed of one packet"
             : "not promised (ibv_query_qp_data_in_order: the processor is not x86): assumed of 64 "
               "bytes";
}

}  // namespace rdmabench::inline v1::transport::verbs
