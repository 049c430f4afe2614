// Where along one assumption, or along the number of nodes, the estimate of a decision changes.
#pragma once

#include <vector>

#include "analysis/decision.h"

namespace rdmabench::analysis {

/// At no overlap, at the assumed one, and at all of it.
std::vector<PayingNodes> find_paying_nodes(const Decision& decision);

/// Of every assumption that is searched, the nearest first.
std::vector<Flip> find_flips(const Decision& decision);

}  // namespace rdmabench::analysis
