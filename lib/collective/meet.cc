#include "rdmabench/collective/meet.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "rdmabench/base/error.h"
#include "rdmabench/control/invitation.h"
#include "rdmabench/control/listener.h"

namespace rdmabench::collective {
namespace {

constexpr const char* kKey = "rdmabench.coll";  // that rank 0 puts

}  // namespace

void check_not_alone(const control::Place& place,
                     const std::function<const char*(const char*)>& environment) {
  if (place.size != 1) return;
  constexpr std::array kSizes = {"RDMABENCH_SIZE",      "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
                                 "MV2_COMM_WORLD_SIZE", "PMI_SIZE",   "PALS_SIZE",
                                 "FLUX_JOB_SIZE"};
  for (const char* const name : kSizes) {
    const char* const text = environment(name);
    if (text == nullptr || std::strtoul(text, nullptr, 10) <= 1) continue;
    throw Error(Fault::usage, fmt::format("one rank by {}, but {} is {}", place.source, name, text),
                "Every process would measure itself alone: leave rank and size to the launcher, or "
                "unset that variable.");
  }
}

Meeting meet(control::RendezvousOptions options, const PulseOptions& pulse,
             const std::function<const char*(const char*)>& environment) {
  if (options.size == 1 && !options.rank) options.rank = 0;
  const Deadline deadline = Deadline::after(options.timeout);
  Meeting meeting;
  meeting.rendezvous = control::make_rendezvous(options);
  const std::unique_ptr<control::Rendezvous>& rendezvous = meeting.rendezvous;
  meeting.place = rendezvous->place();
  const auto& [rank, size, host, source] = meeting.place;
  check_not_alone(meeting.place, environment);
  if (rank == 0) {
    control::Listener listener("", 0);
    const control::Invitation invitation = control::make_invitation(listener.port());
    rendezvous->put(kKey, control::to_text(invitation));
    meeting.star = Star::lead(listener, invitation, size, this_person(0), pulse, deadline);
  } else {
    const control::Invitation invitation =
        control::parse_invitation(rendezvous->get(0, kKey, deadline));
    meeting.star =
        Star::join(invitation, {.rank = rank, .size = size}, this_person(rank), pulse, deadline);
  }
  rendezvous->barrier(deadline);  // rank 0 serves the others until they have read
  return meeting;
}

}  // namespace rdmabench::collective
