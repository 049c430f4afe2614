// bare_verbs_loop OP COUNT SIZE SIGNAL_EVERY: a stream with nothing but libibverbs around it. OP is
// send, write or read.
//
// The floor for our own cost per message. Both RC queue pairs are in this process, on the first
// active device: with Soft-RoCE no poll then comes back empty, so callgrind counts the same
// instructions on every run. Sends are received, and their receives given back, after the last.
// Objects are left to the kernel, which frees them with the process. Source: ibv_modify_qp(3),
// ibv_post_send(3), ibv_poll_cq(3), ibv_query_gid_ex(3).
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

constexpr std::uint32_t kDepth = 128;
constexpr int kPollBatch = 16;
constexpr std::uint8_t kPort = 1;

[[noreturn]] void die(const char* what, int code) {
  std::fprintf(stderr, "bare_verbs_loop: %s: %s\n", what, std::strerror(code));
  std::exit(1);
}

template <typename T>
T* must(T* object, const char* what) {
  if (object == nullptr) die(what, errno);
  return object;
}

void must_be_zero(int code, const char* what) {
  if (code != 0) die(what, code > 0 ? code : errno);
}

ibv_context* open_first_active(ibv_port_attr* port) {
  int count = 0;
  ibv_device** devices = must(ibv_get_device_list(&count), "ibv_get_device_list");
  for (int i = 0; i < count; ++i) {
    ibv_context* context = must(ibv_open_device(devices[i]), "ibv_open_device");
    must_be_zero(ibv_query_port(context, kPort, port), "ibv_query_port");
    if (port->state == IBV_PORT_ACTIVE) return context;
    ibv_close_device(context);
  }
  die("no device has an active port 1", ENODEV);
}

/// The GID of RoCE v2 over IPv4 (::ffff:a.b.c.d), or the first one.
ibv_gid_entry choose_gid(ibv_context* context, const ibv_port_attr& port) {
  constexpr std::array<std::uint8_t, 12> kIpv4Mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  ibv_gid_entry entry = {};
  for (int i = 0; i < port.gid_tbl_len; ++i) {
    if (ibv_query_gid_ex(context, kPort, static_cast<std::uint32_t>(i), &entry, 0) != 0) continue;
    if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
        std::equal(kIpv4Mapped.begin(), kIpv4Mapped.end(), entry.gid.raw)) {
      return entry;
    }
  }
  must_be_zero(ibv_query_gid_ex(context, kPort, 0, &entry, 0), "ibv_query_gid_ex");
  return entry;
}

