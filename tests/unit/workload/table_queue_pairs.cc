#include "pair.h"

namespace rdmabench::workload {

Entry<FaultyQueuePairs> loop_over(const FaultyQueuePairs& /*endpoint*/, const LoopKey& key) {
  return find_loop<FaultyQueuePairs>(key);
}

}  // namespace rdmabench::workload
