#include "launch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace rdmabench::inline v1::collective::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> calls;
Result next = kSuccess;

Result note(std::string text) {
  calls.push_back(std::move(text));
  return next;
}

std::uintptr_t at(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Notes what is called with what.
Library recorder(int version) {
  Library library;
  library.version = version;
  library.group_start = [] {
    calls.emplace_back("begin");
    return kSuccess;
  };
  library.group_end = [] {
    calls.emplace_back("end");
    return kSuccess;
  };
  library.all_reduce = [](const void* send, void* receive, std::size_t count, Type type, RedOp op,
                          Comm*, Stream) {
    return note(fmt::format("AllReduce {} {} {} {} {}", at(send), at(receive), count, type, op));
  };
  library.reduce = [](const void*, void*, std::size_t count, Type, RedOp op, int root, Comm*,
                      Stream) { return note(fmt::format("Reduce {} {} {}", count, op, root)); };
  library.broadcast = [](const void*, void*, std::size_t count, Type, int root, Comm*, Stream) {
    return note(fmt::format("Broadcast {} {}", count, root));
  };
  library.reduce_scatter = [](const void*, void*, std::size_t count, Type, RedOp op, Comm*,
                              Stream) {
    return note(fmt::format("ReduceScatter {} {}", count, op));
  };
  library.all_gather = [](const void*, void*, std::size_t count, Type, Comm*, Stream) {
    return note(fmt::format("AllGather {}", count));
  };
  library.send = [](const void* data, std::size_t count, Type, int peer, Comm*, Stream) {
    return note(fmt::format("Send {} {} to {}", at(data), count, peer));
  };
  library.recv = [](void* data, std::size_t count, Type, int peer, Comm*, Stream) {
    return note(fmt::format("Recv {} {} from {}", at(data), count, peer));
  };
  if (version >= kHasAllToAll) {
    library.all_to_all = [](const void*, void*, std::size_t count, Type, Comm*, Stream) {
      return note(fmt::format("AlltoAll {}", count));
    };
    library.gather = [](const void*, void*, std::size_t count, Type, int root, Comm*, Stream) {
      return note(fmt::format("Gather {} {}", count, root));
    };
    library.scatter = [](const void*, void*, std::size_t count, Type, int root, Comm*, Stream) {
      return note(fmt::format("Scatter {} {}", count, root));
    };
  }
  return library;
}

std::vector<std::string> launched(const Call& call, Team team, int version = 21800) {
  calls.clear();
  next = kSuccess;
  EXPECT_EQ(launch(recorder(version), nullptr, nullptr,
                   make_call_plan(call, team, red_op_of(call.reduction)), 1000, 2000),
            kSuccess);
  return calls;
}

TEST(NcclLaunch, CollectivesGoToTheirOwnCalls) {
  Call call;
  call.count = 7;
  call.root = 1;
  call.type = DataType::float32;
  call.reduction = Reduction::max;
  EXPECT_THAT(launched(call, {0, 2}), ElementsAre("AllReduce 1000 2000 7 7 2"));
  call.operation = Operation::reduce;
  EXPECT_THAT(launched(call, {0, 2}), ElementsAre("Reduce 7 2 1"));
  call.operation = Operation::broadcast;
  EXPECT_THAT(launched(call, {0, 2}), ElementsAre("Broadcast 7 1"));
  call.operation = Operation::reduce_scatter;
  EXPECT_THAT(launched(call, {0, 2}), ElementsAre("ReduceScatter 7 2"));
  call.operation = Operation::all_gather;
  EXPECT_THAT(launched(call, {0, 2}), ElementsAre("AllGather 7"));
}

TEST(NcclLaunch, WithoutACallOfItsOwnSendsAndReceivesAreGrouped) {
  const Call all{.operation = Operation::all_to_all, .count = 2};
  EXPECT_THAT(launched(all, {0, 2}), ElementsAre("begin", "Send 1000 2 to 0", "Recv 2000 2 from 0",
                                                 "Send 1008 2 to 1", "Recv 2008 2 from 1", "end"));
  EXPECT_THAT(launched(all, {0, 2}, 22800), ElementsAre("AlltoAll 2"));

  const Call gather{.operation = Operation::gather, .root = 1, .count = 2};
  EXPECT_THAT(launched(gather, {0, 2}), ElementsAre("begin", "Send 1000 2 to 1", "end"));
  EXPECT_THAT(
      launched(gather, {1, 2}),
      ElementsAre("begin", "Send 1000 2 to 1", "Recv 2000 2 from 0", "Recv 2008 2 from 1", "end"));
  EXPECT_THAT(launched(gather, {1, 2}, 22800), ElementsAre("Gather 2 1"));

  const Call scatter{.operation = Operation::scatter, .root = 0, .count = 2};
  EXPECT_THAT(launched(scatter, {1, 2}), ElementsAre("begin", "Recv 2000 2 from 0", "end"));
  EXPECT_THAT(
      launched(scatter, {0, 2}),
      ElementsAre("begin", "Send 1000 2 to 0", "Send 1008 2 to 1", "Recv 2000 2 from 0", "end"));
  EXPECT_THAT(launched(scatter, {0, 2}, 22800), ElementsAre("Scatter 2 0"));
}

TEST(NcclLaunch, ARingSendsUpAndReceivesFromBelow) {
  const Call ring{.operation = Operation::send_receive, .count = 3};
  EXPECT_THAT(launched(ring, {2, 3}),
              ElementsAre("begin", "Send 1000 3 to 0", "Recv 2000 3 from 1", "end"));
}

TEST(NcclLaunch, UnevenPartsLieBehindOneAnother) {
  const Call call{.operation = Operation::all_to_all_v, .count = 8};
  const Team team{1, 3};
  const std::vector<std::string> got = launched(call, team);
  const Parts sent = parts_sent(call, team);
  const Parts received = parts_received(call, team);
  ASSERT_EQ(got.size(), 8U);
  for (std::uint32_t peer = 0; peer < 3; ++peer) {
    EXPECT_EQ(got[1 + 2 * peer], fmt::format("Send {} {} to {}", 1000 + 4 * sent.offsets[peer],
                                             sent.counts[peer], peer));
    EXPECT_EQ(got[2 + 2 * peer],
              fmt::format("Recv {} {} from {}", 2000 + 4 * received.offsets[peer],
                          received.counts[peer], peer));
  }
}

TEST(NcclLaunch, AGroupIsEndedAfterAFailureInIt) {
  calls.clear();
  next = kInvalidArgument;
  const Call call{.operation = Operation::all_to_all, .count = 2};
  EXPECT_EQ(
      launch(recorder(21800), nullptr, nullptr, make_call_plan(call, {0, 4}, kSum), 1000, 2000),
      kInvalidArgument);
  EXPECT_THAT(calls, ElementsAre("begin", "Send 1000 2 to 0", "end"));
}

TEST(NcclLaunch, SaysWhatAReleaseOrAGpuCannotDo) {
  Call call{.type = DataType::f8e4m3};
  EXPECT_THAT(unsupported(call, 2, version_code(2, 23, 4), 90), HasSubstr("came with 2.24"));
  EXPECT_THAT(unsupported(call, 2, version_code(2, 24), 80), HasSubstr("this is 8.0"));
  EXPECT_EQ(unsupported(call, 2, version_code(2, 24), 90), "");
  call.operation = Operation::all_gather;
  EXPECT_EQ(unsupported(call, 2, version_code(2, 24), 80), "");
  EXPECT_EQ(unsupported({.type = DataType::bfloat16}, 1, kOldest, 80), "");
  EXPECT_THAT(unsupported({.operation = Operation::all_to_all, .in_place = true}, 2, kOldest, 90),
              HasSubstr("all-to-all in place"));
}

TEST(NcclLaunch, OneRankAloneHasNoScaledSumOfEightBits) {
  for (const Reduction reduction : {Reduction::avg, Reduction::mulsum}) {
    const Call call{.type = DataType::f8e5m2, .reduction = reduction};
    EXPECT_THAT(unsupported(call, 1, version_code(2, 30, 7), 90), HasSubstr("with one rank"));
    EXPECT_EQ(unsupported(call, 2, version_code(2, 30, 7), 90), "");
    const Call half{.type = DataType::half, .reduction = reduction};
    EXPECT_EQ(unsupported(half, 1, version_code(2, 30, 7), 90), "");
  }
  EXPECT_EQ(unsupported({.type = DataType::f8e5m2}, 1, version_code(2, 30, 7), 90), "");
}

TEST(NcclLaunch, OneAndTwoInEveryType) {
  EXPECT_EQ(scalar_bits(DataType::int8, 2), 2U);
  EXPECT_EQ(scalar_bits(DataType::uint64, 1), 1U);
  EXPECT_EQ(scalar_bits(DataType::half, 1), 0x3c00U);
  EXPECT_EQ(scalar_bits(DataType::half, 2), 0x4000U);
  EXPECT_EQ(scalar_bits(DataType::bfloat16, 1), 0x3f80U);
  const std::uint64_t bits = scalar_bits(DataType::float64, 2);
  double two = 0;
  std::memcpy(&two, &bits, sizeof two);
  EXPECT_EQ(two, 2.0);
}

TEST(NcclLaunch, TypesAndReductionsHaveNcclsNumbers) {
  EXPECT_EQ(type_of(DataType::int8), 0);
  EXPECT_EQ(type_of(DataType::float32), 7);
  EXPECT_EQ(type_of(DataType::f8e5m2), 11);
  EXPECT_EQ(red_op_of(Reduction::min), kMin);
  EXPECT_EQ(red_op_of(Reduction::max), kMax);
  EXPECT_EQ(red_op_of(Reduction::avg), kAvg);
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
