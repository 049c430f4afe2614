// The transfer by which two sides make sure that bytes reach a GPU's memory at all, before any is
// timed, and the step down to the next way of registering it where they do not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "negotiate.h"
#include "rdmabench/run/session.h"

namespace rdmabench::run {

/// Transfers of a session that are tried at most: as many as there are ways to register.
inline constexpr int kMostVerifications = 5;

/// Whether a session of this kind may start over before anything is timed.
bool may_start_over(const SessionSpec& spec);

/// The ways that the links have taken now, with why none of them is to be taken again.
void add_failed(const Session& session, std::string_view why,
                std::vector<memory::FailedWay>& failed);

/// The client's part. Where the mapping is `auto`, the ways of both sides that failed are left out
/// and the links opened anew, for as long as there are others, kMostVerifications times and three
/// times the session's timeout at most; `agreement` is then the last one and `notes` has a line for
/// each way that failed. Returns "", or why nothing is to be timed. Throws Error where the two
/// sides cannot come together again.
std::string verify_gpu_memory(Session& session, const Config& config, Agreement& agreement,
                              std::vector<std::string>& notes);

}  // namespace rdmabench::run
