// NCCL as a back end of the tester.
#pragma once

#include <memory>

#include "rdmabench/collective/engine.h"
#include "rdmabench/collective/nccl_options.h"

namespace rdmabench::collective {

/// Loads nothing yet: Engine::open() throws Error(unavailable) where NCCL or the CUDA driver is not
/// to be had, and says where they were looked for.
std::shared_ptr<Engine> make_nccl_engine(NcclOptions options);

}  // namespace rdmabench::collective
