#include "rdmabench/collective/call.h"

#include <algorithm>

namespace rdmabench::collective {
namespace {

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

bool is_of_all_ranks(Operation operation) noexcept {
  switch (operation) {
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::gather:
    case Operation::scatter:
      return true;
    default:
      return false;
  }
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
  const bool at_root = team.rank == call.root;
  switch (call.operation) {
    case Operation::all_gather:
      layout.send_offset = own;
      break;
    case Operation::gather:
      if (at_root) layout.send_offset = own;
      break;
    case Operation::reduce_scatter:
      layout.receive_offset = own;
      break;
    case Operation::scatter:
      if (at_root) layout.receive_offset = own;
      break;
    default:
      break;
  }
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
  switch (operation) {
    case Operation::all_reduce:
      return 2 * (n - 1) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
    case Operation::all_to_all_v:
    case Operation::gather:
    case Operation::scatter:
      return (n - 1) / n;
    case Operation::broadcast:
    case Operation::reduce:
    case Operation::send_receive:
      return 1;
  }
  return 1;
}

}  // namespace rdmabench::collective
