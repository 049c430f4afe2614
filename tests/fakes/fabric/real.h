// The system's libfabric, behind the fake one.
#pragma once

#include <rdma/fabric.h>

#include "fake_fabric.h"

namespace rdmabench::inline v1::fake_fabric {

/// One of its functions, in the version of the headers that this is built with.
void* real_function(const char* name);

#define REAL(name) \
  (reinterpret_cast<decltype(&(name))>(rdmabench::fake_fabric::real_function(#name)))

State& own_state();

/// The entry's NIC, none where the provider has no `device`.
void describe_nic(fi_info& entry, const Provider& provider);

/// Bytes of fi_mr_attr and fi_cq_err_entry in 1.17; later releases read and write behind them.
inline constexpr std::size_t kOldestStructure = 80;
/// In 2.6.
inline constexpr std::size_t kNewestAttributes = 112;
inline constexpr std::size_t kNewestErrorEntry = 88;

/// Takes over the functions of a queue of the real library, where `provider` fails.
void take_over(fid_cq& queue, const Provider& provider);

/// Takes over the functions of an endpoint of the real library.
void take_over(fid_ep& endpoint, const Provider& provider);

}  // namespace rdmabench::inline v1::fake_fabric
