// Functions of libibverbs that headers of older releases do not declare. Defined like all others of
// it in ibverbs.cc: a call throws Error(unavailable) where the library has none.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

extern "C" {

/// `speed` in units of 100 Mb/s. From rdma-core 62 on. Source: ibv_query_port_speed(3).
int ibv_query_port_speed(ibv_context* context, std::uint32_t port, std::uint64_t* speed);
}
