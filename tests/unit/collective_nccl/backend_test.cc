// Every operation, type and reduction through the back end, over the fake libraries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "ranks.h"

namespace rdmabench::inline v1::collective::nccl {
namespace {

using testing::HasSubstr;

/// Rank r's input is r + 1 everywhere, times 1 or 2 by the block for whom it is.
double input(std::uint32_t rank, std::uint64_t block) {
  return static_cast<double>((rank + 1) * (1 + block % 2));
}

std::vector<std::byte> filled(DataType type, std::uint64_t count, double value) {
  std::vector<std::byte> out;
  const std::vector<std::byte> one = bytes_of_value(type, value);
  for (std::uint64_t i = 0; i < count; ++i) out.insert(out.end(), one.begin(), one.end());
  return out;
}

void append(std::vector<std::byte>& out, const std::vector<std::byte>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

double reduced(Reduction reduction, std::uint32_t size, std::uint64_t block, bool integer) {
  double total = input(0, block) * (reduction == Reduction::mulsum ? mulsum_scalar(0) : 1);
  for (std::uint32_t rank = 1; rank < size; ++rank) {
    const double more = input(rank, block);
    switch (reduction) {
      case Reduction::prod:
        total *= more;
        break;
      case Reduction::min:
        total = std::min(total, more);
        break;
      case Reduction::max:
        total = std::max(total, more);
        break;
      case Reduction::mulsum:
        total += more * mulsum_scalar(rank);
        break;
      case Reduction::sum:
      case Reduction::avg:
        total += more;
    }
  }
  if (reduction != Reduction::avg) return total;
  return integer ? std::trunc(total / size) : total / size;
}

/// This rank's input, and what its result must be.
struct Expected {
  std::vector<std::byte> input;
  std::vector<std::byte> result;
};

Expected expected(const Call& call, Team team) {
  Expected out;
  const DataType type = call.type;
  const std::uint64_t n = call.count;
  const auto value = [&](std::uint32_t from, std::uint64_t block) {
    return filled(type, n, input(from, block));
  };
  const auto total = [&](std::uint64_t block) {
    return filled(type, n, reduced(call.reduction, team.size, block, is_integer(type)));
  };
  const bool root = team.rank == call.root;
  switch (call.operation) {
    case Operation::all_reduce:
      return {value(team.rank, 0), total(0)};
    case Operation::reduce:
      return {value(team.rank, 0), root ? total(0) : out.result};
    case Operation::broadcast:
      return {root ? value(team.rank, 0) : out.input, value(call.root, 0)};
    case Operation::send_receive:
      return {value(team.rank, 0), value((team.rank + team.size - 1) % team.size, 0)};
    default:
      break;
  }
  for (std::uint32_t peer = 0; peer < team.size; ++peer) {
    switch (call.operation) {
      case Operation::all_gather:
        append(out.result, value(peer, 0));
        break;
      case Operation::gather:
        if (root) append(out.result, value(peer, 0));
        break;
      case Operation::reduce_scatter:
        append(out.input, value(team.rank, peer));
        break;
      case Operation::scatter:
        if (root) append(out.input, value(team.rank, peer));
        break;
      case Operation::all_to_all:
        append(out.input, value(team.rank, peer));
        append(out.result, value(peer, team.rank));
        break;
      case Operation::all_to_all_v:
        append(out.input,
               filled(type, count_between(call, team.rank, peer), input(team.rank, peer)));
        append(out.result,
               filled(type, count_between(call, peer, team.rank), input(peer, team.rank)));
        break;
      default:
        break;
    }
  }
  if (call.operation == Operation::all_gather || call.operation == Operation::gather) {
    out.input = value(team.rank, 0);
  } else if (call.operation == Operation::reduce_scatter) {
    out.result = total(team.rank);
  } else if (call.operation == Operation::scatter) {
    out.result = value(call.root, team.rank);
  }
  return out;
}

/// Prepares, writes, runs and reads two slots; "" or what was wrong.
std::string try_call(NcclBackend& backend, Team team, const Call& call, std::uint32_t slots = 2) {
  if (const std::string why = backend.unsupported(call, team.size); !why.empty()) return why;
  const std::string name = fmt::format(
      "{} {} {} in_place={} rank {}", collective::name(call.operation), collective::name(call.type),
      collective::name(call.reduction), call.in_place, team.rank);
  backend.prepare(call, slots, 1, soon());
  const Layout layout = backend.layout(call);
  const Expected wanted = expected(call, team);
  if (layout.send_bytes != wanted.input.size() || layout.receive_bytes != wanted.result.size()) {
    return name + ": the layout has other sizes";
  }
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const Stretch input{.slot = slot,
                        .offset = layout.send_offset,
                        .bytes = layout.send_bytes,
                        .period = wanted.input};
    if (!wanted.input.empty()) backend.write(std::span(&input, 1), soon());
  }
  if (const std::string error = run_slots(backend, slots); !error.empty()) {
    return name + ": " + error;
  }
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    std::vector<std::byte> result(wanted.result.size());
    backend.read(SlotBuffer::receive, slot, layout.receive_offset, result, soon());
    if (result != wanted.result) return fmt::format("{}: wrong in slot {}", name, slot);
  }
  return "";
}

void require(const std::string& error) {
  if (!error.empty()) throw std::runtime_error(error);
}

std::vector<Call> all_operations() {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < kOperations; ++i) {
    for (const bool in_place : {false, true}) {
      const auto operation = static_cast<Operation>(i);
      const bool many = operation == Operation::all_to_all ||
                        operation == Operation::all_to_all_v ||
                        operation == Operation::send_receive;
      if (in_place && many) continue;
      Call call;
      call.operation = operation;
      call.in_place = in_place;
      call.count = 37;
      call.root = 1;
      calls.push_back(call);
    }
  }
  return calls;
}

