// Where latency takes off in a curve of latency under load.
#pragma once

#include <span>

#include "rdmabench/report/result.h"

namespace rdmabench::run {

/// Sets `taken_off` of the rows of one size, from the lightest load to the heaviest, and `knee` and
/// `knee_reliable` of the one before the first that has taken off. No row is a knee where the first
/// has taken off already, or none has.
void mark_knee(std::span<report::LoadResult> rows);

}  // namespace rdmabench::run
