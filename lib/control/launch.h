// What the launcher of this process says about it, read from the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::control {

/// A variable of the environment; nothing where it is unset or empty.
using Environment = std::function<std::optional<std::string>(const char* name)>;

struct Address {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

struct Launch {
  enum class Source : std::uint8_t { pmix, tcp };  ///< of rank and size
  Source source = Source::tcp;
  JobPosition place;  ///< of `tcp`; PMIx is asked for its own
  Address address;    ///< of `tcp`: where rank 0 listens
  /// By rank, where the launcher has a list of as many hosts as ranks; else empty.
  std::vector<std::string> hosts{};
};

/// A launcher that tells each process its rank and the number of all by two variables.
struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  bool of_job = false;  ///< the script of a job has them too, without being started as a rank
};

/// In the order of read_launch().
std::span<const Launcher> launchers() noexcept;

/// The order is docs/deploy.md's: what the caller says, then RDMABENCH_*, torchrun, PMIx, Open MPI,
/// MVAPICH2, MPICH, PALS, Flux, Slurm. A launcher within another speaks last and is looked at
/// first, which is why Slurm comes at the end. `pmix` is whether this program can
/// speak it, and is asked only under a PMIx server.
///
/// Throws Error(usage): nothing found, one half of a pair without the other, an invalid number,
/// rank >= size, no address; Error(unavailable): only PMIx would do, and this program cannot.
Launch read_launch(const RendezvousOptions& options, const Environment& environment,
                   const std::function<bool()>& pmix);

/// gethostname(2); "unknown" should that fail.
std::string this_host();

/// "HOST:PORT", "[::1]:PORT". `source` is who said so, for the error text. Throws Error(usage).
Address parse_address(std::string_view text, std::string_view source);

/// host_names() of Slurm's list (base/host_list.h). Throws Error(usage) if it is invalid or has
/// more than kMaxRanks.
std::vector<std::string> slurm_hosts(std::string_view nodes);

}  // namespace rdmabench::inline v1::control
