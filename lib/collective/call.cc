#include "rdmabench/collective/call.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/text.h"
#include "rdmabench/collective/engines.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::array<std::string_view, kOperations> kOperationNames = {
    "all-reduce", "all-gather",   "reduce-scatter", "broadcast", "reduce",
    "all-to-all", "all-to-all-v", "gather",         "scatter",   "send-receive"};
constexpr std::array<std::string_view, kDataTypes> kTypeNames = {
    "int8", "uint8",   "int32",   "uint32",   "int64",  "uint64",
    "half", "float32", "float64", "bfloat16", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, kReductions> kReductionNames = {"sum", "prod", "min",
                                                                       "max", "avg",  "mulsum"};

constexpr std::array<std::string_view, 3> kRegistrationNames{"none", "local", "symmetric"};

/// The counts of all_to_all_v repeat every four ranks; the sums of rows and columns differ.
constexpr std::uint32_t kCountPeriod = 4;

std::uint64_t quarters(std::uint64_t count, std::uint32_t from, std::uint32_t to) noexcept {
  const std::uint64_t k = kCountPeriod - (from + 2 * to) % kCountPeriod;
  return count / kCountPeriod * k + (count % kCountPeriod * k + kCountPeriod - 1) / kCountPeriod;
}

/// How many of the ranks 0..ranks-1 have this remainder modulo the period.
std::uint64_t ranks_with(std::uint32_t remainder, std::uint32_t ranks) noexcept {
  return ranks > remainder ? (ranks - remainder - 1) / kCountPeriod + 1 : 0;
}

/// The most elements that a rank sends, or receives, in an all_to_all_v.
std::uint64_t most_elements(std::uint64_t count, std::uint32_t ranks) noexcept {
  std::uint64_t most = 0;
  for (std::uint32_t one = 0; one < std::min(ranks, kCountPeriod); ++one) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (std::uint32_t other = 0; other < kCountPeriod; ++other) {
      sent += ranks_with(other, ranks) * quarters(count, one, other);
      received += ranks_with(other, ranks) * quarters(count, other, one);
    }
    most = std::max({most, sent, received});
  }
  return most;
}

template <class CountOf>
Parts parts(std::uint32_t ranks, CountOf count_of) {
  Parts parts;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    parts.offsets.push_back(parts.total);
    parts.counts.push_back(count_of(rank));
    parts.total += parts.counts.back();
  }
  return parts;
}

/// Bytes of input and of result, wherever they lie.
Layout sizes(const Call& call, Team team) {
  const std::uint64_t part = call.count * bytes_of(call.type);
  const std::uint64_t all = part * team.size;
  const bool at_root = team.rank == call.root;
  switch (call.operation) {
    case Operation::all_reduce:
    case Operation::send_receive:
      return {.send_bytes = part, .receive_bytes = part};
    case Operation::broadcast:
      return {.send_bytes = at_root ? part : 0, .receive_bytes = part};
    case Operation::reduce:
      return {.send_bytes = part, .receive_bytes = at_root ? part : 0};
    case Operation::all_gather:
      return {.send_bytes = part, .receive_bytes = all};
    case Operation::gather:
      return {.send_bytes = part, .receive_bytes = at_root ? all : 0};
    case Operation::reduce_scatter:
      return {.send_bytes = all, .receive_bytes = part};
    case Operation::scatter:
      return {.send_bytes = at_root ? all : 0, .receive_bytes = part};
    case Operation::all_to_all:
      return {.send_bytes = all, .receive_bytes = all};
    case Operation::all_to_all_v:
      return {.send_bytes = parts_sent(call, team).total * bytes_of(call.type),
              .receive_bytes = parts_received(call, team).total * bytes_of(call.type)};
  }
  return {};
}

}  // namespace

std::string_view name(Operation operation) noexcept {
  return kOperationNames[static_cast<std::size_t>(operation)];
}
std::string_view name(DataType type) noexcept {
  return kTypeNames[static_cast<std::size_t>(type)];
}
std::string_view name(Reduction reduction) noexcept {
  return kReductionNames[static_cast<std::size_t>(reduction)];
}

Operation parse_operation(std::string_view text) {
  // MPI's and NCCL's names: allreduce, all_reduce, AllReduce.
  const auto plain = [](std::string_view word) {
    std::string letters = lower(word);
    std::erase_if(letters, [](char c) { return c == '-' || c == '_'; });
    return letters;
  };
  for (const std::string_view known : kOperationNames) {
    if (plain(known) == plain(text)) text = known;
  }
  return value_of_word<Operation>("operation", text, kOperationNames);
}

DataType parse_type(std::string_view text) {
  if (text == "float") return DataType::float32;
  if (text == "double") return DataType::float64;
  return value_of_word<DataType>("type", text, kTypeNames);
}

Reduction parse_reduction(std::string_view text) {
  return value_of_word<Reduction>("reduction", text, kReductionNames);
}

std::string_view name(Registration registration) noexcept {
  return kRegistrationNames[static_cast<std::size_t>(registration)];
}

Registration parse_registration(std::string_view text) {
  return value_of_word<Registration>("`registration`", text, kRegistrationNames);
}

bool is_of_all_ranks(Operation operation) noexcept {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter ||
         operation == Operation::all_to_all || operation == Operation::gather ||
         operation == Operation::scatter;
}

std::uint64_t count_between(const Call& call, std::uint32_t from, std::uint32_t to) noexcept {
  return quarters(call.count, from, to);
}

Parts parts_sent(const Call& call, Team team) {
  return parts(team.size, [&](std::uint32_t to) { return count_between(call, team.rank, to); });
}

Parts parts_received(const Call& call, Team team) {
  return parts(team.size, [&](std::uint32_t from) { return count_between(call, from, team.rank); });
}

Layout nccl_layout(const Call& call, Team team) {
  Layout layout = sizes(call, team);
  if (!call.in_place) return layout;
  layout.in_place = true;
  const std::uint64_t own = call.count * bytes_of(call.type) * team.rank;
  const auto is = [&](Operation all, Operation rooted) {
    return call.operation == all || (call.operation == rooted && team.rank == call.root);
  };
  if (is(Operation::all_gather, Operation::gather)) layout.send_offset = own;
  if (is(Operation::reduce_scatter, Operation::scatter)) layout.receive_offset = own;
  return layout;
}

std::uint64_t size_bytes(const Call& call, std::uint32_t ranks) {
  const std::uint64_t element = bytes_of(call.type);
  if (call.operation == Operation::all_to_all_v) return most_elements(call.count, ranks) * element;
  return call.count * element * (is_of_all_ranks(call.operation) ? ranks : 1);
}

std::uint64_t count_for(Operation operation, DataType type, std::uint64_t bytes,
                        std::uint32_t ranks) {
  const std::uint64_t elements = bytes / bytes_of(type);
  if (operation != Operation::all_to_all_v) {
    return std::max<std::uint64_t>(1, elements / (is_of_all_ranks(operation) ? ranks : 1));
  }
  // The size grows with the count: find the largest count that fits.
  std::uint64_t low = 1;
  std::uint64_t high = std::max<std::uint64_t>(1, elements / ranks * kCountPeriod + kCountPeriod);
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    if (most_elements(middle, ranks) <= elements) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

double bus_factor(Operation operation, std::uint32_t ranks) noexcept {
  const double n = ranks;
  if (operation == Operation::all_reduce) return 2 * (n - 1) / n;
  const bool parts = is_of_all_ranks(operation) || operation == Operation::all_to_all_v;
  return parts ? (n - 1) / n : 1;
}

}  // namespace rdmabench::inline v1::collective
