#include "pair.h"

namespace rdmabench::workload {

Entry<LossyEndpoint> loop_over(const LossyEndpoint& /*endpoint*/, const LoopKey& key) {
  return find_loop<LossyEndpoint>(key);
}

}  // namespace rdmabench::workload
