// Judging a slice: which links, ends, rails and routes are suspect, what the confirming
// measurements show, and which parts fail.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attribution_fit.h"
#include "paths.h"

namespace rdmabench::inline v1::fabric {

enum class State : std::uint8_t { open, confirmed, withdrawn };

/// What the confirming measurements show of a suspicion.
struct Test {
  double effect = 0;
  double score = 0;
  double screened = 0;  ///< the effect in the screening alone
  std::uint32_t cells = 0;
  std::uint32_t partners = 0;
};

/// A direction of a node, on one rail or on all alike.
struct EndSuspect {
  Direction direction = Direction::sending;
  std::uint32_t node = 0;
  std::optional<std::uint32_t> rail;
  double effect = 0;  ///< of the screening; of screening and test together once there is a test
  double score = 0;
  std::uint32_t cells = 0;
  State state = State::open;
  Test test = {};
};

struct RailSuspect {
  std::uint32_t rail = 0;
  std::uint32_t reference = 0;  ///< the rail that it is compared with
  double effect = 0;
  double score = 0;
  State state = State::open;
  Test test = {};
};

struct RouteSuspect {
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  std::uint32_t rail = 0;
  double effect = 0;  ///< the residual: what the ends do not explain
  double score = 0;
  State state = State::open;
  Test test = {};          ///< the same pair again: one cell for each round
  double from = 0;         ///< the sender's other pairs in the square test, against the model
  double to = 0;           ///< the receiver's
  std::uint32_t legs = 0;  ///< of the two, those that are not slow
  double chance = 1;       ///< that one of the suspects is slow so often by chance
};

/// Ports of a rail and direction that fall into two groups, neither of which is a clear majority.
struct TwoGroups {
  Direction direction = Direction::sending;
  std::uint32_t rail = 0;
  double ratio = 1;  ///< of the slower group to the other
  std::vector<std::uint32_t> slower;
  std::uint32_t others = 0;
};

std::vector<TwoGroups> two_groups(const Slice& slice);

/// Which directions of nodes stand out. Those that `groups` says are ambiguous are not judged.
std::vector<EndSuspect> suspect_ends(const Slice& slice, const Fit& fit,
                                     const std::vector<TwoGroups>& groups);

/// Decides the suspects that have confirming cells with two partners or more. Cells over suspect
/// `routes` do not count.
void test_ends(const Slice& slice, const Fit& fit, const std::vector<RouteSuspect>& routes,
               std::vector<EndSuspect>& suspects);

std::vector<RailSuspect> suspect_rails(const Slice& slice, const Fit& fit);
void test_rails(const Slice& slice, const Fit& fit, std::vector<RailSuspect>& suspects);

std::vector<RouteSuspect> suspect_routes(const Slice& slice, const Fit& fit);
void test_routes(const Slice& slice, const Fit& fit, std::vector<RouteSuspect>& suspects);
/// How many are slow, once or again, where these are too many to be bad routes; else 0.
std::size_t too_many_routes(const Slice& slice, const std::vector<RouteSuspect>& suspects);

/// -log of the smallest effect that counts: 0.03 -> log(0.97), a negative number.
double least(double effect);

/// Robust standard deviations of a low effect, between 0 and 1e6.
double score_of(double effect, double standard_error);

/// A part that measurements which failed are blamed on.
struct Failing {
  Part part = Part::node;
  std::uint32_t a = 0;
  std::optional<std::uint32_t> b;
  std::optional<std::uint32_t> rail;
  std::uint32_t failed = 0;
  std::uint32_t tried = 0;
  std::uint32_t partners = 0;  ///< distinct partners of failed measurements
  std::string error;           ///< the first error
};

/// Blames the node, direction or node's rail most of whose measurements failed, removes these
/// measurements and repeats; the remaining failures are blamed on routes.
std::vector<Failing> failing_parts(const Slice& slice);

/// Finds the links, cables and switches by which the slow cells of a slice are explained, adds them
/// to `out`, and takes their effect out of the cells, so that the ends of those cells are judged by
/// what is left. Takes out too what pairs differ by the number of switches between them.
void judge_links(Slice& slice, const Paths& paths, Attribution& out);

/// How often each direction of a link between switches was crossed by the measured pairs.
Crossed crossed_links(const Matrix& matrix, const Paths& paths, Attribution& out);

}  // namespace rdmabench::inline v1::fabric
