// From the processes that a launcher started to ranks that know where rank 0 listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/listener.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::control {

/// Where rank 0 listens: it publishes this by the rendezvous.
struct BootstrapAddress {
  std::string run_id{};  ///< random: another run's rank 0 may listen at the same port
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};  ///< of rank 0's machine, numeric; not all may be reachable
  std::string key{};                     ///< random; only the rendezvous carries it
  /// Of the connections between the ranks, from the key. It is not published.
  Authentication authentication{};
};

/// For rank 0 that listens on this port of this machine. Throws Error(failed) when the kernel gives
/// no addresses or no random numbers. Source: getifaddrs(3), getrandom(2).
BootstrapAddress make_bootstrap_address(std::uint16_t port);

std::string to_text(const BootstrapAddress& address);

/// Throws Error(failed) that names the field.
BootstrapAddress parse_bootstrap_address(std::string_view text);

/// What a rank needs to reach the others.
struct Bootstrap {
  JobPosition place{};
  BootstrapAddress address{};          ///< of rank 0
  std::optional<Listener> listener{};  ///< on rank 0: admits the others
};

/// Collective: the ranks agree on a secret of this run. Rank 0 listens on `port` (0: a free one)
/// and publishes where, under `key`; the others read that. `key` names the use: two uses of one
/// rendezvous need two keys. Rank 0's rendezvous has to live until the others have returned.
///
/// Throws Error as Listener, Rendezvous::put() and Rendezvous::get() do.
Bootstrap bootstrap(Rendezvous& rendezvous, std::string_view key, std::uint16_t port,
                    Deadline deadline);

}  // namespace rdmabench::control
