#include "verify.h"

#include <fmt/format.h>

#include "epoch_text.h"
#include "epochs.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::run {
namespace {

constexpr int kMaxTimeouts = 3;  // timeouts of the session, after which no other route is tried

std::string remedy_for(const SessionSpec& spec) {
  if (spec.traffic.incast_clients == 1) {
    return "Try another `gpu_mapping` (default, pcie, data-direct), and `memory` host to see "
           "whether the path itself works.";
  }
  return "The clients of an incast start together, so none changes to another route by itself: give "
         "all of them the same other `gpu_mapping` (default, pcie or data-direct), or `memory` host to "
         "see whether the path itself works.";
}

}  // namespace

bool may_start_over(const SessionSpec& spec) {
  return spec.gpu && spec.traffic.incast_clients == 1 &&
         spec.endpoint.gpu_mapping == memory::GpuMapping::automatic;
}

bool may_be_the_memory(const Session& session, const Error& error) {
  if (error.fault() != Fault::failed) return false;
  if (session.peer_gave_up()) return true;  // it judges the same way
  const auto* const epoch = dynamic_cast<const EpochError*>(&error);
  if (epoch == nullptr) return false;
  switch (epoch->outcome()) {
    case workload::Outcome::stalled:
    case workload::Outcome::completion_failed:
    case workload::Outcome::memory_failed:
      return true;
    default:
      return workload::is_about_data(epoch->outcome());
  }
}

void FailedTransfers::start_over(Session& session, const std::string& why) {
  if (!repeats()) {
    for (const std::string& route : session.direct_routes()) {
      routes_.try_emplace(route, ascii_only(why));
    }
  }
  ++count_;
  session.start_over(why);
}

std::optional<Error> verify_gpu_memory(Session& session, const Config& config,
                                       const ClientPlan& plan, ServerAnswer& answer,
                                       std::vector<std::string>& notes) {
  if (!session.spec().gpu) return std::nullopt;
  // NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the loop reads it
  const Deadline last = Deadline::after(kMaxTimeouts * config.timeout);
  FailedTransfers failed;
  for (;;) {
    std::optional<Error> failure;
    bool curable = false;
    try {
      Epochs(session, config).verify();
      return std::nullopt;
    } catch (const Error& error) {
      if (error.fault() == Fault::usage || error.fault() == Fault::cancelled) throw;
      failure = error;
      curable = may_be_the_memory(session, error);
    }
    const Error told =
        failure->at(fmt::format("the transfer that is verified before any is timed failed, with {}",
                                routes_text(session, answer.environment)));
    if (!curable) return told;
    if (!may_start_over(session.spec()) || failed.were_all() || last.passed() ||
        (session.direct_routes().empty() && answer.memory == MemoryPath::host)) {
      return Error(told.fault(), told.what(), remedy_for(session.spec()), 0, told.failure());
    }
    notes.push_back(
        fmt::format("GPU memory: {}. {}", told.what(),
                    failed.repeats() ? "It was tried once more." : "The next route was taken."));
    try {
      failed.start_over(session, failure->what());
      answer = negotiate(session, plan, failed.routes());
    } catch (const Cancelled&) {
      throw;
    } catch (const Error& error) {
      throw error.at(fmt::format("{}; and then no other route was found", told.what()));
    }
  }
}

}  // namespace rdmabench::inline v1::run