/// Every operation in and out of place; "" or what was wrong.
std::string do_all(std::uint32_t size, const NcclOptions& options, std::uint32_t slots = 2) {
  return run_ranks(size, options, [&](NcclBackend& backend, Team team) {
    for (const Call& call : all_operations()) require(try_call(backend, team, call, slots));
    backend.close(soon());
  });
}

TEST(NcclBackend, DoesEveryOperationInAndOutOfPlace) {
  for (const std::uint32_t size : {2U, 3U}) {
    EXPECT_EQ(do_all(size, {}), "");
  }
}

TEST(NcclBackend, DoesEveryTypeAndReduction) {
  EXPECT_EQ(run_ranks(4, {},
                      [](NcclBackend& backend, Team team) {
                        for (std::size_t type = 0; type < kDataTypes; ++type) {
                          for (std::size_t reduction = 0; reduction < kReductions; ++reduction) {
                            Call call;
                            call.type = static_cast<DataType>(type);
                            call.reduction = static_cast<Reduction>(reduction);
                            call.count = 5;
                            require(try_call(backend, team, call, 1));
                          }
                        }
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, LaunchesGraphsAgainAndAgain) {
  NcclOptions options;
  options.graph = true;
  EXPECT_EQ(run_ranks(2, options,
                      [](NcclBackend& backend, Team team) {
                        for (const Call& call : all_operations()) {
                          require(try_call(backend, team, call));
                        }
                        Call call;
                        call.count = 9;
                        require(try_call(backend, team, call));
                        for (int i = 0; i < 3; ++i) require(run_slots(backend, 2));
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, TheOperationsOfABatchAreOneGraph) {
  NcclOptions options;
  options.graph = true;
  EXPECT_EQ(run_ranks(1, options,
                      [](NcclBackend& backend, Team) {
                        const auto graphs = [] { return alive_in_the_driver("graph_exec"); };
                        Call call;
                        backend.prepare(call, 8, 4, soon());
                        EXPECT_EQ(graphs(), 2);
                        for (const std::uint32_t slot : {0U, 4U}) {
                          require(backend.start(slot, 4) ? "" : backend.failure());
                        }
                        while (backend.test() == Progress::again) std::this_thread::yield();
                        backend.prepare(call, 2, 4, soon());  // they share two places
                        EXPECT_EQ(graphs(), 1);
                        require(backend.start(0, 4) ? "" : backend.failure());
                        while (backend.test() == Progress::again) std::this_thread::yield();
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, LaunchesTheSameGraphSoManyTimesInABatch) {
  const auto calls = in_the_driver<int(const char*)>("fake_cuda_calls");
  reset_the_driver();
  NcclOptions options;
  options.graph = true;
  options.graph_operations = 4;
  options.plain_calls = 3;
  EXPECT_EQ(run_ranks(1, options,
                      [&](NcclBackend& backend, Team) {
                        backend.prepare(Call{}, 2, 20, soon());
                        EXPECT_EQ(alive_in_the_driver("graph_exec"), 1);
                        EXPECT_EQ(calls("cuGraphLaunch"), 0);
                        require(backend.start(0, 20) ? "" : backend.failure());
                        EXPECT_EQ(calls("cuGraphLaunch"), 5) << "without a wait between them";
                        while (backend.test() == Progress::again) std::this_thread::yield();
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, RegistersItsBuffersEitherWay) {
  for (const Registration how : {Registration::local, Registration::symmetric}) {
    NcclOptions options;
    options.registration = how;
    EXPECT_EQ(do_all(2, options), "");
  }
}

TEST(NcclBackend, WorksOffABoundary) {
  NcclOptions options;
  options.misalign = 3;
  EXPECT_EQ(do_all(2, options), "");
}

TEST(NcclBackend, WaitsForACallThatIsInProgressBeforeTheNext) {
  const Setting slow("FAKE_NCCL_SLOW_ENQUEUE", "1");
  for (const bool graph : {false, true}) {
    NcclOptions options;
    options.graph = graph;
    options.non_blocking = true;
    EXPECT_EQ(do_all(2, options, 4), "");
  }
}

TEST(NcclBackend, WithoutKernelsTheCpuWritesAndCompares) {
  const std::shared_ptr<void> afterwards(nullptr, [](void*) { reset_the_driver(); });
  const Setting old("FAKE_CUDA_JIT", "209");  // as compute capability 7.0 gives
  reset_the_driver();
  EXPECT_EQ(do_all(2, {}), "");
  EXPECT_EQ(run_ranks(1, {},
                      [](NcclBackend& backend, Team) {
                        backend.prepare(Call{.count = 4}, 2, 1, soon());
                        const std::vector<std::byte> ones(16, std::byte{1});
                        const std::vector<Stretch> both{
                            {.slot = 0, .offset = 0, .bytes = 16, .period = ones},
                            {.slot = 1, .offset = 0, .bytes = 16, .period = ones}};
                        backend.write(std::span(both).last(1), soon());
                        if (backend.find_different(both, soon()) != std::vector<std::size_t>{0}) {
                          throw std::runtime_error("other stretches differ");
                        }
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, OneRankAlone) {
  EXPECT_EQ(run_ranks(1, {},
                      [](NcclBackend& backend, Team team) {
                        Call call;
                        call.count = 4;
                        require(try_call(backend, team, call));
                        backend.close(soon());
                      }),
            "");
}

TEST(NcclBackend, TellsWhatItKnows) {
  EXPECT_EQ(run_ranks(2, {},
                      [](NcclBackend& backend, Team team) {
                        require(try_call(backend, team, Call{}));
                        bool version = false;
                        for (const report::Fact& fact : backend.facts()) {
                          version = version || (fact.name == "library" &&
                                                std::get<std::string>(fact.value) == "NCCL 2.28.9");
                        }
                        if (!version) throw std::runtime_error("no version");
                        bool call = false;
                        for (const report::Fact& fact : backend.call_facts()) {
                          call = call || (fact.name == "call" &&
                                          std::get<std::string>(fact.value) == "ncclAllReduce");
                        }
                        if (!call) throw std::runtime_error("no call");
                        backend.close(soon());
                      }),
            "");
}

}  // namespace
}  // namespace rdmabench::inline v1::collective::nccl
