// Rank and size of this process among those that a launcher started, and a small key-value store
// with a barrier by which they find one another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/base/deadline.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::control {

inline constexpr std::uint32_t kMaxRanks = 16384;
inline constexpr std::size_t kMaxKey = 64;            ///< bytes
inline constexpr std::size_t kMaxValue = 128U << 10;  ///< bytes

/// The port of a rendezvous whose launcher names a host for rank 0 but no port (Slurm).
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
};

/// The same calls over PMIx and over TCP. An instance stands for this process until it is
/// destroyed. Rank 0's also serves the others (over TCP), so it has to outlive their last call: end
/// with a barrier(). Then destroy it before the work begins: while a process is a client of PMIx,
/// Slurm ends all ranks when that one dies.
///
/// Over PMIx a call that fails may take 1 s beyond its deadline, to find out who is missing; over
/// TCP 2 s, when rank 0 does not answer.
///
/// Thread rule: one thread at a time.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  const JobPosition& place() const noexcept { return place_; }

  /// Publishes `value` under `key` of this rank; every rank may get() it from now on. A key is put
  /// once: what others have read does not change.
  ///
  /// Throws Error(usage): a key that is not 1..kMaxKey of [A-Za-z0-9._-] or was put before, a value
  /// over kMaxValue or with a NUL or that is not UTF-8. Throws Error(failed): rank 0 or the PMIx
  /// server is gone.
  virtual void put(std::string_view key, std::string_view value) = 0;

  /// Waits until `rank` has put `key`. Throws Error(failed) that names the rank when it does not in
  /// time, or has left without; Error(usage) for a rank that is not below the size.
  virtual std::string get(std::uint32_t rank, std::string_view key, Deadline deadline) = 0;

  /// Returns when every rank has called it. Throws Error(failed) naming the ranks that did not come
  /// in time. After a failure the ranks no longer agree on what comes next: leave.
  virtual void barrier(Deadline deadline) = 0;

  /// For the connections between the ranks of a run, which all give the same random `key`. PMIx
  /// hands values to ranks of the job alone, so there the key is the secret. Over TCP who listens
  /// could read it: the secret is made of it and of what the ranks share already.
  virtual Authentication authentication(std::string_view key) const = 0;

  /// Whether this object must live until MPI_Init(). Before libpmix 5 a process can be a client of
  /// PMIx only once. From libpmix 5 on, Open MPI 5 finds no rank in a process that is already a
  /// client.
  virtual bool is_needed_by_mpi() const { return false; }

 protected:
  explicit Rendezvous(JobPosition place) : place_(std::move(place)) {}

  /// Checks the arguments of put() and get(). Throws Error(usage) as they do.
  void check_put(std::string_view key, std::string_view value);
  void check_get(std::uint32_t rank, std::string_view key) const;

 private:
  JobPosition place_;
  std::set<std::string, std::less<>> keys_;  // that were put
};

/// Finds rank and size of this process and connects to rank 0. `options` precede the environment.
///
/// Over TCP rank 0 listens, serves from a thread of its own, which sleeps while nobody asks, and
/// raises its soft limit of open files when the ranks need it. It returns at once; the others
/// return when they have reached it. It does not wait for all ranks. Call put(), then get() or
/// barrier().
///
/// Throws Error(usage): no launcher found, rank without size or the reverse, rank >= size, no
/// address. Throws Error(failed): rank 0 was not reached in time, two processes with one rank, the
/// port is in use. Throws Error(unavailable): a PMIx launcher alone, and no libpmix here.
std::unique_ptr<Rendezvous> make_rendezvous(const RendezvousOptions& options);

}  // namespace rdmabench::control
