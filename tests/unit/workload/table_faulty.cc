#include "pair.h"

namespace rdmabench::workload {

Entry<FaultyEndpoint> loop_over(const FaultyEndpoint& /*endpoint*/, const LoopKey& key) {
  return find_loop<FaultyEndpoint>(key);
}

}  // namespace rdmabench::workload
