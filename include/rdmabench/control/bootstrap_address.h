// Where rank 0 listens, for the other ranks to find it: it publishes this by the rendezvous.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::control {

struct BootstrapAddress {
  std::string token{};  ///< of the run: whoever else listens at such a port is not meant
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};  ///< numeric; any of them may do
};

/// For rank 0 that listens on this port of this machine. Throws Error(failed) when the
/// kernel gives no addresses or no random numbers. Source: getifaddrs(3), getrandom(2).
BootstrapAddress make_bootstrap_address(std::uint16_t port);

std::string to_text(const BootstrapAddress& bootstrap_address);

/// Throws Error(failed) that names the field.
BootstrapAddress parse_bootstrap_address(std::string_view text);

}  // namespace rdmabench::control
