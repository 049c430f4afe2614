// Our own declarations of NCCL's interface for profiler plugins, as far as needed for the choices
// made for a collective: no package installs its headers.
//
// Versions: 1 came with NCCL 2.23, 2 with 2.24, 3 with 2.26, 4 with 2.27, 5 with 2.28, 6 with 2.29.
// NCCL looks for the newest one that it knows, then for older ones. 6 adds events of copy engines.
// Source: NCCL's plugins/profiler/README.md and the
// headers beside it; tests/unit/collective_nccl compares this with their numbers, and with the
// headers in RDMABENCH_NCCL_PROFILER_HEADERS if that is set in CMake.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl_abi.h"

namespace rdmabench::inline v1::collective::nccl::profiler {

inline constexpr int kHasProfiler = version_code(2, 23);
inline constexpr int kTakesHome = version_code(2, 30);  // for the settings of the user

// Kinds of events, and the bits of the mask.
inline constexpr int kGroup = 1 << 0;
inline constexpr int kCollective = 1 << 1;
inline constexpr int kPointToPoint = 1 << 2;
inline constexpr int kCopyEngines = 1 << 12;  ///< a collective by them; from version 6 on

// Events of a collective; the mask selects the kinds that are reported.

struct Collective1 {
  const char* comm_name;
  std::uint64_t comm_hash;
  std::uint64_t sequence;
  std::uint8_t function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  std::uint8_t type;
  std::uint32_t op;
  std::size_t traffic_bytes;
  std::uint8_t channels;  ///< at most
  std::uint8_t warps;
  std::uint8_t algorithm;
  std::uint8_t protocol;
  int is_collnet;
  int is_nvls;
};

struct OfComm {
  const char* comm_name;
  std::uint64_t comm_hash;
};
struct Nothing {};
template <class Head, class Traffic>
struct NamedCollective {
  [[no_unique_address]] Head head;
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* type;
  [[no_unique_address]] Traffic traffic_bytes;
  std::uint8_t channels;  ///< before version 4 at most so many
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};
using Collective2 = NamedCollective<OfComm, std::size_t>;
using Collective3 = NamedCollective<OfComm, Nothing>;
/// Also of versions 5 and 6, which append to it.
using Collective4 = NamedCollective<Nothing, Nothing>;

/// A send or a receive. Before version 4 it has nothing that is read here.
struct PointToPoint4 {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

/// The head of an event and the parts that are read. The real struct is larger.
template <class Kind, class Collective>
struct Event {
  Kind kind;
  void* parent;
  int rank;
  union {
    Collective collective;
    PointToPoint4 point_to_point;
  };
};
using Event1 = Event<std::uint8_t, Collective1>;
using Event2 = Event<std::uint8_t, Collective2>;
using Event3 = Event<std::uint8_t, Collective3>;
using Event4 = Event<std::uint8_t, Collective4>;
using Event5 = Event<std::uint64_t, Collective4>;
using Event6 = Event5;  // nothing is read of what a collective by copy engines has

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);
using Init1 = Result(void** context, int* mask);
using Init4 = Result(void** context, int* mask, const char* comm_name, std::uint64_t comm_hash,
                     int nodes, int ranks, int rank, Logger log);
using Init5 = Result(void** context, std::uint64_t comm_id, int* mask, const char* comm_name,
                     int nodes, int ranks, int rank, Logger log);

/// What a plugin exports under the name "ncclProfiler_v" and its version.
template <class Init, class EventType>
struct Table {
  const char* name;
  Init* init;  ///< for every communicator; NCCL owns the mask, which may be changed at any time
  Result (*start)(void* context, void** handle, EventType* event);
  Result (*stop)(void* handle);
  Result (*record)(void* handle, int state, void* arguments);
  Result (*finalize)(void* context);
};
using Table1 = Table<Init1, Event1>;
using Table2 = Table<Init1, Event2>;
using Table3 = Table<Init1, Event3>;
using Table4 = Table<Init4, Event4>;
using Table5 = Table<Init5, Event5>;
using Table6 = Table<Init5, Event6>;

}  // namespace rdmabench::inline v1::collective::nccl::profiler
