// The options of a real endpoint.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "transport/ofi/offload.h"

#define RDMABENCH_LIBFABRIC_GE(major, minor) \
  FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(major, minor))

namespace rdmabench::transport::ofi {
namespace {

// Numbers of fi_endpoint.h since 1.22; headers here may be older than the library.
constexpr int kInjectMessageSize = 16;  // FI_OPT_INJECT_MSG_SIZE
constexpr int kInjectWriteSize = 18;    // FI_OPT_INJECT_RMA_SIZE

/// Of an enabled endpoint: shm crashes when it is asked before.
std::uint64_t size_option(fid_ep& endpoint, int number, std::uint64_t otherwise) {
  std::size_t value = 0;
  std::size_t bytes = sizeof value;
  const int result = fi_getopt(&endpoint.fid, FI_OPT_ENDPOINT, number, &value, &bytes);
  return result == 0 ? value : otherwise;
}

/// libfabric's number of an option; nothing where these headers or the provider do not have it.
/// EFA's own are not asked of others: shm of libfabric 2.1 crashes when it is asked for one that it
/// does not know.
std::optional<int> number_of(Option option, [[maybe_unused]] std::string_view provider) {
#if RDMABENCH_LIBFABRIC_GE(1, 18)
  if (option != Option::shared_memory && !provider.starts_with("efa")) return std::nullopt;
#endif
  switch (option) {
#if RDMABENCH_LIBFABRIC_GE(1, 18)
    case Option::emulated_read:
      return FI_OPT_EFA_EMULATED_READ;
    case Option::emulated_write:
      return FI_OPT_EFA_EMULATED_WRITE;
    case Option::emulated_atomics:
      return FI_OPT_EFA_EMULATED_ATOMICS;
    case Option::in_order_writes:
      return FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES;
    case Option::in_order_sends:
      return FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES;
#endif
#if RDMABENCH_LIBFABRIC_GE(1, 21)
    case Option::shared_memory:
      return FI_OPT_SHARED_MEMORY_PERMITTED;
#endif
    default:
      return std::nullopt;
  }
}

}  // namespace

std::uint64_t injectable_bytes(fid_ep& endpoint, OperationSet operations) {
  const bool sends = operations.has(OperationCode::send);
  const bool sends_data = operations.has(OperationCode::send_imm);
  const bool writes_data = operations.has(OperationCode::write_imm);
  if (sends_data && endpoint.msg->injectdata == nullptr) return 0;
  if (writes_data && endpoint.rma->injectdata == nullptr) return 0;
  std::uint64_t bytes = ~std::uint64_t{0};
  if (sends || sends_data) bytes = size_option(endpoint, kInjectMessageSize, bytes);
  if (writes_data) bytes = std::min(bytes, size_option(endpoint, kInjectWriteSize, bytes));
  return bytes;
}

Options options_of(fid_ep& endpoint, std::string_view provider) {
  return {.get =
              [&endpoint, own = std::string(provider)](Option option, bool& value) {
                const auto number = number_of(option, own);
                if (!number) return -FI_ENOPROTOOPT;
                std::size_t bytes = sizeof value;
                return fi_getopt(&endpoint.fid, FI_OPT_ENDPOINT, *number, &value, &bytes);
              },
          .set =
              [&endpoint, own = std::string(provider)](Option option, bool value) {
                const auto number = number_of(option, own);
                if (!number) return -FI_ENOPROTOOPT;
                return fi_setopt(&endpoint.fid, FI_OPT_ENDPOINT, *number, &value, sizeof value);
              }};
}

}  // namespace rdmabench::transport::ofi
