// What went wrong in an epoch, in words.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::run {

/// "ok", "stalled", "wrong_data": as in a document.
std::string_view name(workload::Outcome outcome) noexcept;

/// The parts of throw_epoch_error(), which says what the arguments are.
std::string epoch_text(const workload::EpochResult& result, const workload::EpochPlan& plan,
                       std::chrono::nanoseconds timeout, std::string_view peer,
                       std::string_view failure);
std::string_view epoch_remedy(workload::Outcome outcome) noexcept;

/// An epoch that began and failed. Its fault is `failed`.
class EpochError : public Error {
 public:
  EpochError(workload::Outcome outcome, std::string_view text, Failure known = {});

  workload::Outcome outcome() const noexcept { return outcome_; }

 private:
  workload::Outcome outcome_;
};

}  // namespace rdmabench::inline v1::run
