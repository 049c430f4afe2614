// ibv_modify_qp(): which attributes each step of each kind of queue pair takes.
#include <cerrno>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {
namespace {

struct Step {
  ibv_qp_state from;
  ibv_qp_state to;
};
constexpr Step kSteps[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT}, {IBV_QPS_INIT, IBV_QPS_RTR}, {IBV_QPS_RTR, IBV_QPS_RTS}};

/// The same for what vendors add. Source: Linux, mlx5_ib_modify_dct() and modify_dci_qp_is_ok() in
/// drivers/infiniband/hw/mlx5/qp.c; srd_qp_state_table in drivers/infiniband/hw/efa/efa_verbs.c.
int required_of_driver(Kind kind, ibv_qp_state to) {
  const bool init = to == IBV_QPS_INIT;
  const bool receives = to == IBV_QPS_RTR;
  switch (kind) {
    case Kind::initiator:
      if (init) return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
      if (receives) return IBV_QP_STATE | IBV_QP_PATH_MTU;
      return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN;
    case Kind::target:
      if (init) return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
      if (receives) return IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV;
      return -1;
    case Kind::scalable:
      if (init) return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
      return IBV_QP_STATE | (receives ? 0 : int{IBV_QP_SQ_PSN});
    case Kind::plain:
      break;
  }
  return -1;
}

/// What the kernel requires, by type. Source: ibv_modify_qp(3); Linux, qp_state_table in
/// drivers/infiniband/core/verbs.c.
int required(const FakeQueuePair& queue_pair, ibv_qp_state to) {
  const ibv_qp_type type = queue_pair.qp_type;
  if (queue_pair.kind != Kind::plain) return required_of_driver(queue_pair.kind, to);
  const bool requests = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
  const bool responds = type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
  int mask = IBV_QP_STATE;
  if (to == IBV_QPS_INIT) {
    mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    return mask | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  }
  if (to == IBV_QPS_RTR) {
    if (type == IBV_QPT_UD) return mask;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    return mask | (responds ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
  }
  mask |= IBV_QP_SQ_PSN;
  if (type == IBV_QPT_XRC_RECV) mask |= IBV_QP_TIMEOUT;
  if (requests) {
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return mask;
}

void adopt(ibv_qp_attr& to, const ibv_qp_attr& from, ibv_qp_state state) {
  to.qp_state = state;
  if (state == IBV_QPS_INIT) {
    to.port_num = from.port_num;
    to.pkey_index = from.pkey_index;
    to.qkey = from.qkey;
    to.qp_access_flags = from.qp_access_flags;
  } else if (state == IBV_QPS_RTR) {
    to.ah_attr = from.ah_attr;
    to.path_mtu = from.path_mtu;
    to.dest_qp_num = from.dest_qp_num;
    to.rq_psn = from.rq_psn;
    to.max_dest_rd_atomic = from.max_dest_rd_atomic;
    to.min_rnr_timer = from.min_rnr_timer;
  } else {
    to.sq_psn = from.sq_psn;
    to.max_rd_atomic = from.max_rd_atomic;
    to.timeout = from.timeout;
    to.retry_cnt = from.retry_cnt;
    to.rnr_retry = from.rnr_retry;
  }
}

}  // namespace
}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::modify_qp); code != 0) return code;
  auto& mine = *static_cast<FakeQueuePair*>(queue_pair);
  for (const Step& step : kSteps) {
    if (queue_pair->state != step.from || attributes->qp_state != step.to) continue;
    // Exactly this: real devices refuse what a type does not have, too.
    const bool takes_retries = mine.kind == Kind::scalable && step.to == IBV_QPS_RTS;
    const int optional = takes_retries ? int{IBV_QP_RNR_RETRY} : 0;
    if ((mask & ~optional) != required(mine, step.to)) return EINVAL;
    if ((mask & IBV_QP_AV) != 0 && !is_valid(queue_pair->context, attributes->ah_attr)) {
      return EINVAL;
    }
    if (mine.kind == Kind::target && step.to == IBV_QPS_RTR) {  // only now it is made
      mine.qp_num = state().next_number++;
      state().queue_pairs[mine.qp_num] = &mine;
    }
    queue_pair->state = step.to;
    adopt(mine.attributes, *attributes, step.to);
    return 0;
  }
  return EINVAL;
}

int ibv_query_qp_data_in_order(ibv_qp* queue_pair, ibv_wr_opcode operation, std::uint32_t flags) {
  const std::lock_guard lock(state().mutex);
  if (operation != IBV_WR_RDMA_WRITE || flags != 0) violate("another question of data in order");
  const auto& mine = *static_cast<FakeQueuePair*>(queue_pair);
  const bool takes =
      mine.kind == Kind::target ? mine.state == IBV_QPS_RTR : mine.state == IBV_QPS_RTS;
  return takes && fake(*queue_pair->context).device->config.data_in_order ? 1 : 0;
}

}  // extern "C"
