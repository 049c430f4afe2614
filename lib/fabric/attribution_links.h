// Links and switches of a topology that slow the pairs which cross them.
#pragma once

#include "attribution_fit.h"
#include "paths.h"

namespace rdmabench::fabric {

/// Finds the links, cables and switches by which the slow cells of a slice are explained, adds them
/// to `out`, and takes their effect out of the cells, so that the ends of those cells are judged by
/// what is left. Takes out too what pairs differ by the number of switches between them.
void judge_links(Slice& slice, const Paths& paths, const AttributionOptions& options,
                 Attribution& out);

/// How often each direction of a link between switches was crossed by the measured pairs.
Crossed crossed_links(const Matrix& matrix, const Paths& paths, Attribution& out);

}  // namespace rdmabench::fabric
