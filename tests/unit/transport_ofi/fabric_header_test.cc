// Our own words for what newer releases of libfabric have against the headers of this build: it
// compiles, or not. Headers of 1.17 know none of it, those of 2.6 all.
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_ext.h>

#include <cstddef>

#include "transport/ofi/fabric_abi.h"

#define HEADERS_FROM(major, minor) \
  FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(major, minor))

namespace rdmabench::inline v1::transport::ofi {
namespace {

// The oldest headers have the least, and what newer ones have appended fits into the room.
constexpr std::size_t kRoom = sizeof(WithRoom<char>::newer);
constexpr std::size_t kOldestMemoryAttributes = 80;
constexpr std::size_t kOldestErrorEntry = 80;
static_assert(sizeof(fi_mr_attr) >= kOldestMemoryAttributes);
static_assert(sizeof(fi_mr_attr) <= kOldestMemoryAttributes + kRoom);
static_assert(sizeof(fi_cq_err_entry) >= kOldestErrorEntry);
static_assert(sizeof(fi_cq_err_entry) <= kOldestErrorEntry + kRoom);
static_assert(offsetof(WithRoom<fi_mr_attr>, newer) == sizeof(fi_mr_attr));
static_assert(offsetof(WithRoom<fi_cq_err_entry>, newer) == sizeof(fi_cq_err_entry));

// Where the pointer to a dma-buf is put.
static_assert(offsetof(fi_mr_attr, mr_iov) == 0);

static_assert(option::kSharedMemoryPermitted == FI_OPT_XPU_TRIGGER + 2);
static_assert(option::kEfa == FI_OPT_EFA_RNR_RETRY);

#if HEADERS_FROM(1, 18)
static_assert(option::kEfaEmulatedRead == FI_OPT_EFA_EMULATED_READ);
static_assert(option::kEfaEmulatedWrite == FI_OPT_EFA_EMULATED_WRITE);
static_assert(option::kEfaEmulatedAtomics == FI_OPT_EFA_EMULATED_ATOMICS);
static_assert(option::kEfaSendsInOrder == FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES);
static_assert(option::kEfaWritesInOrder == FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES);
#endif
#if HEADERS_FROM(1, 20)
static_assert(kDmaBufFlag == FI_MR_DMABUF);
static_assert(sizeof(DmaBuf) == sizeof(fi_mr_dmabuf));
static_assert(offsetof(DmaBuf, fd) == offsetof(fi_mr_dmabuf, fd));
static_assert(offsetof(DmaBuf, offset) == offsetof(fi_mr_dmabuf, offset));
static_assert(offsetof(DmaBuf, length) == offsetof(fi_mr_dmabuf, len));
static_assert(offsetof(DmaBuf, base) == offsetof(fi_mr_dmabuf, base_addr));
static_assert(offsetof(fi_mr_attr, dmabuf) == offsetof(fi_mr_attr, mr_iov));
#endif
#if HEADERS_FROM(1, 21)
static_assert(option::kSharedMemoryPermitted == FI_OPT_SHARED_MEMORY_PERMITTED);
#endif
#if HEADERS_FROM(1, 22)
static_assert(option::kMaxMessageSize == FI_OPT_MAX_MSG_SIZE);
static_assert(option::kInjectMessageSize == FI_OPT_INJECT_MSG_SIZE);
static_assert(option::kInjectRmaSize == FI_OPT_INJECT_RMA_SIZE);
#endif

}  // namespace
}  // namespace rdmabench::inline v1::transport::ofi
