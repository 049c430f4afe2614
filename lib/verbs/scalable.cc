#include "verbs/scalable.h"

#include <algorithm>

#include "queue_pair_steps.h"
#include "rdmabench/base/error.h"
#include "rdmabench/features.h"

#if RDMABENCH_HAVE_EFA
#include <infiniband/efadv.h>
#endif

namespace rdmabench::inline v1::verbs {

#if RDMABENCH_HAVE_EFA

namespace {

// EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE: older headers lack it and older libraries do not set it.
constexpr std::uint32_t kWriteCapability = 1U << 3U;

std::uint64_t operations(const ScalableLimits& limits) {
  std::uint64_t all = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  if (limits.reads) all |= IBV_QP_EX_WITH_RDMA_READ;
  if (limits.writes) all |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  return all;
}

}  // namespace

std::optional<ScalableLimits> query_scalable(ibv_context& context) noexcept try {
  efadv_device_attr attributes{};
  if (efadv_query_device(&context, &attributes, sizeof attributes) != 0) return std::nullopt;
  const auto has = [&](std::uint32_t capability) {
    return (attributes.device_caps & capability) != 0;
  };
  return ScalableLimits{.reads = has(EFADV_DEVICE_ATTR_CAPS_RDMA_READ),
                        .writes = has(kWriteCapability),
                        .rnr_retries = has(EFADV_DEVICE_ATTR_CAPS_RNR_RETRY),
                        .inline_bytes = attributes.inline_buf_size,
                        .max_rdma_bytes = attributes.max_rdma_size};
} catch (const Error&) {  // no libefa here
  return std::nullopt;
}

SizedQueuePair create_scalable(ibv_pd& domain, const QueuePairSpec& spec,
                               const ScalableLimits& limits) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = IBV_QPT_DRIVER;
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.pd = &domain;
  attributes.send_ops_flags = operations(limits);
  add_sends(attributes, spec);
  add_receives(attributes, spec);
  attributes.cap.max_inline_data = std::min(spec.inline_bytes, limits.inline_bytes);
  return create_sized(domain, "SRD", attributes, [&](ibv_qp_init_attr_ex& wanted) {
    efadv_qp_init_attr direct{};
    direct.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD;
    return efadv_create_qp_ex(domain.context, &wanted, &direct, sizeof direct);
  });
}

#else

std::optional<ScalableLimits> query_scalable(ibv_context& /*context*/) noexcept {
  return std::nullopt;
}

SizedQueuePair create_scalable(ibv_pd& /*domain*/, const QueuePairSpec& /*spec*/,
                               const ScalableLimits& /*limits*/) {
  throw Error(Fault::unavailable, "cannot create an SRD queue pair",
              "This build has no support for libefa (efadv).");
}

#endif

void initialize_scalable(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index,
                         std::uint32_t q_key) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.pkey_index = partition_index;
  attributes.qkey = q_key;
  modify(queue_pair, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
         "SRD to INIT");
}

void connect_scalable(ibv_qp& queue_pair, const ConnectionAttributes& connection,
                      const ScalableLimits& limits) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  modify(queue_pair, receive, IBV_QP_STATE, "SRD to RTR");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = connection.local_psn;
  send.rnr_retry = connection.path.rnr_retries;
  modify(queue_pair, send,
         IBV_QP_STATE | IBV_QP_SQ_PSN | (limits.rnr_retries ? int{IBV_QP_RNR_RETRY} : 0),
         "SRD to RTS");
}

}  // namespace rdmabench::inline v1::verbs
