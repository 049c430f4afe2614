// What a module of this project exports that was compiled against one MPI: its ABI is ours, so the
// program that loads it was compiled against none.
//
// Every function returns 0, or writes why not to `error` (kErrorBytes, a C string) and returns
// another number. All calls from the thread that called init(), but abort_all().
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmabench::collective {

inline constexpr std::uint32_t kMpiModuleVersion = 1;
inline constexpr std::size_t kErrorBytes = 512;
inline constexpr const char* kMpiModuleSymbol = "rdmabench_mpi_module";

/// One operation as MPI is to do it. Enumerations are those of operation.h as numbers.
struct MpiCall {
  std::uint32_t operation;
  std::uint32_t type;
  std::uint32_t reduction;
  std::uint32_t root;
  std::uint32_t in_place;
  std::uint32_t slots;
  std::uint64_t count;
  // of all_to_all_v, by rank, in elements; else null
  const std::uint64_t* send_counts;
  const std::uint64_t* send_offsets;
  const std::uint64_t* receive_counts;
  const std::uint64_t* receive_offsets;
};

struct MpiModule {
  std::uint32_t version;  ///< kMpiModuleVersion
  const char* name;       ///< "Open MPI", "MPICH"
  const char* library;    ///< what MPI_Get_library_version says, after init()
  int (*init)(std::uint32_t* rank, std::uint32_t* size, char* error);
  int (*finalize)(char* error);
  /// Nothing may be outstanding.
  int (*prepare)(const MpiCall* call, char* error);
  /// `send` and `receive` are buffers of this slot; in place they are one.
  int (*start)(std::uint32_t slot, void* send, void* receive, char* error);
  /// Whether all that were started are done; never waits.
  int (*test)(int* done, char* error);
  void (*abort_all)();
};

using MpiModuleEntry = const MpiModule* (*)();

}  // namespace rdmabench::collective
