// What libfabric has gained since 1.17, the oldest that this back end builds with, and which is
// used where the library at hand has it: declared here, so that a build needs no newer headers than
// those of the oldest system it is for. Source: rdma/fabric.h, fi_domain.h, fi_endpoint.h, fi_eq.h
// and fi_ext.h of libfabric 1.17 to 2.6; a test compares all of this with the headers of the build.
//
// Why older headers do for a newer library, of all that is passed:
// - fi_info and its attributes: the library allocates them in its own size. fi_dupinfo() and
//   fi_getinfo() of the symbol version that the headers belong to copy what those know, and what is
//   new (max_ep_auth_key, max_group_id, max_cntr_value, max_err_cntr_value) becomes 0, its default
//   (src/abi_1_0.c). The version asked goes through them unchanged.
// - fi_mr_attr, which the library reads, and fi_cq_err_entry, which it writes, are ours and have
//   grown: WithRoom.
// - Tables of functions have grown at their ends; of those nothing here is called.
// - fid_nic, fi_eq_attr, fi_cq_attr, fi_av_attr, fi_eq_err_entry, fi_eq_cm_entry, fi_cq_data_entry,
//   fi_msg, fi_msg_rma, fi_atomic_attr: the same in all of these releases.
#pragma once

#include <rdma/fabric.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace rdmabench::inline v1::transport::ofi {

/// The interface version that is asked of a library that has it. efa uses its device's RDMA and a
/// GPU's memory from 1.18 on, dma-bufs from 1.20 on; nothing later that is used here
/// depends on the version asked.
/// Not the library's own: a provider that implements an older one is then left out, as cxi is by
/// 1.22 (it has 1.21) and 2.3 (2.2).
inline constexpr std::uint32_t kNewestAsked = FI_VERSION(1, 20);

/// The first version in which a registration may be told a dma-buf.
inline constexpr std::uint32_t kDmaBufSince = FI_VERSION(1, 20);
static_assert(kNewestAsked >= kDmaBufSince, "else no dma-buf is ever given to a provider");

/// A structure of libfabric and room behind it: later releases have appended members. They read
/// zeros there, which is "none" for all of them, and may write there.
template <class T>
struct WithRoom {
  T known{};
  std::array<std::uint64_t, 16> newer{};
};

/// FI_MR_DMABUF, a flag of fi_mr_regattr(3): fi_mr_attr's first member then points to a DmaBuf.
inline constexpr std::uint64_t kDmaBufFlag = std::uint64_t{1} << 40;

/// fi_mr_dmabuf.
struct DmaBuf {
  int fd;
  std::uint64_t offset;
  std::size_t length;
  void* base;
};

/// Options of an endpoint, fi_getopt(3) and fi_setopt(3). A library that does not know one refuses
/// it.
namespace option {

inline constexpr int kSharedMemoryPermitted = 11;  ///< 1.21, bool
inline constexpr int kMaxMessageSize = 12;         ///< 1.22, std::size_t
inline constexpr int kInjectMessageSize = 16;      ///< 1.22, std::size_t
inline constexpr int kInjectRmaSize = 18;          ///< 1.22, std::size_t

// efa's own, from 1.18 on, bool.
inline constexpr int kEfa = -(0xefa << 16);
inline constexpr int kEfaEmulatedRead = kEfa + 1;
inline constexpr int kEfaEmulatedWrite = kEfa + 2;
inline constexpr int kEfaEmulatedAtomics = kEfa + 3;
inline constexpr int kEfaSendsInOrder = kEfa + 5;   ///< SENDRECV_IN_ORDER_ALIGNED_128_BYTES
inline constexpr int kEfaWritesInOrder = kEfa + 6;  ///< WRITE_IN_ORDER_ALIGNED_128_BYTES

}  // namespace option
}  // namespace rdmabench::inline v1::transport::ofi
