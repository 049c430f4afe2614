// Reports made by hand, for the tests of every writer.
#pragma once

#include <string>
#include <vector>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// A write ping-pong over verbs: 8 B with 100 samples, 64 KiB with 100000.
Report latency_sample();

/// A send stream over libfabric's tcp at 64 B and 64 KiB, the second of one epoch.
Report bandwidth_sample();

/// A latency report whose every word and number is as bad as a peer can make it.
Report hostile_sample();

/// Without their line ends.
std::vector<std::string> lines(const std::string& text);

/// A run that failed before anything was measured.
Report failed_sample();

}  // namespace rdmabench::inline v1::report
