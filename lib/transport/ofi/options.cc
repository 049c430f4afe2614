// The options of a real endpoint.
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "fabric_abi.h"
#include "transport/ofi/offload.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// `otherwise` where the library does not know it: efa then prints a warning.
std::uint64_t size_option(fid_ep& endpoint, int number, std::uint32_t since,
                          std::uint64_t otherwise) {
  if (fi_version() < since) return otherwise;
  std::size_t value = 0;
  std::size_t bytes = sizeof value;
  const int result = fi_getopt(&endpoint.fid, FI_OPT_ENDPOINT, number, &value, &bytes);
  return result == 0 ? value : otherwise;
}

struct Known {
  Option option;
  int number;
  std::uint32_t since;
};

constexpr std::array kKnown{
    Known{Option::emulated_read, option::kEfaEmulatedRead, FI_VERSION(1, 18)},
    Known{Option::emulated_write, option::kEfaEmulatedWrite, FI_VERSION(1, 18)},
    Known{Option::emulated_atomics, option::kEfaEmulatedAtomics, FI_VERSION(1, 18)},
    Known{Option::in_order_writes, option::kEfaWritesInOrder, FI_VERSION(1, 18)},
    Known{Option::in_order_sends, option::kEfaSendsInOrder, FI_VERSION(1, 18)},
    Known{Option::shared_memory, option::kSharedMemoryPermitted, FI_VERSION(1, 21)},
};

/// libfabric's number of an option; nothing where the library or the provider does not have it. efa
/// alone is asked: shm of libfabric 2.1 crashes when it is asked for one that it does not know.
std::optional<int> number_of(Option option, std::string_view provider) {
  const auto* const known = std::find_if(kKnown.begin(), kKnown.end(),
                                         [&](const Known& one) { return one.option == option; });
  const bool has = known != kKnown.end() && fi_version() >= known->since;
  return has && provider.starts_with("efa") ? std::optional(known->number) : std::nullopt;
}

}  // namespace

std::uint64_t injectable_bytes(fid_ep& endpoint, std::string_view provider,
                               OperationSet operations) {
  const bool sends = operations.has(OperationCode::send);
  const bool sends_data = operations.has(OperationCode::send_imm);
  const bool writes_data = operations.has(OperationCode::write_imm);
  if (sends_data && endpoint.msg->injectdata == nullptr) return 0;
  if (writes_data && endpoint.rma->injectdata == nullptr) return 0;
  std::uint64_t bytes = ~std::uint64_t{0};
  if (!provider.starts_with("efa")) return bytes;
  if (sends || sends_data) {
    bytes = size_option(endpoint, option::kInjectMessageSize, FI_VERSION(1, 22), bytes);
  }
  if (writes_data) {
    bytes = std::min(bytes, size_option(endpoint, option::kInjectRmaSize, FI_VERSION(2, 0), bytes));
  }
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

}  // namespace rdmabench::inline v1::transport::ofi
