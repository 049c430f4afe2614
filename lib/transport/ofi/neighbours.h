// Endpoints of shm whose peers are in the same process.
#pragma once

#include <string>
#include <vector>

#include "rdmabench/transport/ofi/objects.h"

namespace rdmabench::inline v1::transport::ofi {

/// Two processes each map the other's memory. Within one process shm maps nothing twice: an
/// endpoint polls its peer's memory where the peer mapped it, until fi_close(3) of the peer, and a
/// poll behind that ends the process. So what is open of an endpoint that goes stays open until the
/// last of its peers in this process goes. Source: smr_map_to_region(), libfabric 1.17 to 2.6.
/// `key` is one for each endpoint. Thread rule: any thread.

/// Notes an endpoint that is open, by the names that its peers know it by.
void enter_neighbours(const void* key, std::vector<std::string> names);

/// Before fi_av_insert(3) of these. Throws Error(failed) where one was an endpoint of this process
/// that has gone: shm would still find its memory.
void meet_neighbours(const void* key, const std::vector<std::string>& peers);

/// The endpoint goes: closes what is open of it, now or with the last of its peers.
void leave_neighbours(const void* key, OpenObjects&& open) noexcept;

}  // namespace rdmabench::inline v1::transport::ofi
