#include "rdmabench/run/worker.h"

#include <fmt/format.h>

namespace rdmabench::inline v1::run::detail {

void refuse_loop(const workload::LoopKey& key) {
  const bool load = key.shape == workload::Shape::load;
  // Session::posted() takes it in place of a write.
  const bool in_place =
      key.shape == workload::Shape::latency && key.operation == transport::OperationCode::write_imm;
  throw Error(Fault::usage,
              fmt::format("{} of `operation` {} is not in this back end", load ? "load" : "a test",
                          transport::name(key.operation)),
              load ? "Answers that may come in any order need a number: take `operation` send-imm "
                     "or write-imm."
              : in_place
                  ? "Latency of `operation` write takes it, too, where the last byte of a write "
                    "may become visible before others. Take another `operation` or `backend`."
                  : "Take another `operation` or `backend`.");
}

void refuse_operation(transport::OperationCode operation) {
  throw Error(Fault::unavailable, fmt::format("`operation` {}", transport::name(operation)),
              "Only the verbs back end has it, where libibverbs had it when this was built: "
              "atomic-write needs rdma-core 44, flush 47.");
}

}  // namespace rdmabench::inline v1::run::detail
