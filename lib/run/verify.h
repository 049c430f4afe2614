// The transfer by which two sides make sure that bytes reach a GPU's memory at all, before any is
// timed, and the change to the next route of registering it where they do not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "negotiate.h"
#include "rdmabench/base/error.h"
#include "run/session.h"

namespace rdmabench::inline v1::run {

/// Whether a session of this kind may start over before anything is timed. An incast may not: its
/// clients start together.
bool may_start_over(const SessionSpec& spec);

/// Whether what ended the verified transfer may lie in how the memory is registered: what arrived
/// was wrong or could not be looked at, it did not complete, or it is the peer that says so.
bool may_be_the_memory(const Session& session, const Error& error);

/// The verified transfers of a session that failed. Both sides count, and so agree on what is next:
/// each route is tried twice, for one failure may be chance, and every route has had its turn after
/// ten.
class FailedTransfers {
 public:
  bool were_all() const noexcept { return count_ + 1 == kMost; }
  /// Whether the next transfer takes the same routes.
  bool repeats() const noexcept { return count_ % kTriesOfARoute == 0; }
  /// Counts the last transfer, which failed for `why`, and begins the session anew.
  void start_over(Session& session, const std::string& why);
  /// Not to be taken again by this side.
  const memory::FailedRoutes& routes() const noexcept { return routes_; }

 private:
  static constexpr int kTriesOfARoute = 2;
  static constexpr int kMost = 5 * kTriesOfARoute;

  int count_ = 0;
  memory::FailedRoutes routes_;
};

/// The client's part. Where the mapping is `auto`, the workers are opened anew, once by the same
/// routes and then without those of both sides that failed, for as long as there are others,
/// ten times and three times the session's timeout at most; `answer` is then the
/// last one and `notes` has a line for each transfer that failed. Returns why nothing is to be
/// timed, if so. Throws Error where the two sides cannot come together again, and what is
/// Fault::usage.
std::optional<Error> verify_gpu_memory(Session& session, const Config& config,
                                       const ClientPlan& plan, ServerAnswer& answer,
                                       std::vector<std::string>& notes);

/// "the client's cuda:0 by dma-buf, mapping default; the server's memory is the host's". `server`
/// is what that side told of itself.
std::string routes_text(const Session& session, const report::Facts& server);

/// Marks each row where the wire moved host memory in place of a GPU's, with what the copies cost
/// that are not in its figures, and how a validated row was validated. The facts go into
/// report.resolved. Throws Error(failed) where the GPU fails.
void add_gpu_notes(Session& session, const report::Facts& server, report::Report& report);

}  // namespace rdmabench::inline v1::run
