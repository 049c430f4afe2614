#include "rdmabench/run/worker.h"

#include <fmt/format.h>

namespace rdmabench::inline v1::run::detail {

void refuse_loop(const workload::LoopKey& key) {
  const bool load = key.shape == workload::Shape::load;
  throw Error(Fault::usage,
              key.for_write ? "the latency of a write of this size is not in this back end"
                            : fmt::format("{} of `operation` {} is not in this back end",
                                          load ? "load" : "a test", transport::name(key.operation)),
              load ? "Answers that may come in any order need a number: take `operation` send-imm "
                     "or write-imm."
              : key.for_write
                  ? "The last byte of such a write may become visible before others, and the back "
                    "end has no write-imm to tell of it. Take a size of at most 8 bytes, or "
                    "another `operation` or `backend`."
                  : "Take another `operation` or `backend`.");
}

void refuse_operation(transport::OperationCode operation) {
  throw Error(Fault::unavailable, fmt::format("`operation` {}", transport::name(operation)),
              "Only the verbs back end has it, where libibverbs had it when this was built: "
              "atomic-write needs rdma-core 44, flush 47.");
}

}  // namespace rdmabench::inline v1::run::detail
