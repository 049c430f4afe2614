// Documents as Prometheus text, for node_exporter's textfile collector.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// Gauges rdmabench_..., in base units at the end of their names, each family with HELP and TYPE
/// and no series twice. Of a fabric the medians of each node as sender and as receiver, not its
/// pairs: their number grows with the square of the nodes. Percentiles that the samples do not
/// support are left out. Source: the text exposition format 0.0.4.
std::string to_prometheus(std::span<const Document> documents);

}  // namespace rdmabench::report
