// The interface of the modules, each of which is compiled against one MPI. The program that loads
// them needs no MPI.
//
// Every function returns 0 on success; else it writes the reason to `error` (kErrorBytes, a C
// string). All calls come from the thread that called init().
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmabench::inline v1::collective {

inline constexpr std::uint32_t kMpiModuleVersion = 3;
inline constexpr std::size_t kErrorBytes = 512;
inline constexpr const char* kMpiModuleSymbol = "rdmabench_mpi_module";

/// One operation for MPI. Enumerators of call.h as numbers.
struct MpiCall {
  std::uint32_t operation;
  std::uint32_t type;
  std::uint32_t reduction;
  std::uint32_t root;
  std::uint32_t in_place;
  std::uint32_t slots;
  std::uint64_t count;
  // all_to_all_v: by rank, in elements; else null
  const std::uint64_t* send_counts;
  const std::uint64_t* send_offsets;
  const std::uint64_t* receive_counts;
  const std::uint64_t* receive_offsets;
};

struct MpiModule {
  std::uint32_t version;  ///< kMpiModuleVersion
  const char* name;       ///< "Open MPI", "MPICH"
  const char* library;    ///< MPI_Get_library_version; after init()
  /// Whether this thread may use MPI, and the caller's communicator, in this process: not 0 is the
  /// caller's mistake. It asks no other rank. `communicator`: the address of an MPI_Comm, or null.
  int (*check)(const void* communicator, char* error);
  /// Its ranks together: initialises MPI unless the program has, and duplicates the communicator;
  /// null is MPI_COMM_WORLD. After check().
  int (*init)(const void* communicator, std::uint32_t* rank, std::uint32_t* size, char* error);
  /// All ranks: from here on those of one color do each call together, in the order of `key`. No
  /// operation may be outstanding.
  int (*split)(std::uint32_t color, std::uint32_t key, char* error);
  /// Frees what init() and split() made, and finalises MPI if init() initialised it.
  int (*finalize)(char* error);
  /// No operation may be outstanding.
  int (*prepare)(const MpiCall* call, char* error);
  /// `send` and `receive` are this slot's buffers; the same one if in place.
  int (*start)(std::uint32_t slot, void* send, void* receive, char* error);
  /// Whether all started operations are complete; never waits.
  int (*test)(int* done, char* error);
};

using MpiModuleEntry = const MpiModule* (*)();

}  // namespace rdmabench::inline v1::collective
