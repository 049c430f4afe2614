// From a launcher's processes to ranks that can talk.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rdmabench/collective/rank_group.h"
#include "rdmabench/control/rendezvous.h"

namespace rdmabench::collective {

struct AssembledGroup {
  /// Over by now. But where this is PMIx, a library that is a client of it as well (MPI) can only
  /// join while it lives: a process cannot be a client twice in turn. Others let go of it.
  std::unique_ptr<control::Rendezvous> rendezvous;
  std::unique_ptr<RankGroup> group;
  control::Place place{};
};

/// Finds this process's rank and meets the others, who all call it. A size of 1 in the options
/// needs no rank.
///
/// Throws Error as make_rendezvous() and RankGroup do; Error(usage) where the launcher's variables
/// say more than one rank and what was believed says one: every process would measure itself.
/// `environment` is getenv(3).
AssembledGroup assemble(control::RendezvousOptions options, const HeartbeatOptions& heartbeat,
                        const std::function<const char*(const char*)>& environment);

/// The check of meet() by itself.
void check_not_alone(const control::Place& place,
                     const std::function<const char*(const char*)>& environment);

}  // namespace rdmabench::collective
