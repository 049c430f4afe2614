#include "verbs/dynamic.h"

#include <cerrno>

#include "queue_pair_steps.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

#if RDMABENCH_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#endif

namespace rdmabench::inline v1::verbs {

#if RDMABENCH_HAVE_MLX5

namespace {

constexpr std::uint64_t kOperations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                      IBV_QP_EX_WITH_RDMA_WRITE |
                                      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ;
constexpr std::uint64_t kAtomics =
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;

/// Both kinds need both completion queues: the kernel requires them.
ibv_qp_init_attr_ex driver_attributes(ibv_pd& domain, const QueuePairSpec& spec) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_DRIVER;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = &domain;
  attributes.send_cq = spec.send_completions;
  attributes.recv_cq = spec.receive_completions;
  return attributes;
}

CreateQueuePair dynamic_creator(ibv_pd& domain, const QueuePairSpec& spec, mlx5dv_dc_type type,
                                std::uint64_t key) {
  return [&domain, gpu_memory = spec.gpu_memory, type, key](ibv_qp_init_attr_ex& attributes) {
    mlx5dv_qp_init_attr direct{};
    direct.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
    if (gpu_memory) {  // see queue_pair_steps.h
      direct.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
      direct.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    }
    direct.dc_init_attr.dc_type = type;
    direct.dc_init_attr.dct_access_key = key;
    return mlx5dv_create_qp(domain.context, &attributes, &direct);
  };
}

}  // namespace

bool has_dynamic(ibv_device& device) noexcept try {
  return mlx5dv_is_supported(&device);
} catch (const Error&) {  // no libmlx5 here
  return false;
}

std::uint32_t dynamic_on_demand(ibv_context& context) noexcept try {
  mlx5dv_context attributes{};
  attributes.comp_mask = MLX5DV_CONTEXT_MASK_DC_ODP_CAPS;
  if (!mlx5dv_is_supported(context.device) || mlx5dv_query_device(&context, &attributes) != 0) {
    return 0;
  }
  return (attributes.comp_mask & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS) != 0 ? attributes.dc_odp_caps : 0;
} catch (const Error&) {  // no libmlx5 here
  return 0;
}

SizedQueuePair create_initiator(ibv_pd& domain, const QueuePairSpec& spec, bool atomics) {
  ibv_qp_init_attr_ex attributes = driver_attributes(domain, spec);
  add_sends(attributes, spec);
  attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = kOperations | (atomics ? kAtomics : 0);
  return create_sized(domain, "DC initiator", attributes,
                      dynamic_creator(domain, spec, MLX5DV_DCTYPE_DCI, 0));
}

QueuePair create_target(ibv_pd& domain, const QueuePairSpec& spec, std::uint64_t key) {
  ibv_qp_init_attr_ex attributes = driver_attributes(domain, spec);
  attributes.srq = spec.shared_receives;
  try {
    return create_sized(domain, "DC target", attributes,
                        dynamic_creator(domain, spec, MLX5DV_DCTYPE_DCT, key))
        .queue_pair;
  } catch (const Error& error) {
    if (!spec.gpu_memory || error.code() != EINVAL) throw;
    refuse_gpu_memory(domain,
                      "libmlx5 leaves it for DC targets from rdma-core 24 on, and says EINVAL: "
                      "update rdma-core, take another `service`, or `memory` host.");
  }
}

mlx5dv_qp_ex* dynamic_requests(ibv_qp& initiator) noexcept {
  return mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_to_qp_ex(&initiator));
}

#else

namespace {

[[noreturn]] void refuse() {
  throw Error(Fault::unavailable, "cannot create a DC queue pair",
              "This build has no support for libmlx5 (mlx5dv).");
}

}  // namespace

bool has_dynamic(ibv_device& /*device*/) noexcept {
  return false;
}

std::uint32_t dynamic_on_demand(ibv_context& /*context*/) noexcept {
  return 0;
}

SizedQueuePair create_initiator(ibv_pd& /*domain*/, const QueuePairSpec& /*spec*/,
                                bool /*atomics*/) {
  refuse();
}

QueuePair create_target(ibv_pd& /*domain*/, const QueuePairSpec& /*spec*/, std::uint64_t /*key*/) {
  refuse();
}

mlx5dv_qp_ex* dynamic_requests(ibv_qp& /*initiator*/) noexcept {
  return nullptr;
}

#endif

void initialize_initiator(ibv_qp& initiator, std::uint8_t port, std::uint16_t partition_index) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.pkey_index = partition_index;
  modify(initiator, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
         "DC initiator to INIT");
}

void open_target(ibv_qp& target, const ConnectionAttributes& here) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = encode_mtu(here.mtu);
  attributes.min_rnr_timer = here.path.rnr_timer;
  attributes.ah_attr = address_vector(here);
  modify(target, attributes, IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV,
         "DC target to RTR",
         "The device creates the target in this step: DC may be disabled in its firmware, or its "
         "DC targets are exhausted.");
}

void connect_initiator(ibv_qp& initiator, const ConnectionAttributes& connection) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = encode_mtu(connection.mtu);
  modify(initiator, receive, IBV_QP_STATE | IBV_QP_PATH_MTU, "DC initiator to RTR");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = connection.local_psn;
  send.max_rd_atomic = connection.reads_out;
  send.retry_cnt = connection.path.retries;
  send.rnr_retry = connection.path.rnr_retries;
  send.timeout = connection.path.timeout;
  modify(initiator, send,
         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
             IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT,
         "DC initiator to RTS",
         "A DC initiator may support fewer outstanding reads than an RC queue pair: lower them.");
}

}  // namespace rdmabench::inline v1::verbs
