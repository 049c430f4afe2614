#include "verbs/queue_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "queue_pair_steps.h"
#include "rdmabench/base/error.h"
#include "verbs/setup_error.h"

namespace rdmabench::inline v1::verbs {
namespace {

std::string peer_text(const ConnectionAttributes& connection) {
  return fmt::format("peer {} LID {} queue pair {}, MTU {}", to_text(connection.remote_gid),
                     connection.remote_lid, connection.remote_qpn, connection.mtu);
}

/// Which directions of a connection a type has: XRC splits them over two queue pairs.
bool requests(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}
bool responds(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

void to_rtr(ibv_qp& queue_pair, const ConnectionAttributes& connection) {
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  if (queue_pair.qp_type == IBV_QPT_UD) {
    modify(queue_pair, receive, IBV_QP_STATE, "UD to RTR");
    return;
  }
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  receive.path_mtu = encode_mtu(connection.mtu);
  receive.dest_qp_num = connection.remote_qpn;
  receive.rq_psn = connection.remote_psn;
  receive.ah_attr = address_vector(connection);
  if (responds(queue_pair.qp_type)) {
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    receive.max_dest_rd_atomic = connection.reads_in;
    receive.min_rnr_timer = connection.path.rnr_timer;
  }
  modify(queue_pair, receive, mask, fmt::format("to RTR: {}", peer_text(connection)));
}

void to_rts(ibv_qp& queue_pair, const ConnectionAttributes& connection) {
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = connection.local_psn;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (requests(queue_pair.qp_type)) {
    mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT;
    send.max_rd_atomic = connection.reads_out;
    send.retry_cnt = connection.path.retries;
    send.rnr_retry = connection.path.rnr_retries;
    send.timeout = connection.path.timeout;
  } else if (queue_pair.qp_type == IBV_QPT_XRC_RECV) {
    mask |= IBV_QP_TIMEOUT;
    send.timeout = connection.path.timeout;
  }
  modify(queue_pair, send, mask, "to RTS");
}

ibv_qp_init_attr_ex attributes_of(ibv_pd& domain, const QueuePairSpec& spec) {
  ibv_qp_init_attr_ex attributes{};
  attributes.qp_type = spec.type;
  if (spec.type == IBV_QPT_XRC_RECV) {
    // It has no queues: arriving messages name a shared receive queue of the domain.
    attributes.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    attributes.xrcd = spec.xrc_domain;
    return attributes;
  }
  attributes.comp_mask = IBV_QP_INIT_ATTR_PD;
  attributes.pd = &domain;
  if (spec.posting != 0) {
    attributes.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attributes.send_ops_flags = spec.posting;
  }
  add_sends(attributes, spec);
  if (spec.type != IBV_QPT_XRC_SEND) add_receives(attributes, spec);
  return attributes;
}

/// Whether less of it may be taken; memory that ran out (ENOMEM) is no matter of the device. Some
/// libraries set no errno (bnxt_re).
bool is_limit(int code) {
  return code == EINVAL || code == 0;
}

/// Halves the longer queue. False where there is nothing to halve.
bool make_smaller(ibv_qp_cap& cap) {
  const std::uint32_t limit = std::max(cap.max_send_wr, cap.max_recv_wr) / 2;
  if (limit == 0) return false;
  cap.max_send_wr = std::min(cap.max_send_wr, limit);
  cap.max_recv_wr = std::min(cap.max_recv_wr, limit);
  return true;
}

}  // namespace

void add_sends(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec) {
  attributes.send_cq = spec.send_completions;
  attributes.cap.max_send_wr = spec.sends;
  attributes.cap.max_send_sge = spec.segments;
  attributes.cap.max_inline_data = spec.inline_bytes;
}

void add_receives(ibv_qp_init_attr_ex& attributes, const QueuePairSpec& spec) {
  attributes.recv_cq = spec.receive_completions;
  attributes.srq = spec.shared_receives;
  if (spec.shared_receives != nullptr) return;
  attributes.cap.max_recv_wr = spec.receives;
  attributes.cap.max_recv_sge = 1;
}

SizedQueuePair create_sized(ibv_pd& domain, std::string_view type,
                            const ibv_qp_init_attr_ex& wanted, const CreateQueuePair& create) {
  ibv_qp_cap cap = wanted.cap;
  SizedQueuePair made{};
  int code = 0;
  const auto attempt = [&] {
    ibv_qp_init_attr_ex attributes = wanted;
    attributes.cap = cap;
    errno = 0;
    QueuePair queue_pair(create(attributes));
    code = errno;
    if (queue_pair == nullptr) return false;
    made = {.queue_pair = std::move(queue_pair),
            .inline_bytes = attributes.cap.max_inline_data,
            .sends = cap.max_send_wr,
            .receives = cap.max_recv_wr};
    return true;
  };
  if (attempt()) return made;
  cap.max_inline_data = 0;
  bool taken = wanted.cap.max_inline_data != 0 && attempt();
  const int refusal = code;
  while (!taken && is_limit(code) && make_smaller(cap)) taken = attempt();
  if (!taken) {
    throw setup_error(SetupCall::create_qp,
                      fmt::format("ibv_create_qp({}: {}, {} sends, {} receives)",
                                  ibv_get_device_name(domain.context->device), type,
                                  wanted.cap.max_send_wr, wanted.cap.max_recv_wr),
                      refusal, {.context = domain.context});
  }
  // The other queue alone may have been too long: libmlx5 counts blocks of sends only.
  const auto restore = [&](std::uint32_t ibv_qp_cap::*queue) {
    const std::uint32_t smaller = std::exchange(cap.*queue, wanted.cap.*queue);
    if (cap.*queue != smaller && !attempt()) cap.*queue = smaller;
  };
  restore(&ibv_qp_cap::max_recv_wr);
  restore(&ibv_qp_cap::max_send_wr);
  // With shorter queues all of the inline data was not refused yet.
  const bool shorter =
      made.sends < wanted.cap.max_send_wr || made.receives < wanted.cap.max_recv_wr;
  std::uint32_t most = 0;
  for (std::uint32_t refused = wanted.cap.max_inline_data + (shorter ? 1 : 0);
       refused > most + 1;) {
    cap.max_inline_data = most + (refused - most) / 2;
    (attempt() ? most : refused) = cap.max_inline_data;
  }
  return made;
}

void modify(ibv_qp& queue_pair, ibv_qp_attr attributes, int mask, std::string_view step,
            std::string_view remedy) {
  // ibv_modify_qp() returns the errno.
  const int code = ibv_modify_qp(&queue_pair, &attributes, mask);
  if (code == 0) return;
  const std::string what = fmt::format("ibv_modify_qp({})", step);
  if (!remedy.empty()) throw Error(Fault::failed, what, remedy, code);
  const SetupCall call = attributes.qp_state == IBV_QPS_INIT  ? SetupCall::modify_qp_init
                         : attributes.qp_state == IBV_QPS_RTR ? SetupCall::modify_qp_rtr
                                                              : SetupCall::modify_qp_rts;
  throw setup_error(call, what, code, {.context = queue_pair.context});
}

ibv_ah_attr address_vector(const ConnectionAttributes& connection) {
  ibv_ah_attr vector{};
  vector.port_num = connection.port;
  vector.dlid = connection.remote_lid;
  vector.sl = connection.path.service_level;
  if (connection.global) {
    vector.is_global = 1;
    std::memcpy(vector.grh.dgid.raw, connection.remote_gid.raw.data(), sizeof vector.grh.dgid.raw);
    vector.grh.sgid_index = static_cast<std::uint8_t>(connection.gid_index);
    vector.grh.hop_limit = connection.path.hop_limit;
    vector.grh.traffic_class = connection.path.traffic_class;
    vector.grh.flow_label = connection.path.flow_label;
  }
  return vector;
}

std::string_view name(ibv_qp_type type) noexcept {
  constexpr std::pair<ibv_qp_type, std::string_view> kNames[]{{IBV_QPT_RC, "RC"},
                                                              {IBV_QPT_UC, "UC"},
                                                              {IBV_QPT_UD, "UD"},
                                                              {IBV_QPT_XRC_SEND, "XRC send"},
                                                              {IBV_QPT_XRC_RECV, "XRC receive"}};
  for (const auto& [known, word] : kNames) {
    if (known == type) return word;
  }
  return "another type";
}

ibv_mtu encode_mtu(std::uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
    if (mtu_bytes(mtu) == bytes) return mtu;
  }
  throw Error(Fault::usage, fmt::format("invalid path MTU of {} bytes", bytes),
              "It may be 256, 512, 1024, 2048 or 4096.");
}

SizedQueuePair create_queue_pair(ibv_pd& domain, const QueuePairSpec& spec) {
  return create_sized(domain, name(spec.type), attributes_of(domain, spec), creator(domain, spec));
}

void initialize(ibv_qp& queue_pair, std::uint8_t port, std::uint16_t partition_index,
                RemoteAccess access, std::uint32_t q_key) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port;
  attributes.pkey_index = partition_index;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (queue_pair.qp_type == IBV_QPT_UD) {
    mask |= IBV_QP_QKEY;
    attributes.qkey = q_key;
  } else {
    mask |= IBV_QP_ACCESS_FLAGS;
    if (access.reads_and_writes) attributes.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
    // UC sends no responses.
    if (access.reads_and_writes && queue_pair.qp_type != IBV_QPT_UC) {
      attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
    }
    attributes.qp_access_flags |= static_cast<unsigned>(access.more);
  }
  modify(queue_pair, attributes, mask,
         fmt::format("to INIT on port {}, partition key {}", port, partition_index));
}

void connect(ibv_qp& queue_pair, const ConnectionAttributes& connection) {
  to_rtr(queue_pair, connection);
  to_rts(queue_pair, connection);
}

bool writes_in_order(ibv_qp& queue_pair) noexcept try {
  return ibv_query_qp_data_in_order(&queue_pair, IBV_WR_RDMA_WRITE, 0) != 0;
} catch (const Error&) {  // a libibverbs that is older than the question
  return false;
}

AddressHandle create_address_handle(ibv_pd& domain, const ConnectionAttributes& connection) {
  ibv_ah_attr vector = address_vector(connection);
  AddressHandle handle(ibv_create_ah(&domain, &vector));
  if (handle == nullptr) {
    const int code = errno;
    throw setup_error(SetupCall::create_ah, fmt::format("ibv_create_ah({})", peer_text(connection)),
                      code, {.context = domain.context});
  }
  return handle;
}

}  // namespace rdmabench::inline v1::verbs
