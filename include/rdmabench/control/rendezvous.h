// Rank and size of this process among those that a launcher started, and where rank 0 listens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::inline v1::control {

inline constexpr std::uint32_t kMaxRanks = 16384;

/// The port of rank 0 whose launcher names a host for rank 0 but no port (Slurm).
inline constexpr std::uint16_t kRendezvousPort = 18516;

/// Rank, number of ranks and host of this process.
struct JobPosition {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string host;  ///< of this process: gethostname(2)
  std::string
      source;  ///< of rank and size, for the report: "PMIx", "RANK and WORLD_SIZE (torchrun)"
};

/// What is not given comes from the environment: docs/deploy.md has the order.
struct RendezvousOptions {
  std::optional<std::uint32_t> rank = {};
  std::optional<std::uint32_t> size = {};
  /// HOST:PORT or [IPV6]:PORT of rank 0
  std::optional<std::string> address = {};
  std::chrono::milliseconds timeout{30'000};  ///< for all ranks to come; also PMIx_Init's limit
  /// Of ranks that meet over TCP. PMIx knows who belongs to the job.
  Authentication authentication = {};
  /// From 0: which of several launches of these ranks, one after another. They are not in step.
  std::uint32_t launch = 0;
  /// How ranks that can already talk to one another, by MPI or a pipe, tell where rank 0 listens,
  /// in place of `address` and PMIx, so that it may take any free port; with `rank` and `size`.
  /// meet() calls it once on every rank, on rank 0 with a text of printable ASCII, 16 KiB at most,
  /// which it returns on all of them; "" says that rank 0 has failed. The text has the secret of
  /// this run: nobody else may read it, and no token is needed. No deadline limits it; what it
  /// throws meet() throws.
  std::function<std::string(const std::string& of_rank_0)> broadcast = {};
};

/// Where rank 0 listens.
struct BootstrapAddress {
  /// Random: another run's rank 0 may listen at the same port. "" where only rank 0 knows it, and
  /// tells whom it admits.
  std::string run_id{};
  std::uint16_t port = 0;
  std::vector<std::string> addresses{};  ///< of rank 0's machine; not all may be reachable
  std::string key{};                     ///< random; only PMIx carries it
  /// Of the connections to rank 0. It is not published.
  Authentication authentication{};
  /// Rank 0 may not be there yet, nor its name resolve.
  bool may_be_starting = false;
  /// What answers may still be rank 0 of the launch before, which refuses.
  bool after_another = false;
};

/// For rank 0 that publishes that it listens on this port of this machine. Throws Error(failed)
/// when the kernel gives no addresses or no random numbers. Source: getifaddrs(3), getrandom(2).
BootstrapAddress make_bootstrap_address(std::uint16_t port);

/// What a rank needs to reach the others.
struct Bootstrap {
  BootstrapAddress address{};          ///< of rank 0
  std::optional<Listener> listener{};  ///< on rank 0: admits the others
};

/// How the ranks of a job find rank 0. Thread rule: one thread at a time.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  Rendezvous& operator=(Rendezvous&&) = delete;

  const JobPosition& place() const noexcept { return place_; }

  /// Collective. Rank 0 listens; the others learn where. Over PMIx and by a `broadcast` rank 0
  /// takes `port` (0: a free one, which Bootstrap::listener tells) and publishes its addresses and
  /// a secret of this run, over PMIx under `use`: two uses of one job need two names. Rank 0's
  /// rendezvous has to live until the others have returned. Over TCP all know the address that they
  /// were given, and its port is the one.
  ///
  /// Throws Error(failed): rank 0 cannot listen; over PMIx, rank 0 did not publish it in time.
  /// Throws Error(usage) for another port than that of the address.
  virtual Bootstrap meet(std::string_view use, std::uint16_t port, Deadline deadline) = 0;

  /// The host on which the launcher has started a rank, whether or not it comes; "" where it does
  /// not say. Over PMIx it may take a second.
  virtual std::string host_of(std::uint32_t /*rank*/) { return {}; }

  /// Whether this object must live until MPI_Init(). Before libpmix 5 a process can be a client of
  /// PMIx only once. From libpmix 5 on, Open MPI 5 finds no rank in a process that is already a
  /// client.
  virtual bool is_needed_by_mpi() const { return false; }

 protected:
  explicit Rendezvous(JobPosition place) : place_(std::move(place)) {}

 private:
  JobPosition place_;
};

/// Finds rank and size of this process. `options` precede the environment. Destroy it when all have
/// met: while a process is a client of PMIx, Slurm ends all ranks when that one dies.
///
/// Throws Error(usage): no launcher found, rank without size or the reverse, rank >= size, no
/// address, a `broadcast` beside an address or without rank and size. Throws Error(failed): the
/// PMIx server does not answer. Throws Error(unavailable): a PMIx launcher alone, and no libpmix
/// here.
std::unique_ptr<Rendezvous> make_rendezvous(const RendezvousOptions& options);

}  // namespace rdmabench::inline v1::control
