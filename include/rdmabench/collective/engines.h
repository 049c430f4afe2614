// The back ends of this library: MPI for host memory, NCCL for GPU memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rdmabench/collective/engine.h"

namespace rdmabench::inline v1::collective {

enum class MpiKind : std::uint8_t { open_mpi, mpich };

/// Which MPI's launcher started this process, by its variables: Open MPI's OMPI_COMM_WORLD_SIZE;
/// else MPICH's PMI_SIZE or MPI_LOCALNRANKS. None where neither is there. `environment` is
/// getenv(3).
std::optional<MpiKind> launched_by(const std::function<const char*(const char*)>& environment);

struct MpiOptions {
  /// Path of the file of a module to load: its folder is rdmabench_MODULE_DIR after find_package(),
  /// or `pkg-config --variable=moduledir rdmabench`. "" for librdmabench-mpi-openmpi.so or
  /// -mpich.so, by the MPI that the program has, else by the launcher, looked for beside the
  /// program, in its ../lib/rdmabench, beside the library's own file, in rdmabench/ there, and
  /// where it was installed. The environment's RDMABENCH_MPI_MODULE names a file likewise.
  std::string module{};
  std::optional<MpiKind> kind{};  ///< instead of the launcher's
  /// The address of an MPI_Comm (&comm, not comm) of a program that has initialised MPI; null:
  /// MPI_COMM_WORLD. The group has its ranks, in its order. It stays the caller's: MPI_Comm_dup()
  /// makes a copy when the run begins, which the run frees at its end. It must live as long as the
  /// engine.
  const void* communicator = nullptr;
};

/// Loads nothing yet: Engine::load() and open() throw Error(unavailable) if there is no module or
/// no MPI, and say where they looked.
///
/// A program that has initialised MPI keeps it, and may measure as often as it likes, one engine at
/// a time. The thread that measures is the only one of ours that calls MPI: below
/// MPI_THREAD_SERIALIZED it has to be the one that initialised MPI (MPI_Is_thread_main), or
/// Engine::open() throws Error(usage). Otherwise the engine initialises MPI with
/// MPI_THREAD_FUNNELED and finalises it at the end of the run, once in a process. After a run that
/// failed calls of MPI may still be under way: end the process, by MPI_Abort if need be. Source:
/// MPI 3.1, 8.7 and 12.4.
std::shared_ptr<Engine> make_mpi_engine(MpiOptions options);

/// Whether NCCL is told of the buffers beforehand, so that it can work in them directly.
enum class Registration : std::uint8_t {
  none,
  local,      ///< ncclCommRegister, since 2.19
  symmetric,  ///< ncclCommWindowRegister on every rank together, since 2.27
};
/// "none", "local", "symmetric".
std::string_view name(Registration registration) noexcept;
/// Throws Error(usage) that lists them.
Registration parse_registration(std::string_view text);

struct NcclOptions {
  /// "0", "0000:1b:00.0", "GPU-..."; "" = the GPU whose number is this rank's among those of its
  /// host.
  std::string device{};
  Registration registration = Registration::none;
  bool graph = false;                  ///< the operations of a batch are a CUDA graph
  std::uint32_t graph_operations = 0;  ///< ... or several of so many each; 0: one
  std::uint32_t plain_calls = 1;       ///< with `graph`, before one is captured; 1 or more
  std::int32_t cta_policy = -1;        ///< 0..2, NCCL_CTA_POLICY_*, since 2.27; -1 = NCCL's own
  std::uint32_t misalign = 0;          ///< elements by which input and result lie off a boundary
  std::string network;  ///< NCCL's name of a network: "Socket", "IB"; "" = NCCL's own
  /// A communicator made with blocking = 0: every call can be given up by itself, and small sizes
  /// take longer. Otherwise a call that never returns ends the run, with the rank that hangs.
  bool non_blocking = false;
};

/// Loads nothing yet: Engine::open() throws Error(unavailable) if there is no NCCL or no CUDA
/// driver, and says where it looked. While NCCL makes a communicator the environment also has
/// NCCL_DEBUG, NCCL_DEBUG_FILE, NCCL_DEBUG_SUBSYS and NCCL_PROFILER_PLUGIN, unless the user has set
/// them; afterwards it is as before. NCCL itself reads the first three once: what it logs of later
/// communicators of this process goes into the engine's log, which is in memory. To have NCCL's log
/// yourself, set one of them before.
std::shared_ptr<Engine> make_nccl_engine(NcclOptions options);

}  // namespace rdmabench::inline v1::collective
