// Which pairs are measured, and which at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1::fabric {

/// full         every pair: perfect matchings by the circle method, N - 1 rounds (N for an odd N)
/// random       some of those rounds, chosen at random: enough to find bad nodes
/// one_to_many  every node in turn sends to all others at once
/// many_to_one  all others send to every node in turn: an incast
/// bisection    the lower half against the upper half, all at once
enum class Pattern : std::uint8_t { full, random, one_to_many, many_to_one, bisection };

inline constexpr std::array<std::string_view, 5> kPatternNames{"full", "random", "one-to-many",
                                                               "many-to-one", "bisection"};

/// Throws Error(usage) that lists the names.
Pattern parse_pattern(std::string_view text);

/// The sender measures against the receiver, on all rails together.
struct Pair {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;

  bool operator==(const Pair&) const = default;
};

/// Pairs that are measured at the same time.
using Step = std::vector<Pair>;

/// One step after the other. A round of matchings has two, one for each direction of its pairs.
struct Round {
  std::string pattern{};  ///< as in Measurement
  std::vector<Step> steps{};
};

/// How many pairs one node may serve, or measure, at once; more are put into another step.
inline constexpr std::uint32_t kMaxFan = 64;

/// The rounds of a run over nodes 0 .. nodes - 1. `rounds` = 0 is all that the pattern has: N - 1
/// (N if odd) for full and random, N for the two fans, 1 for a bisection; a larger number is cut to
/// what there is (N / 2 shifts of a bisection).
///
/// `seed` draws the order of the rounds: in the order of ranks a drift in time would look like
/// distance. The same arguments give the same rounds. With an odd number one node is idle in each
/// round of pairs. Pure. Throws Error(usage) unless 2 <= nodes <= kMaxNodes.
std::vector<Round> schedule(Pattern pattern, std::uint32_t nodes, std::uint32_t rounds,
                            std::uint64_t seed);

}  // namespace rdmabench::inline v1::fabric
