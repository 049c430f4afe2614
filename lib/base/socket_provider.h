// Which of libfabric's providers measure the kernel's sockets.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace rdmabench::inline v1 {

/// "verbs" of "verbs;ofi_rxm".
constexpr std::string_view core_of(std::string_view provider) {
  return provider.substr(0, provider.find(';'));
}

/// Providers over the kernel's sockets: whatever they do one-sided, the target's processor does.
/// Source: fi_provider(7).
constexpr bool is_socket_provider(std::string_view provider) {
  constexpr std::array<std::string_view, 4> kSockets{"tcp", "net", "udp", "sockets"};
  return std::find(kSockets.begin(), kSockets.end(), core_of(provider)) != kSockets.end();
}

}  // namespace rdmabench::inline v1
