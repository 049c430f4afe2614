// Why a registration failed. Private to verbs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace rdmabench::verbs {

/// What to try after registering `bytes` gave `code`: the likely causes. Source: ibv_reg_mr(3),
/// getrlimit(2), and the kernel's ib_umem_get() and pin_user_pages().
std::string registration_remedy(int code, ibv_context& context, std::uint64_t bytes, int access);

}  // namespace rdmabench::verbs
