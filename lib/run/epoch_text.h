// What went wrong in an epoch, in words.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/report/result.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::run {

/// "ok", "stalled", "wrong_data": as in a document.
std::string_view name(workload::Outcome outcome) noexcept;

/// An epoch that began and failed. Its fault is `failed`.
class EpochError : public Error {
 public:
  EpochError(workload::Outcome outcome, const std::string& text, FailedCall call = {})
      : Error(Fault::failed, text, {}, 0, std::move(call)), outcome_(outcome) {}

  workload::Outcome outcome() const noexcept { return outcome_; }

 private:
  workload::Outcome outcome_;
};

/// What ended a run, as types.
report::Failure failure_of(const std::exception& error);

}  // namespace rdmabench::run
