#include "rdmabench/verbs/queue_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rdmabench/base/error.h"
#include "rdmabench/verbs/device.h"

namespace rdmabench::verbs {
namespace {

// Encoded as in the InfiniBand Architecture Specification, 9.7.5.2.8 and 9.7.6.1.3.
constexpr std::uint8_t kRnrTimer = 12;  // the peer asks again 0.64 ms after a receive was missing
constexpr std::uint8_t kTimeout = 14;   // 67 ms without an acknowledgement before the first retry
// With kTimeout, a second or more until a dead peer shows. Not 7, the most: Soft-RoCE takes 7 for
// "for ever", as it is for kRnrRetries (Linux, drivers/infiniband/sw/rxe/rxe_comp.c).
constexpr std::uint8_t kRetries = 6;
constexpr std::uint8_t kRnrRetries = 7;  // for ever: a slow receiver is no error

constexpr std::uint8_t kHopLimit = 64;

/// The encoding of an MTU, or throws.
ibv_mtu encode_mtu(std::uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
    if (mtu_bytes(mtu) == bytes) return mtu;
  }
  throw Error(Fault::usage, fmt::format("{} bytes is not a path MTU", bytes),
              "Take 256, 512, 1024, 2048 or 4096.");
}

void modify(ibv_qp& queue_pair, ibv_qp_attr attributes, int mask, std::string_view step,
            std::string_view remedy) {
  // No verb of this name sets errno: it returns it.
  if (const int code = ibv_modify_qp(&queue_pair, &attributes, mask); code != 0) {
    throw Error(Fault::failed, fmt::format("ibv_modify_qp({})", step), remedy, code);
  }
}

ibv_ah_attr address_vector(const Connection& connection) {
  ibv_ah_attr vector{};
  vector.port_num = connection.port;
  vector.dlid = connection.remote_lid;
  if (connection.global) {
    vector.is_global = 1;
    std::memcpy(vector.grh.dgid.raw, connection.remote_gid.raw.data(), sizeof vector.grh.dgid.raw);
    vector.grh.sgid_index = static_cast<std::uint8_t>(connection.gid_index);
    vector.grh.hop_limit = kHopLimit;
  }
  return vector;
}

}  // namespace

SizedQueuePair create_queue_pair(ibv_pd& domain, ibv_cq& completions, QueuePairSize size) {
  for (std::uint32_t inline_bytes = size.inline_bytes;; inline_bytes /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = &completions;
    attributes.recv_cq = &completions;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = size.sends,
                      .max_recv_wr = size.receives,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = inline_bytes};
    QueuePair queue_pair(ibv_create_qp(&domain, &attributes));
    if (queue_pair != nullptr) return {std::move(queue_pair), attributes.cap.max_inline_data};
    if (inline_bytes == 0) {
      throw Error(
          Fault::failed,
          fmt::format("ibv_create_qp({}: RC, {} sends, {} receives)",
                      ibv_get_device_name(domain.context->device), size.sends, size.receives),
          "Lower --depth, raise 'ulimit -l', or list what holds the device's objects with "
          "'rdma resource show'.",
          errno);
    }
  }
}

void initialize(ibv_qp& queue_pair, std::uint8_t port) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.pkey_index = 0;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  modify(queue_pair, attributes,
         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         fmt::format("to INIT on port {}", port), "Check that the port is active.");
}

void connect(ibv_qp& queue_pair, const Connection& connection) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = encode_mtu(connection.mtu);
  receive.dest_qp_num = connection.remote_qpn;
  receive.rq_psn = connection.remote_psn;
  receive.max_dest_rd_atomic = connection.reads_in;
  receive.min_rnr_timer = kRnrTimer;
  receive.ah_attr = address_vector(connection);
  modify(queue_pair, receive,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         fmt::format("to RTR: peer {} LID {} queue pair {}, MTU {}", to_text(connection.remote_gid),
                     connection.remote_lid, connection.remote_qpn, connection.mtu),
         "On RoCE this resolves the peer's address: check that it answers a ping from this port's "
         "network device.");

  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = connection.local_psn;
  send.max_rd_atomic = connection.reads_out;
  send.timeout = kTimeout;
  send.retry_cnt = kRetries;
  send.rnr_retry = kRnrRetries;
  modify(queue_pair, send,
         IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT |
             IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
         "to RTS", "");
}

}  // namespace rdmabench::verbs
