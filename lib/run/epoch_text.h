// What went wrong in an epoch, in words.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rdmabench/base/error.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::run {

/// "ok", "stalled", "wrong_data": as in a document.
std::string_view name(workload::Outcome outcome) noexcept;

/// "no completion for 10 s: waiting for message 812 of 1000 (64 bytes) from 10.0.0.2. Is ...?"
/// `failure` is the endpoint's own account; `peer` names the other side.
std::string epoch_text(const workload::EpochResult& result, const workload::EpochPlan& plan,
                       std::chrono::nanoseconds timeout, std::string_view peer,
                       std::string_view failure);

/// An epoch that began and failed. Its fault is `failed`.
class EpochError : public Error {
 public:
  EpochError(workload::Outcome outcome, const std::string& text)
      : Error(Fault::failed, text), outcome_(outcome) {}

  workload::Outcome outcome() const noexcept { return outcome_; }

 private:
  workload::Outcome outcome_;
};

}  // namespace rdmabench::run
