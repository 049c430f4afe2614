// Where a profiler plugin finds what it reads, in bytes: numbers of NCCL's interfaces 1 to 6 (NCCL
// 2.23 to 2.30, 64 bits), which holds our declarations where NCCL's are not at hand. Each is
// {offset, size}, from the beginning of an event.
#include <gtest/gtest.h>

#include <cstddef>

#include "profiler_abi.h"

namespace rdmabench::inline v1::collective::nccl::profiler {
namespace {

struct Place {
  std::size_t offset;
  std::size_t bytes;
  constexpr bool operator==(const Place&) const = default;
};

#define PLACE(version, member)                                       \
  Place {                                                            \
    offsetof(Event##version, member), sizeof(Event##version::member) \
  }
#define PART(version, part, type, member)                                         \
  Place {                                                                         \
    offsetof(Event##version, part) + offsetof(type, member), sizeof(type::member) \
  }
#define COLLECTIVE(version, member) PART(version, collective, Collective##version, member)
using Collective5 = Collective4;
using Collective6 = Collective4;

static_assert(kGroup == 1 && kCollective == 2 && kPointToPoint == 4 && kCopyEngines == 4096);

// Interface 1.
static_assert(PLACE(1, kind) == Place{0, 1});
static_assert(PLACE(1, rank) == Place{16, 4});
static_assert(COLLECTIVE(1, channels) == Place{104, 1});
static_assert(COLLECTIVE(1, algorithm) == Place{106, 1});
static_assert(COLLECTIVE(1, protocol) == Place{107, 1});
static_assert(sizeof(Event1) <= 120);

// 2: names in place of numbers.
static_assert(PLACE(2, kind) == Place{0, 1});
static_assert(PLACE(2, rank) == Place{16, 4});
static_assert(COLLECTIVE(2, channels) == Place{104, 1});
static_assert(COLLECTIVE(2, algorithm) == Place{112, 8});
static_assert(COLLECTIVE(2, protocol) == Place{120, 8});
static_assert(sizeof(Event2) <= 128);

// 3: without the traffic's bytes.
static_assert(PLACE(3, kind) == Place{0, 1});
static_assert(PLACE(3, rank) == Place{16, 4});
static_assert(COLLECTIVE(3, channels) == Place{96, 1});
static_assert(COLLECTIVE(3, algorithm) == Place{104, 8});
static_assert(COLLECTIVE(3, protocol) == Place{112, 8});
static_assert(sizeof(Event3) <= 120);

// 4: without the communicator; sends and receives have channels.
static_assert(PLACE(4, kind) == Place{0, 1});
static_assert(PLACE(4, rank) == Place{16, 4});
static_assert(COLLECTIVE(4, channels) == Place{80, 1});
static_assert(COLLECTIVE(4, algorithm) == Place{88, 8});
static_assert(COLLECTIVE(4, protocol) == Place{96, 8});
static_assert(PART(4, point_to_point, PointToPoint4, channels) == Place{60, 1});
static_assert(sizeof(Event4) <= 104);

// 5: a wider kind.
static_assert(PLACE(5, kind) == Place{0, 8});
static_assert(PLACE(5, rank) == Place{16, 4});
static_assert(COLLECTIVE(5, channels) == Place{80, 1});
static_assert(COLLECTIVE(5, algorithm) == Place{88, 8});
static_assert(COLLECTIVE(5, protocol) == Place{96, 8});
static_assert(PART(5, point_to_point, PointToPoint4, channels) == Place{60, 1});
static_assert(sizeof(Event5) <= 112);

// 6: as 5.
static_assert(PLACE(6, kind) == Place{0, 8});
static_assert(PLACE(6, rank) == Place{16, 4});
static_assert(COLLECTIVE(6, channels) == Place{80, 1});
static_assert(COLLECTIVE(6, algorithm) == Place{88, 8});
static_assert(COLLECTIVE(6, protocol) == Place{96, 8});
static_assert(PART(6, point_to_point, PointToPoint4, channels) == Place{60, 1});
static_assert(sizeof(Event6) <= 112);

/// The table is the same in all: a name and five functions.
template <class Table>
constexpr bool kTable = sizeof(Table) == 48 && offsetof(Table, name) == 0 &&
                        offsetof(Table, init) == 8 && offsetof(Table, start) == 16 &&
                        offsetof(Table, stop) == 24 && offsetof(Table, record) == 32 &&
                        offsetof(Table, finalize) == 40;
static_assert(kTable<Table1> && kTable<Table2> && kTable<Table3> && kTable<Table4>);
static_assert(kTable<Table5> && kTable<Table6>);

TEST(NcclProfilerLayout, IsHeldAgainstNumbersWhenItIsCompiled) {}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl::profiler
