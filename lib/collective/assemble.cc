#include "assemble.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "control/launch.h"
#include "rdmabench/base/error.h"
#include "rdmabench/collective/rank_group.h"

namespace rdmabench::inline v1::collective {
namespace {

constexpr std::string_view kUse = "coll";

}  // namespace

void check_not_alone(const control::JobPosition& place,
                     const std::function<const char*(const char*)>& environment) {
  if (place.size != 1) return;
  for (const control::Launcher& launcher : control::launchers()) {
    const char* const text = launcher.of_job ? nullptr : environment(launcher.size);
    if (text == nullptr || std::strtoul(text, nullptr, 10) <= 1) continue;
    throw Error(Fault::usage,
                fmt::format("one rank by {}, but {} is {}", place.source, launcher.size, text),
                "Every process would measure itself alone: leave rank and size to the launcher, or "
                "unset that variable.");
  }
}

AssembledGroup assemble(control::RendezvousOptions options, const HeartbeatOptions& heartbeat,
                        const std::function<const char*(const char*)>& environment) {
  if (options.size == 1 && !options.rank) options.rank = 0;
  const Deadline deadline = Deadline::after(options.timeout);
  AssembledGroup assembled;
  assembled.rendezvous = control::make_rendezvous(options);
  const auto& rendezvous = assembled.rendezvous;
  assembled.place = rendezvous->place();
  const auto [rank, size, host, source] = assembled.place;
  if (!options.broadcast) check_not_alone(assembled.place, environment);
  control::Bootstrap found = rendezvous->meet(kUse, 0, deadline);
  assembled.group = rank == 0 ? RankGroup::lead(*found.listener, found.address, size, this_rank(0),
                                                heartbeat, deadline)
                              : RankGroup::join(found.address, {.rank = rank, .size = size},
                                                this_rank(rank), heartbeat, deadline);
  if (!rendezvous->is_needed_by_mpi()) assembled.rendezvous.reset();
  return assembled;
}

}  // namespace rdmabench::inline v1::collective
