// The options of a real endpoint.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include <optional>
#include <string>
#include <string_view>

#include "transport/ofi/offload.h"

#define RDMABENCH_LIBFABRIC_GE(major, minor) \
  FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(major, minor))

namespace rdmabench::transport::ofi {
namespace {

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
