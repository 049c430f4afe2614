#include "backend.h"
#include "rdmabench/collective/engines.h"

namespace rdmabench::collective {

std::shared_ptr<Engine> make_nccl_engine(NcclOptions options) {
  return make_engine<nccl::NcclBackend>(std::move(options));
}

}  // namespace rdmabench::collective
