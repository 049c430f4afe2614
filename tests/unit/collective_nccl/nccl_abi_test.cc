// Our declarations of NCCL against its own header: every constant, struct and function type.
#include <nccl.h>

#include <gtest/gtest.h>

#include <type_traits>

#include "nccl_abi.h"
#include "rdmabench/collective/call.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

// Numbers.
static_assert(kUniqueIdBytes == NCCL_UNIQUE_ID_BYTES);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(version_code(2, 18, 5) == NCCL_VERSION(2, 18, 5));
static_assert(kSuccess == ncclSuccess && kUnhandledCudaError == ncclUnhandledCudaError);
static_assert(kSystemError == ncclSystemError && kInternalError == ncclInternalError);
static_assert(kInvalidArgument == ncclInvalidArgument && kInvalidUsage == ncclInvalidUsage);
static_assert(kRemoteError == ncclRemoteError && kInProgress == ncclInProgress);
static_assert(kSum == ncclSum && kProd == ncclProd && kMax == ncclMax && kMin == ncclMin);
static_assert(kAvg == ncclAvg);
constexpr bool same(DataType ours, ncclDataType_t theirs) {
  return static_cast<Type>(ours) == theirs;
}
static_assert(same(DataType::int8, ncclInt8) && same(DataType::uint8, ncclUint8));
static_assert(same(DataType::int32, ncclInt32) && same(DataType::uint32, ncclUint32));
static_assert(same(DataType::int64, ncclInt64) && same(DataType::uint64, ncclUint64));
static_assert(same(DataType::half, ncclFloat16) && same(DataType::float32, ncclFloat32));
static_assert(same(DataType::float64, ncclFloat64) && same(DataType::bfloat16, ncclBfloat16));
static_assert(kScalarHostImmediate == ncclScalarHostImmediate);
static_assert(kUndefined == NCCL_CONFIG_UNDEF_INT);
#if NCCL_VERSION_CODE >= 22400
static_assert(same(DataType::f8e4m3, ncclFloat8e4m3) && same(DataType::f8e5m2, ncclFloat8e5m2));
#endif

// The configuration, as far as we know it.
static_assert(offsetof(Config, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Config, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(Config, min_ctas) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(Config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));
static_assert(offsetof(Config, split_share) + sizeof(int) <= kOldConfigBytes);
#if NCCL_VERSION_CODE >= 22700
static_assert(kWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
static_assert(offsetof(Config, traffic_class) == offsetof(ncclConfig_t, trafficClass));
static_assert(offsetof(Config, comm_name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(Config, collnet_enable) == offsetof(ncclConfig_t, collnetEnable));
static_assert(offsetof(Config, cta_policy) == offsetof(ncclConfig_t, CTAPolicy));
static_assert(offsetof(Config, shrink_share) == offsetof(ncclConfig_t, shrinkShare));
static_assert(offsetof(Config, nvls_ctas) == offsetof(ncclConfig_t, nvlsCTAs));
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
#endif

/// Whether the calling convention passes one as the other: pointers, whole numbers and enumerations
/// of one size, structs of one size.
template <class Ours, class Theirs>
constexpr bool kAlike =
    sizeof(Ours) == sizeof(Theirs) &&
    ((std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
     ((std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(std::is_integral_v<Theirs> ||
                                                           std::is_enum_v<Theirs>)) ||
     (std::is_class_v<Ours> && std::is_class_v<Theirs> && std::is_trivially_copyable_v<Ours> &&
      std::is_trivially_copyable_v<Theirs>));

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct SameCall<R(A...), S(B...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<A, B> && ...)> {
};

static_assert(SameCall<GetVersion, decltype(ncclGetVersion)>::value);
static_assert(SameCall<GetUniqueId, decltype(ncclGetUniqueId)>::value);
static_assert(SameCall<GetErrorString, decltype(ncclGetErrorString)>::value);
static_assert(SameCall<GetLastError, decltype(ncclGetLastError)>::value);
static_assert(SameCall<CommInitRankConfig, decltype(ncclCommInitRankConfig)>::value);
static_assert(SameCall<CommFinalize, decltype(ncclCommFinalize)>::value);
static_assert(SameCall<CommDestroy, decltype(ncclCommDestroy)>::value);
static_assert(SameCall<CommAbort, decltype(ncclCommAbort)>::value);
static_assert(SameCall<CommGetAsyncError, decltype(ncclCommGetAsyncError)>::value);
static_assert(SameCall<CommCount, decltype(ncclCommCount)>::value);
static_assert(SameCall<RedOpCreatePreMulSum, decltype(ncclRedOpCreatePreMulSum)>::value);
static_assert(SameCall<RedOpDestroy, decltype(ncclRedOpDestroy)>::value);
static_assert(SameCall<GroupStart, decltype(ncclGroupStart)>::value);
static_assert(SameCall<GroupEnd, decltype(ncclGroupEnd)>::value);
static_assert(SameCall<AllReduce, decltype(ncclAllReduce)>::value);
static_assert(SameCall<Reduce, decltype(ncclReduce)>::value);
static_assert(SameCall<Broadcast, decltype(ncclBroadcast)>::value);
static_assert(SameCall<ReduceScatter, decltype(ncclReduceScatter)>::value);
static_assert(SameCall<AllGather, decltype(ncclAllGather)>::value);
static_assert(SameCall<Send, decltype(ncclSend)>::value);
static_assert(SameCall<Recv, decltype(ncclRecv)>::value);
#if NCCL_VERSION_CODE >= 21900
static_assert(SameCall<MemAlloc, decltype(ncclMemAlloc)>::value);
static_assert(SameCall<MemFree, decltype(ncclMemFree)>::value);
static_assert(SameCall<CommRegister, decltype(ncclCommRegister)>::value);
static_assert(SameCall<CommDeregister, decltype(ncclCommDeregister)>::value);
#endif
#if NCCL_VERSION_CODE >= 22700
static_assert(SameCall<CommWindowRegister, decltype(ncclCommWindowRegister)>::value);
static_assert(SameCall<CommWindowDeregister, decltype(ncclCommWindowDeregister)>::value);
#endif
#if NCCL_VERSION_CODE >= 22800
static_assert(SameCall<AlltoAll, decltype(ncclAlltoAll)>::value);
static_assert(SameCall<Gather, decltype(ncclGather)>::value);
static_assert(SameCall<Scatter, decltype(ncclScatter)>::value);
#endif

// The comparison itself can fail.
static_assert(!SameCall<GetVersion, decltype(ncclCommCount)>::value);
static_assert(!SameCall<Result(double*, float), Result(int*, int)>::value);

TEST(NcclAbi, TheConfigurationIsInitialisedAsTheHeaderDoes) {
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const Config ours = make_config(NCCL_VERSION_CODE);
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_LE(ours.version, theirs.version);
  EXPECT_LE(ours.size, theirs.size);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.net_name, theirs.netName);
  EXPECT_EQ(ours.split_share, theirs.splitShare);
}

TEST(NcclAbi, AnOlderLibraryGetsTheShapeThatItKnows) {
  EXPECT_EQ(make_config(version_code(2, 18, 1)).size, kOldConfigBytes);
  EXPECT_EQ(make_config(version_code(2, 18, 1)).version, 21800U);
  EXPECT_EQ(make_config(version_code(2, 27)).size, sizeof(Config));
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
