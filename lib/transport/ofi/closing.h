// Endpoints of this process that did not close.
#pragma once

namespace rdmabench::inline v1::transport::ofi {

/// Threads that are in fi_close(3) of an endpoint of efa for longer than a step may take. Each has
/// a core and the endpoint's memory, which no session is charged for.
int threads_left_closing() noexcept;

/// As many of them and efa is not offered any more: a client that ends itself in a loop would have
/// all cores.
inline constexpr int kMostLeftClosing = 2;

}  // namespace rdmabench::inline v1::transport::ofi