void connect(ibv_qp* queue_pair, std::uint32_t peer, const ibv_port_attr& port,
             const ibv_gid_entry& gid) {
  ibv_qp_attr attr = {};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  must_be_zero(ibv_modify_qp(queue_pair, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
               "ibv_modify_qp to INIT");

  attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = port.active_mtu;
  attr.dest_qp_num = peer;
  attr.max_dest_rd_atomic = 128;
  attr.min_rnr_timer = 12;
  attr.ah_attr.dlid = port.lid;
  attr.ah_attr.port_num = kPort;
  attr.ah_attr.is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET ? 1 : 0;
  attr.ah_attr.grh.dgid = gid.gid;
  attr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid.gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  must_be_zero(ibv_modify_qp(queue_pair, &attr,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
               "ibv_modify_qp to RTR");

  attr = {};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 128;
  must_be_zero(ibv_modify_qp(queue_pair, &attr,
                             IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
               "ibv_modify_qp to RTS");
}

/// Sends, writes or reads `count` messages of what `request` says, at most kDepth under way.
/// Signals every `signal_every`-th and the last.
void stream(ibv_qp* queue_pair, ibv_cq* completions, ibv_send_wr* request, std::uint64_t count,
            std::uint64_t signal_every) {
  std::array<ibv_wc, kPollBatch> batch;
  ibv_send_wr* rejected = nullptr;
  std::uint64_t posted = 0;
  std::uint64_t done = 0;
  std::uint64_t until_signal = signal_every;
  while (done < count) {
    while (posted < count && posted - done < kDepth) {
      ++posted;
      const bool signal = --until_signal == 0 || posted == count;
      if (signal) until_signal = signal_every;
      request->wr_id = posted;  // a completion says how many are done
      request->send_flags = signal ? unsigned{IBV_SEND_SIGNALED} : 0U;
      const int code = ibv_post_send(queue_pair, request, &rejected);
      if (code != 0) die("ibv_post_send", code);
    }
    const int polled = ibv_poll_cq(completions, kPollBatch, batch.data());
    if (polled < 0) die("ibv_poll_cq", errno);
    for (int i = 0; i < polled; ++i) {
      if (batch[i].status != IBV_WC_SUCCESS) die(ibv_wc_status_str(batch[i].status), EIO);
      done = batch[i].wr_id;
    }
  }
}

/// Takes `count` messages that have come, and gives each receive back.
void receive(ibv_qp* queue_pair, ibv_cq* completions, ibv_recv_wr* request, std::uint64_t count) {
  std::array<ibv_wc, kPollBatch> batch;
  ibv_recv_wr* rejected = nullptr;
  for (std::uint64_t done = 0; done < count;) {
    const int polled = ibv_poll_cq(completions, kPollBatch, batch.data());
    if (polled < 0) die("ibv_poll_cq", errno);
    for (int i = 0; i < polled; ++i) {
      if (batch[i].status != IBV_WC_SUCCESS) die(ibv_wc_status_str(batch[i].status), EIO);
      request->wr_id = batch[i].wr_id;
      const int code = ibv_post_recv(queue_pair, request, &rejected);
      if (code != 0) die("ibv_post_recv", code);
    }
    done += static_cast<std::uint64_t>(polled);
  }
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (value == 0 || *end != '\0') die(text, EINVAL);
  return value;
}

ibv_wr_opcode opcode(std::string_view text) {
  if (text == "send") return IBV_WR_SEND;
  if (text == "write") return IBV_WR_RDMA_WRITE;
  if (text == "read") return IBV_WR_RDMA_READ;
  die("OP is none of send, write, read", EINVAL);
}

struct Side {
  ibv_cq* completions = nullptr;
  ibv_qp* queue_pair = nullptr;
  std::vector<char> bytes;
  ibv_mr* region = nullptr;
};

Side make_side(ibv_context* context, ibv_pd* domain, std::uint32_t receives, std::uint64_t size,
               char fill) {
  Side side;
  side.completions =
      must(ibv_create_cq(context, static_cast<int>(kDepth + receives), nullptr, nullptr, 0),
           "ibv_create_cq");
  ibv_qp_init_attr init = {};
  init.send_cq = side.completions;
  init.recv_cq = side.completions;
  init.cap = {kDepth, receives, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  side.queue_pair = must(ibv_create_qp(domain, &init), "ibv_create_qp");
  side.bytes.assign(size, fill);
  side.region =
      must(ibv_reg_mr(domain, side.bytes.data(), size,
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
           "ibv_reg_mr");
  return side;
}

ibv_sge piece_of(const Side& side) {
  return {reinterpret_cast<std::uintptr_t>(side.bytes.data()),
          static_cast<std::uint32_t>(side.bytes.size()), side.region->lkey};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) die("usage: bare_verbs_loop OP COUNT SIZE SIGNAL_EVERY", EINVAL);
  const ibv_wr_opcode operation = opcode(argv[1]);
  const std::uint64_t count = number(argv[2]);
  const std::uint64_t size = number(argv[3]);
  const std::uint64_t signal_every = number(argv[4]);
  if (signal_every > kDepth) die("SIGNAL_EVERY is above the depth of 128", EINVAL);
  const bool sends = operation == IBV_WR_SEND;

  ibv_port_attr port = {};
  ibv_context* context = open_first_active(&port);
  const ibv_gid_entry gid = choose_gid(context, port);
  ibv_pd* domain = must(ibv_alloc_pd(context), "ibv_alloc_pd");
  // As many for every COUNT, so that set-up is the same and drops out of a difference.
  const std::uint32_t receives = sends ? 16384 : 1;
  if (sends && count > receives) die("COUNT is above 16384", EINVAL);
  Side from = make_side(context, domain, 1, size, 'x');
  Side to = make_side(context, domain, receives, size, 'y');
  connect(from.queue_pair, to.queue_pair->qp_num, port, gid);
  connect(to.queue_pair, from.queue_pair->qp_num, port, gid);

  ibv_sge receive_piece = piece_of(to);
  ibv_recv_wr receive_request = {};
  receive_request.sg_list = &receive_piece;
  receive_request.num_sge = 1;
  ibv_recv_wr* rejected = nullptr;
  for (std::uint32_t i = 0; i < receives; ++i) {
    receive_request.wr_id = i;
    must_be_zero(ibv_post_recv(to.queue_pair, &receive_request, &rejected), "ibv_post_recv");
  }
  ibv_sge piece = piece_of(from);
  ibv_send_wr request = {};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = operation;
  request.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to.bytes.data());
  request.wr.rdma.rkey = to.region->rkey;
  stream(from.queue_pair, from.completions, &request, count, signal_every);
  if (sends) receive(to.queue_pair, to.completions, &receive_request, count);
  return from.bytes == to.bytes ? 0 : 1;
}
