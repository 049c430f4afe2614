// What measurements lack for a projection, said at once.
#pragma once

#include "rdmabench/analysis/projection.h"

namespace rdmabench::analysis {

/// Throws Error(usage) with all that is missing for all rows of a projection without a row, and the
/// commands that measure it; with the first row's reason if nothing is missing.
[[noreturn]] void refuse_all(const Projection& projection);

/// Puts all that it lacks into the refusal of each row, and notes the commands that measure it.
void refuse_rows(Projection& projection);

/// The job of a row.
Job job_at(const ProjectionOptions& options, double value);

}  // namespace rdmabench::analysis
