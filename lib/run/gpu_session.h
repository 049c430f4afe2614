// What a report must say of a session whose messages lie in a GPU's memory.
#pragma once

#include <string>

#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// "the client's cuda:0 by dma-buf, mapping default; the server's memory is the host's". `server`
/// is what that side told of itself.
std::string routes_text(const Session& session, const report::Facts& server);

/// Marks each row where the wire moved host memory in place of a GPU's, with what the copies cost
/// that are not in its figures, and how a validated row was validated. The facts go into
/// report.resolved. Throws Error(failed) where the GPU fails.
void add_gpu_notes(Session& session, const report::Facts& server, report::Report& report);

}  // namespace rdmabench::inline v1::run
