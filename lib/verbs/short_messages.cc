#include "verbs/queue_pair_steps.h"

#include <fmt/format.h>

#include <string>

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/verbs/device.h"
#include "verbs/dynamic.h"

#if RDMABENCH_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#endif

namespace rdmabench::inline v1::verbs {

void refuse_gpu_memory(const ibv_pd& domain, std::string_view remedy) {
  throw Error(Fault::unavailable,
              fmt::format("GPU memory on {}: its library copies short messages to their address by "
                          "the processor, which must not touch a GPU's",
                          ibv_get_device_name(domain.context->device)),
              remedy);
}

CreateQueuePair creator(ibv_pd& domain, const QueuePairSpec& spec) {
  const CreateQueuePair usual = [&domain](ibv_qp_init_attr_ex& attributes) {
    return ibv_create_qp_ex(domain.context, &attributes);
  };
  if (!spec.gpu_memory) return usual;
#if RDMABENCH_HAVE_MLX5
  if (has_dynamic(*domain.context->device)) {
    return [&domain](ibv_qp_init_attr_ex& attributes) {
      mlx5dv_qp_init_attr direct{};
      direct.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
      direct.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
      return mlx5dv_create_qp(domain.context, &attributes, &direct);
    };
  }
#endif
  const std::string driver = driver_name(*domain.context->device);
  if (driver == "mlx5") {
    refuse_gpu_memory(
        domain,
        RDMABENCH_HAVE_MLX5 != 0
            ? "libmlx5.so.1 could leave it, and is not here: install ibverbs-providers (Debian) or "
              "libibverbs (RHEL), or take `memory` host."
            : "This build cannot ask libmlx5 (mlx5dv) to leave it: take `memory` host.");
  }
  if (driver == "hns") refuse_gpu_memory(domain, "It has no way to leave it: take `memory` host.");
  return usual;
}

}  // namespace rdmabench::inline v1::verbs
