// Our declarations of NCCL's profiler interface against NCCL's own, as its example plugin has them.
#include <nccl/err.h>
#include <nccl/profiler.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "profiler_abi.h"

namespace rdmabench::inline v1::collective::nccl::profiler {
namespace {

static_assert(kGroup == ncclProfileGroup && kCollective == ncclProfileColl);
static_assert(kPointToPoint == ncclProfileP2p && kCopyEngines == ncclProfileCeColl);

// The parts of an event: where each value lies from the event's beginning.
template <class Ours>
constexpr std::size_t kBody = offsetof(Ours, collective);

#define SAME_HEAD(version)                                              \
  static_assert(sizeof(Event##version::kind) ==                         \
                sizeof(ncclProfilerEventDescr_v##version##_t::type));   \
  static_assert(offsetof(Event##version, kind) ==                       \
                offsetof(ncclProfilerEventDescr_v##version##_t, type)); \
  static_assert(offsetof(Event##version, rank) ==                       \
                offsetof(ncclProfilerEventDescr_v##version##_t, rank)); \
  static_assert(sizeof(Event##version) <= sizeof(ncclProfilerEventDescr_v##version##_t))
SAME_HEAD(1);
SAME_HEAD(2);
SAME_HEAD(3);
SAME_HEAD(4);
SAME_HEAD(5);
SAME_HEAD(6);

#define SAME(version, body, ours, theirs)                       \
  static_assert(kBody<Event##version> + offsetof(body, ours) == \
                offsetof(ncclProfilerEventDescr_v##version##_t, theirs))
#define SAME_COLLECTIVE(version, body, channels_of_ours, channels_of_theirs) \
  SAME(version, body, channels_of_ours, coll.channels_of_theirs);            \
  SAME(version, body, warps, coll.nWarps);                                   \
  SAME(version, body, sequence, coll.seqNumber);                             \
  SAME(version, body, function, coll.func);                                  \
  SAME(version, body, count, coll.count);                                    \
  SAME(version, body, root, coll.root);                                      \
  SAME(version, body, type, coll.datatype);                                  \
  SAME(version, body, algorithm, coll.algo);                                 \
  SAME(version, body, protocol, coll.proto);                                 \
  static_assert(sizeof(body::algorithm) ==                                   \
                sizeof(ncclProfilerEventDescr_v##version##_t::coll.algo));   \
  static_assert(sizeof(body::channels_of_ours) ==                            \
                sizeof(ncclProfilerEventDescr_v##version##_t::coll.channels_of_theirs))
SAME_COLLECTIVE(1, Collective1, channels, nMaxChannels);
SAME_COLLECTIVE(2, Collective2, channels, nMaxChannels);
SAME_COLLECTIVE(3, Collective3, channels, nMaxChannels);
SAME_COLLECTIVE(4, Collective4, channels, nChannels);
SAME_COLLECTIVE(5, Collective4, channels, nChannels);
SAME_COLLECTIVE(6, Collective4, channels, nChannels);
SAME(4, PointToPoint4, channels, p2p.nChannels);
SAME(5, PointToPoint4, channels, p2p.nChannels);
SAME(6, PointToPoint4, channels, p2p.nChannels);

/// Whether the calling convention passes one as the other.
template <class Ours, class Theirs>
constexpr bool kAlike =
    sizeof(Ours) == sizeof(Theirs) &&
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>&& std::is_floating_point_v<Ours> ==
        std::is_floating_point_v<Theirs>;
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R (*)(A...), S (*)(B...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<A, B> && ...)> {
};

#define SAME_TABLE(version)                                                                     \
  static_assert(sizeof(Table##version) == sizeof(ncclProfiler_v##version##_t));                 \
  static_assert(offsetof(Table##version, name) == offsetof(ncclProfiler_v##version##_t, name)); \
  static_assert(offsetof(Table##version, init) == offsetof(ncclProfiler_v##version##_t, init)); \
  static_assert(offsetof(Table##version, start) ==                                              \
                offsetof(ncclProfiler_v##version##_t, startEvent));                             \
  static_assert(offsetof(Table##version, stop) ==                                               \
                offsetof(ncclProfiler_v##version##_t, stopEvent));                              \
  static_assert(offsetof(Table##version, record) ==                                             \
                offsetof(ncclProfiler_v##version##_t, recordEventState));                       \
  static_assert(offsetof(Table##version, finalize) ==                                           \
                offsetof(ncclProfiler_v##version##_t, finalize));                               \
  static_assert(SameCall<decltype(Table##version::init),                                        \
                         decltype(ncclProfiler_v##version##_t::init)>::value);                  \
  static_assert(SameCall<decltype(Table##version::start),                                       \
                         decltype(ncclProfiler_v##version##_t::startEvent)>::value);            \
  static_assert(SameCall<decltype(Table##version::stop),                                        \
                         decltype(ncclProfiler_v##version##_t::stopEvent)>::value);             \
  static_assert(SameCall<decltype(Table##version::record),                                      \
                         decltype(ncclProfiler_v##version##_t::recordEventState)>::value);      \
  static_assert(SameCall<decltype(Table##version::finalize),                                    \
                         decltype(ncclProfiler_v##version##_t::finalize)>::value)
SAME_TABLE(1);
SAME_TABLE(2);
SAME_TABLE(3);
SAME_TABLE(4);
SAME_TABLE(5);
SAME_TABLE(6);

// The comparison itself can fail.
static_assert(!SameCall<decltype(Table4::init), decltype(ncclProfiler_v5_t::init)>::value);
static_assert(offsetof(Collective1, algorithm) != offsetof(Collective4, algorithm));

TEST(NcclProfilerAbi, IsHeldAgainstNcclsWhenItIsCompiled) {}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl::profiler
