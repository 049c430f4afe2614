// What each operation is to libibverbs, and what it needs of a device, a queue pair and a region.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::transport::verbs {

struct OperationNeeds {
  OperationCode code;
  ibv_wr_opcode opcode;
  std::uint64_t posting;     ///< IBV_QP_EX_WITH_*, where ibv_wr_post(3) posts it
  std::uint32_t on_demand;   ///< IBV_ODP_SUPPORT_*, where its memory is paged on demand
  int remote_access = 0;     ///< ibv_access_flags besides those of reads and writes
  std::uint64_t device = 0;  ///< bit of ibv_device_attr_ex::device_cap_flags_ex; 0: not told there
};

/// In the order of their codes.
inline constexpr std::array<OperationNeeds, Operations::kCount> kOperationNeeds{{
    {OperationCode::send, IBV_WR_SEND, IBV_QP_EX_WITH_SEND, IBV_ODP_SUPPORT_SEND},
    {OperationCode::write, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, IBV_ODP_SUPPORT_WRITE},
    {OperationCode::write_imm, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
     IBV_ODP_SUPPORT_WRITE},
    {OperationCode::read, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, IBV_ODP_SUPPORT_READ},
    {OperationCode::send_imm, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM,
     IBV_ODP_SUPPORT_SEND},
    {OperationCode::fetch_add, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
     IBV_ODP_SUPPORT_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC},
    {OperationCode::compare_swap, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
     IBV_ODP_SUPPORT_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC},
    // IBV_ODP_SUPPORT_ATOMIC_WRITE, IB_UVERBS_DEVICE_ATOMIC_WRITE; then IBV_WR_FLUSH,
    // IBV_QP_EX_WITH_FLUSH, IBV_ODP_SUPPORT_FLUSH, IBV_ACCESS_FLUSH_GLOBAL and
    // IB_UVERBS_DEVICE_FLUSH_GLOBAL. The headers of rdma-core 44 do not name them.
    {OperationCode::atomic_write, IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE, 1U << 7, 0,
     std::uint64_t{1} << 40},
    {OperationCode::flush, static_cast<ibv_wr_opcode>(14), std::uint64_t{1} << 11, 1U << 6, 1 << 8,
     std::uint64_t{1} << 38},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kOperationNeeds.size(); ++i) {
        if (kOperationNeeds[i].code != static_cast<OperationCode>(i)) return false;
      }
      return true;
    }(),
    "kOperationNeeds: a row for each OperationCode of transport/operation.h, in their order");

constexpr const OperationNeeds& needs(OperationCode code) {
  return kOperationNeeds[static_cast<std::size_t>(code)];
}

/// ibv_access_flags that remote peers need for a set, besides those of reads and writes.
constexpr int remote_access(OperationSet operations) {
  int access = 0;
  for (const OperationNeeds& one : kOperationNeeds) {
    if (operations.has(one.code)) access |= one.remote_access;
  }
  return access;
}

/// IBV_QP_EX_WITH_* of a set; sends are in each.
constexpr std::uint64_t posting(OperationSet operations) {
  std::uint64_t all = IBV_QP_EX_WITH_SEND;
  for (const OperationNeeds& one : kOperationNeeds) {
    if (operations.has(one.code)) all |= one.posting;
  }
  return all;
}

}  // namespace rdmabench::inline v1::transport::verbs
