// Judges what may have disturbed a run.
#pragma once

#include <vector>

#include "health/run_watch.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::health {

/// All suspicions, those about the network first. `server` is null if the server sent nothing, or
/// if both sides are one process. Pure: reads only the results and the clock of `report`.
///
/// retransmissions, receiver_not_ready, congestion, discards, errors: such a counter grew.
/// counter_reset: one of these went backwards. clock: the kernel changed its clock source.
/// migration: a thread moved. preemption: it lost its CPU more than 20 times a second.
/// smt_sibling: the other thread of its core was busy for more than 10 % of the time.
/// stolen: a hypervisor took more than 1 % of its CPU. remote_numa: it ran on another NUMA node
/// than the device's without being pinned. noise: gaps took at least 1 % of the spin, and for a
/// latency test the largest was longer than some p99, which may then show the machine and not the
/// network.
std::vector<report::Suspicion> judge(const RunConditions& client, const RunConditions* server,
                                     const report::Report& report);

/// Judges, and puts counters, conditions and suspicions into the report.
void attach(report::Report& report, const RunConditions& client, const RunConditions* server);

}  // namespace rdmabench::inline v1::health
