// The receive buffers of libfabric's ofi_rxm, whose number only the environment changes.
#pragma once

#include <cstdint>

namespace rdmabench::inline v1::transport::ofi {

/// How many ofi_rxm posts for each endpoint of this process. The first call begins libfabric, which
/// reads FI_OFI_RXM_MSG_RX_SIZE then and never again: that is the user's number, else 128, which is
/// in the environment only meanwhile. By itself ofi_rxm takes 4096, which are 70 MiB; where another
/// part of the program has begun libfabric before, that stays, and nothing tells it. Throws
/// Error(unavailable) without libfabric. Thread rule: any thread, but the first call uses
/// setenv(3), which is not for a program whose other threads read the environment meanwhile: a
/// Server makes it before it has threads. Source: fi_rxm(7).
std::uint64_t rxm_receives();

}  // namespace rdmabench::inline v1::transport::ofi
