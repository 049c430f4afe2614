#include "collective/inputs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "collective/arithmetic.h"

namespace rdmabench::inline v1::collective {
namespace {

/// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), mix64.
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebU;
  return x ^ x >> 31U;
}

/// All integers up to it, of either sign, are exact in the type.
std::uint64_t exact_integers(DataType type) noexcept {
  constexpr std::uint32_t kMost = 1U << 30U;
  constexpr std::array<std::uint32_t, kDataTypes> kIntegers{
      127, 255, kMost, kMost, kMost, kMost, 2048, 1U << 24U, kMost, 256, 16, 8};
  return kIntegers[static_cast<std::size_t>(type)];
}

/// Which ranks contribute what to one element.
struct Sum {
  std::uint32_t from = 0;       ///< the first rank that adds; the following ones wrap around
  std::uint32_t adding = 0;     ///< how many ranks add; the others contribute 0
  std::uint64_t magnitude = 1;  ///< largest absolute value of a summand
  bool alike = false;           ///< all add the same value
  bool cancels = false;         ///< two ranks add values that cancel
  std::uint64_t hash = 0;
};

constexpr std::uint64_t kLargest = 1000;  // larger inputs detect no more errors

Sum plan_sum(const Call& call, std::uint32_t ranks, std::uint64_t hash) noexcept {
  std::uint64_t budget = exact_integers(call.type);
  if (call.reduction == Reduction::mulsum) budget /= 2;
  Sum sum{.from = static_cast<std::uint32_t>(hash % ranks),
          // Half of the budget, so that a summand may be 2: with only 1 all results were the same.
          .adding = static_cast<std::uint32_t>(std::min<std::uint64_t>(ranks, budget / 2)),
          .hash = hash >> 20U};
  if (call.reduction == Reduction::avg) {
    // The sum must be divisible by the odd part of the number of ranks; halving is always exact.
    const std::uint32_t divisor =
        is_integer(call.type) ? ranks : ranks >> static_cast<unsigned>(std::countr_zero(ranks));
    sum.adding = sum.adding / divisor * divisor;
    sum.alike = true;
    if (sum.adding == 0) {
      sum.adding = 2;
      sum.cancels = is_signed(call.type);
      if (!sum.cancels) sum.adding = 0;
    }
  }
  if (sum.adding != 0) {
    sum.magnitude = std::clamp<std::uint64_t>(budget / sum.adding, 1, kLargest);
  }
  return sum;
}

double summand(const Call& call, std::uint32_t ranks, std::uint32_t rank,
               std::uint64_t hash) noexcept {
  const Sum sum = plan_sum(call, ranks, hash);
  const std::uint32_t place = (rank + ranks - sum.from) % ranks;
  if (place >= sum.adding) return 0;
  const std::uint64_t own = sum.alike ? sum.hash : mix(sum.hash + rank);
  const auto value = static_cast<double>(1 + own % sum.magnitude);
  const bool negative = sum.cancels ? place == 1 : is_signed(call.type) && (own >> 32U & 1U) != 0;
  return negative ? -value : value;
}

/// 2 from a few ranks, 1 from the others, of either sign.
double factor(const Call& call, std::uint32_t ranks, std::uint32_t rank,
              std::uint64_t hash) noexcept {
  constexpr std::uint32_t kTwos = 6;  // 2^6 = 64 is exact in every type
  const std::uint32_t place = (rank + ranks - static_cast<std::uint32_t>(hash % ranks)) % ranks;
  const std::uint32_t twos = 1 + static_cast<std::uint32_t>((hash >> 20U) % kTwos);
  const double value = place < std::min(ranks, twos) ? 2 : 1;
  return is_signed(call.type) && (mix(hash + rank) & 1U) != 0 ? -value : value;
}

double extreme(const Call& call, std::uint32_t rank, std::uint64_t hash) noexcept {
  const std::uint64_t most = std::min<std::uint64_t>(exact_integers(call.type), 100);
  const std::uint64_t own = mix(hash + rank);
  if (!is_signed(call.type)) return static_cast<double>(own % (2 * most));
  return static_cast<double>(own % (2 * most + 1)) - static_cast<double>(most);
}

double input_value(const Call& call, std::uint32_t ranks, std::uint32_t rank,
                   std::uint64_t hash) noexcept {
  switch (call.reduction) {
    case Reduction::prod:
      return factor(call, ranks, rank, hash);
    case Reduction::min:
    case Reduction::max:
      return extreme(call, rank, hash);
    default:
      return summand(call, ranks, rank, hash);
  }
}

double reduced_value(const Call& call, std::uint32_t ranks, std::uint64_t hash) noexcept {
  double all = input_value(call, ranks, 0, hash);
  if (call.reduction == Reduction::mulsum) all *= mulsum_scalar(0);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const double one = input_value(call, ranks, rank, hash);
    switch (call.reduction) {
      case Reduction::prod:
        all *= one;
        break;
      case Reduction::min:
        all = std::min(all, one);
        break;
      case Reduction::max:
        all = std::max(all, one);
        break;
      case Reduction::mulsum:
        all += one * mulsum_scalar(rank);
        break;
      default:
        all += one;
    }
  }
  return call.reduction == Reduction::avg ? all / ranks : all;
}

std::uint64_t hash_of(std::uint64_t iteration, std::uint64_t element) noexcept {
  return mix(mix(iteration) + element % kPeriod);
}

