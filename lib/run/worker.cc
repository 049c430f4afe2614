#include "rdmabench/run/worker.h"

#include <fmt/format.h>

namespace rdmabench::inline v1::run::detail {

void refuse_loop(const workload::LoopKey& key) {
  const bool load = key.shape == workload::Shape::load;
  const auto asked = key.for_write ? transport::OperationCode::write : key.operation;
  throw Error(Fault::usage,
              fmt::format("{} of `operation` {} is not in this back end", load ? "load" : "a test",
                          transport::name(asked)),
              load ? "Answers that may come in any order need a number: take `operation` send-imm "
                     "or write-imm."
              : key.for_write
                  ? "The last byte of such a write may become visible before others, and the back "
                    "end has no write-imm to tell of it. Take another `operation` or `backend`."
                  : "Take another `operation` or `backend`.");
}

void refuse_operation(transport::OperationCode operation) {
  throw Error(Fault::unavailable, fmt::format("`operation` {}", transport::name(operation)),
              "Only the verbs back end has it, where libibverbs had it when this was built: "
              "atomic-write needs rdma-core 44, flush 47.");
}

}  // namespace rdmabench::inline v1::run::detail
