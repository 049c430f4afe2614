#include "pair.h"

namespace rdmabench::workload {

Entry<FaultyLanes> loop_over(const FaultyLanes& /*endpoint*/, const LoopKey& key) {
  return find_loop<FaultyLanes>(key);
}

}  // namespace rdmabench::workload
