// What names a loop.
#pragma once

#include "rdmabench/measure/clock.h"
#include "rdmabench/transport/operation.h"
#include "rdmabench/workload/epoch.h"

namespace rdmabench::inline v1::workload {

struct LoopKey {
  Shape shape = Shape::latency;
  transport::OperationCode operation = transport::OperationCode::send;
  Side side = Side::initiator;
  bool validate = false;
  bool epoch_content = false;  ///< validated before and after the loop, not in it: epoch_content.h
  /// Of latency; other shapes stamp by measure::stamp_now().
  measure::ClockSource clock = measure::ClockSource::raw;
  bool paced = false;        ///< a stream keeps to EpochPlan::gap_q16; an open loop always does
  bool target_idle = false;  ///< Shape::latency, one-sided: the target never polls
};

}  // namespace rdmabench::inline v1::workload
