// What efa says about itself: which operations its device does, and what else may carry the data.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/transport/operation.h"

struct fid_ep;

namespace rdmabench::inline v1::transport::ofi {

/// efa's fabric that is its device and nothing of the provider's own.
inline constexpr std::string_view kDeviceAlone = "efa-direct";

/// The options of an endpoint that are asked about here. Source: fi_efa(7), fi_endpoint(3).
enum class Option : std::uint8_t {
  emulated_read,     ///< FI_OPT_EFA_EMULATED_READ, get
  emulated_write,    ///< FI_OPT_EFA_EMULATED_WRITE, get
  emulated_atomics,  ///< FI_OPT_EFA_EMULATED_ATOMICS, get
  shared_memory,     ///< FI_OPT_SHARED_MEMORY_PERMITTED, set
  in_order_writes,   ///< FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES, set
  in_order_sends,    ///< FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES, set
};

/// How an endpoint is asked. Both give 0 or a negative code, -FI_ENOPROTOOPT among them where the
/// libfabric at hand does not know the option.
struct Options {
  std::function<int(Option, bool& value)> get;
  std::function<int(Option, bool value)> set;
};

/// Those of a real endpoint, by fi_getopt(3) and fi_setopt(3); they must not be called after it is
/// closed. Which options there are depends on the library that is loaded: efa's came with 1.18,
/// FI_OPT_SHARED_MEMORY_PERMITTED with 1.21.
Options options_of(fid_ep& endpoint, std::string_view provider);

/// The largest message that an enabled endpoint injects, whichever of `operations` it is of: 0
/// where one of them has no such function. opx has none that injects a write with immediate;
/// efa-direct's says -FI_ENOSYS up to 2.4, and by FI_OPT_INJECT_RMA_SIZE that it takes 0 bytes.
/// Other providers know no such option and have what tx_attr->inject_size says.
std::uint64_t injectable_bytes(fid_ep& endpoint, std::string_view provider,
                               OperationSet operations);

/// Facts about an endpoint; nothing where it does not say.
struct Offload {
  std::optional<bool> reads;  ///< the device does them; false: emulated by messages
  std::optional<bool> writes;
  std::optional<bool> atomics;
  std::optional<bool> shared_memory;    ///< a peer on this host is reached through memory
  std::optional<bool> in_order_writes;  ///< each 128 aligned bytes land in order, and once
  std::optional<bool> in_order_sends;
};

/// Asks, and sets whether peers of this host may be reached through shared memory. Call it before
/// fi_enable(3). A provider without an option refuses it and is left as it is; in-order delivery is
/// tried and then switched off again, so that asking changes nothing.
Offload settle_offload(const Options& options, bool shared_memory);

/// What the getters say once the endpoint is enabled, when the device is known.
void refresh_offload(const Options& options, Offload& offload);

/// What a completion proves where the provider has granted FI_DELIVERY_COMPLETE: "delivery" that
/// the data is in the peer's memory, "acknowledged" that the peer's device has it, "transmit" no
/// more than without. efa-direct, efa's device for its writes, verbs under ofi_rxm and opx
/// acknowledge; ofi_rxm takes the flag for its sends and does not pass it on.
std::string_view granted_level(const Offload& offload, std::string_view provider,
                               std::string_view fabric, OperationSet operations);

/// rdma_write, rdma_read, atomics: "offloaded", "emulated" or "unknown"; one_sided: that of
/// `operations`, none for two-sided ones; offload_told_by: that these are claims of this side,
/// where there are any; shm_short_cut: "yes", "no" or "unknown"; in_order_128: likewise, of the
/// writes or the sends. `provider` in software emulates by nature, and one that is not efa has no
/// short cut.
std::vector<std::pair<std::string, std::string>> offload_facts(const Offload& offload,
                                                               std::string_view provider,
                                                               OperationSet operations);

}  // namespace rdmabench::inline v1::transport::ofi
