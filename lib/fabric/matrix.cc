#include "rdmabench/fabric/matrix.h"

namespace rdmabench::fabric {

std::string_view name(Metric metric) noexcept {
  return metric == Metric::bandwidth ? "bandwidth" : "latency";
}

}  // namespace rdmabench::fabric