/// Generates at most one period; the rest is copied.
template <class MakeOne>
void make(DataType type, std::uint64_t first, std::span<std::byte> out, MakeOne make_one) {
  const std::size_t element = bytes_of(type);
  const std::size_t period = std::min<std::size_t>(out.size(), kPeriod * element);
  for (std::size_t at = 0; at < period; at += element) {
    make_one(first + at / element, out.data() + at);
  }
  for (std::size_t done = period; done < out.size();) {
    const std::size_t part = std::min(done, out.size() - done);  // a whole number of periods
    std::memcpy(out.data() + done, out.data(), part);
    done += part;
  }
}

}  // namespace

void encode(DataType type, double value, std::byte* at) noexcept {
  with_type(type, [&](auto arithmetic) {
    using Type = decltype(arithmetic);
    const typename Type::Bits bits = Type::store(static_cast<typename Type::Value>(value));
    std::memcpy(at, &bits, sizeof bits);
  });
}

void make_input(const Call& call, std::uint32_t ranks, std::uint32_t rank, std::uint64_t iteration,
                std::uint64_t first, std::span<std::byte> out) {
  if (reduces(call.operation)) {
    make(call.type, first, out, [&](std::uint64_t element, std::byte* at) {
      encode(call.type, input_value(call, ranks, rank, hash_of(iteration, element)), at);
    });
    return;
  }
  const std::size_t element_bytes = bytes_of(call.type);
  make(call.type, first, out, [&](std::uint64_t element, std::byte* at) {
    const std::uint64_t bits = mix(hash_of(iteration, element) + rank);
    std::memcpy(at, &bits, element_bytes);
  });
}

void make_reduced(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                  std::uint64_t first, std::span<std::byte> out) {
  make(call.type, first, out, [&](std::uint64_t element, std::byte* at) {
    encode(call.type, reduced_value(call, ranks, hash_of(iteration, element)), at);
  });
}

std::uint32_t tolerance_ulp(const Call& call, std::uint32_t ranks) noexcept {
  const bool loose = reduces(call.operation) && call.reduction == Reduction::avg &&
                     !is_integer(call.type) && !std::has_single_bit(ranks);
  return loose ? 2 : 0;
}

std::vector<Segment> segments(const Call& call, Team team) {
  const std::uint64_t element = bytes_of(call.type);
  const std::uint64_t part = call.count * element;
  const std::uint64_t own = call.count * team.rank;
  const bool at_root = team.rank == call.root;
  const auto from_all = [&](std::uint64_t first) {
    std::vector<Segment> list;
    for (std::uint32_t rank = 0; rank < team.size; ++rank) {
      list.push_back({.offset = rank * part, .bytes = part, .source = rank, .first = first});
    }
    return list;
  };
  switch (call.operation) {
    case Operation::all_reduce:
      return {{.bytes = part, .reduced = true}};
    case Operation::reduce:
      if (!at_root) return {};
      return {{.bytes = part, .reduced = true}};
    case Operation::reduce_scatter:
      return {{.bytes = part, .reduced = true, .first = own}};
    case Operation::broadcast:
      return {{.bytes = part, .source = call.root}};
    case Operation::scatter:
      return {{.bytes = part, .source = call.root, .first = own}};
    case Operation::send_receive:
      return {{.bytes = part, .source = (team.rank + team.size - 1) % team.size}};
    case Operation::all_gather:
      return from_all(0);
    case Operation::gather:
      return at_root ? from_all(0) : std::vector<Segment>{};
    case Operation::all_to_all:
      return from_all(own);
    case Operation::all_to_all_v:
      break;
  }
  std::vector<Segment> list;
  const Parts received = parts_received(call, team);
  for (std::uint32_t rank = 0; rank < team.size; ++rank) {
    const Parts sent = parts_sent(call, {.rank = rank, .size = team.size});
    list.push_back({.offset = received.offsets[rank] * element,
                    .bytes = received.counts[rank] * element,
                    .source = rank,
                    .first = sent.offsets[team.rank]});
  }
  return list;
}

void make_expected(const Call& call, std::uint32_t ranks, std::uint64_t iteration,
                   const Segment& segment, std::span<std::byte> out) {
  if (segment.reduced) {
    make_reduced(call, ranks, iteration, segment.first, out);
  } else {
    make_input(call, ranks, segment.source, iteration, segment.first, out);
  }
}

bool make_result(const Call& call, Team team, std::uint64_t iteration, std::uint64_t offset,
                 std::span<std::byte> out) {
  const std::uint32_t element = bytes_of(call.type);
  std::uint64_t made = 0;
  std::vector<std::byte> whole;
  for (const Segment& segment : segments(call, team)) {
    const std::uint64_t at = offset + made;
    if (made == out.size() || at < segment.offset || at >= segment.offset + segment.bytes) continue;
    const std::uint64_t skipped = at - segment.offset;
    const std::uint64_t part = std::min(out.size() - made, segment.bytes - skipped);
    Segment here = segment;
    here.first += skipped / element;
    const std::uint64_t off = skipped % element;
    whole.resize((off + part + element - 1) / element * element);
    make_expected(call, team.size, iteration, here, whole);
    std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(off), part,
                out.begin() + static_cast<std::ptrdiff_t>(made));
    made += part;
  }
  return made == out.size();
}

}  // namespace rdmabench::inline v1::collective
