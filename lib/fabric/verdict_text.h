// What a run over many nodes found, in sentences, the most important first.
#pragma once

#include <string>
#include <vector>

#include "fabric/table.h"
#include "rdmabench/fabric/attribution.h"
#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

/// "1 of 8 nodes lost: node 3 (c); among the other 7 nothing stands out"
std::string headline(const Matrix& matrix, const Attribution& verdict);

/// The headline, lost nodes, findings with their evidence, what was not borne out, what could not
/// be judged, and why a pair that looks slow is not a finding. Findings alike are folded. Ends in a
/// newline.
std::string verdict_text(const Matrix& matrix, const Attribution& verdict,
                         const std::vector<Summary>& summaries);

/// Measurements that failed, those alike folded: with an end that was lost, or with the same error.
/// "" where none did.
std::string failures_text(const Matrix& matrix);

/// "ofi, provider tcp, device lo", by which the pairs were measured; several with their numbers of
/// measurements, the most frequent first. "" where no measurement says so.
std::string taken_paths(const Matrix& matrix);

}  // namespace rdmabench::fabric
