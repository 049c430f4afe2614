// The transfer by which two sides make sure that bytes reach a GPU's memory at all, before any is
// timed, and the change to the next route of registering it where they do not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "negotiate.h"
#include "run/session.h"

namespace rdmabench::run {

/// A route of registering is given up after so many failures: one failure may be chance. Both sides
/// count.
inline constexpr int kTriesOfARoute = 2;

/// The most verified transfers of a session: kTriesOfARoute by each of the five routes.
inline constexpr int kMostVerifications = 5 * kTriesOfARoute;

/// Whether a session of this kind may start over before anything is timed. An incast may not: its
/// clients start together.
bool may_start_over(const SessionSpec& spec);

/// Whether what ended the verified transfer may lie in how the memory is registered: what arrived
/// was wrong or could not be looked at, it did not complete, or it is the peer that says so.
bool may_be_the_memory(const Session& session, const Error& error);

/// The routes that the workers have taken now, with why none of them is to be taken again.
void add_failed(const Session& session, std::string_view why,
                std::vector<memory::FailedRoute>& failed);

/// The client's part. Where the mapping is `auto`, the workers are opened anew, once by the same
/// routes and then without those of both sides that failed, for as long as there are others,
/// kMostVerifications times and three times the session's timeout at most; `answer` is then the
/// last one and `notes` has a line for each transfer that failed. Returns "", or why nothing is to
/// be timed. Throws Error where the two sides cannot come together again, and what is
/// Fault::usage.
std::string verify_gpu_memory(Session& session, const Config& config, ServerAnswer& answer,
                              std::vector<std::string>& notes);

}  // namespace rdmabench::run
