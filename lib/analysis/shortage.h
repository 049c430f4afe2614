// What measurements lack for a projection, said at once.
#pragma once

#include <optional>
#include <span>

#include "analysis/projection.h"

namespace rdmabench::inline v1::analysis {

/// Throws Error(usage) with all that is missing for all rows of a projection without a row, and the
/// commands that measure it; with the first row's reason if nothing is missing.
[[noreturn]] void refuse_all(const Projection& projection);

/// Puts all that it lacks into the refusal of each row, and notes the commands that measure it.
void refuse_rows(Projection& projection);

/// Of the messages of one collective on one link: the only size that a job sends.
double message_bytes(const Job& job);

/// The samples of a size for which documents hold a percentile at or above this quantile; 0 where
/// they hold none.
double samples_for(double quantile);

/// So many samples support the tabulated percentile at or above that of the slowest link. Throws
/// Error(usage) where there is none.
double samples_for_links(double links);

/// The tails of the sizes beside this one; of the size itself alone where it was measured.
std::span<const Tail> tails_beside(const LinkSample& sample, double size_bytes);

/// B's step of this job over A's; none where it cannot be projected.
std::optional<double> step_ratio(const Projection& projection, const Job& job);

/// The job of a row.
Job job_at(const ProjectionOptions& options, double value);

}  // namespace rdmabench::inline v1::analysis
