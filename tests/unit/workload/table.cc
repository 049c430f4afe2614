#include "pair.h"

namespace rdmabench::inline v1::workload {

Entry<FaultyEndpoint> loop_over(const FaultyEndpoint& /*endpoint*/, const LoopKey& key) {
  return find_loop<FaultyEndpoint>(key);
}

Entry<LossyEndpoint> loop_over(const LossyEndpoint& /*endpoint*/, const LoopKey& key) {
  return find_loop<LossyEndpoint>(key);
}

Entry<FaultyQueuePairs> loop_over(const FaultyQueuePairs& /*endpoint*/, const LoopKey& key) {
  return find_loop<FaultyQueuePairs>(key);
}

}  // namespace rdmabench::inline v1::workload
