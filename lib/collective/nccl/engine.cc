#include "rdmabench/collective/nccl_engine.h"

#include "backend.h"

namespace rdmabench::collective {
namespace {

struct Owned {
  explicit Owned(NcclOptions options) : backend(std::move(options)), engine(backend) {}
  nccl::NcclBackend backend;
  EngineOf<nccl::NcclBackend> engine;
};

}  // namespace

std::shared_ptr<Engine> make_nccl_engine(NcclOptions options) {
  const auto owned = std::make_shared<Owned>(std::move(options));
  return {owned, &owned->engine};
}

}  // namespace rdmabench::collective
