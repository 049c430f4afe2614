// How many files a process may have open.
#pragma once

namespace rdmabench {

/// Raises RLIMIT_NOFILE to its hard limit, if it can: each connection takes some, and the limit
/// that a shell starts with is for programs that use select(2). Thread rule: any.
void raise_descriptor_limit() noexcept;

}  // namespace rdmabench
