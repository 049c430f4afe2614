// Posting by ibv_wr_post(3), and the queue pairs that mlx5dv and efadv make.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rdmabench/features.h"
#include "state.h"

#if RDMABENCH_HAVE_MLX5
#include <infiniband/mlx5dv.h>
#endif
#if RDMABENCH_HAVE_EFA
#include <infiniband/efadv.h>
#endif

namespace rdmabench::inline v1::fake_verbs {
namespace {

FakeRequests& of(ibv_qp_ex* queue) {
  return *static_cast<FakeRequests*>(queue);
}

void start(ibv_qp_ex* queue) {
  if (of(queue).open) of(queue).wrong = "ibv_wr_start() twice";
  of(queue).open = true;
}

/// One more request; the setters are for it.
ibv_send_wr& begin(ibv_qp_ex* queue, ibv_wr_opcode opcode, std::uint64_t operation) {
  FakeRequests& requests = of(queue);
  if (!requests.open) requests.wrong = "a request before ibv_wr_start()";
  if ((requests.operations & operation) == 0) {
    requests.wrong = "a request that the queue pair was not made for";
  }
  ibv_send_wr& request = requests.drafts.emplace_back().send.request;
  request.wr_id = queue->wr_id;
  request.opcode = opcode;
  request.send_flags = queue->wr_flags;
  return request;
}

void send(ibv_qp_ex* queue) {
  begin(queue, IBV_WR_SEND, IBV_QP_EX_WITH_SEND);
}

void send_imm(ibv_qp_ex* queue, __be32 immediate) {
  begin(queue, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM).imm_data = immediate;
}

void read(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address) {
  begin(queue, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ).wr.rdma = {address, key};
}

void write(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address) {
  begin(queue, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE).wr.rdma = {address, key};
}

void write_imm(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, __be32 immediate) {
  ibv_send_wr& request =
      begin(queue, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM);
  request.wr.rdma = {address, key};
  request.imm_data = immediate;
}

void fetch_add(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::uint64_t add) {
  begin(queue, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD).wr.atomic = {
      address, add, 0, key};
}

void compare_swap(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::uint64_t compare,
                  std::uint64_t swap) {
  begin(queue, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP).wr.atomic = {
      address, compare, swap, key};
}

void atomic_write(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, const void* word) {
  begin(queue, IBV_WR_ATOMIC_WRITE, IBV_QP_EX_WITH_ATOMIC_WRITE).wr.rdma = {address, key};
  Draft& draft = of(queue).drafts.back();
  ++draft.data;
  const auto* bytes = static_cast<const std::byte*>(word);
  draft.send.inlined.assign(bytes, bytes + sizeof(std::uint64_t));
}

void flush(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::size_t length,
           std::uint8_t type, std::uint8_t level) {
  begin(queue, kFlush, kWithFlush).wr.rdma = {address, key};
  Draft& draft = of(queue).drafts.back();
  ++draft.data;
  draft.send.pieces.push_back({.addr = 0, .length = static_cast<std::uint32_t>(length), .lkey = 0});
  if (type != 1 || level != 0) violate("a flush of another kind");
}

/// A libibverbs that has flushes calls this one; for another, flush.h does.
template <class Requests>
void offer_flush(Requests& requests) {
  if constexpr (requires { requests.wr_flush = flush; }) requests.wr_flush = flush;
}

/// The request that a setter is for.
Draft& last(FakeRequests& requests) {
  if (requests.drafts.empty()) {
    requests.wrong = "a setter before any request";
    requests.drafts.emplace_back();
  }
  return requests.drafts.back();
}

void set_pieces(ibv_qp_ex* queue, std::size_t count, const ibv_sge* pieces) {
  Draft& draft = last(of(queue));
  ++draft.data;
  draft.send.pieces.assign(pieces, pieces + count);
}

void set_piece(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  const ibv_sge piece{.addr = address, .length = length, .lkey = key};
  set_pieces(queue, 1, &piece);
}

void set_inline(ibv_qp_ex* queue, void* bytes, std::size_t count) {
  Draft& draft = last(of(queue));
  ++draft.data;
  draft.send.request.send_flags |= IBV_SEND_INLINE;
  draft.send.inlined.assign(static_cast<std::byte*>(bytes), static_cast<std::byte*>(bytes) + count);
}

void set_route(FakeRequests& requests, const FakeRoute& route) {
  Draft& draft = last(requests);
  ++draft.routes;
  draft.send.route = route;
}

void set_datagram(ibv_qp_ex* queue, ibv_ah* handle, std::uint32_t number, std::uint32_t key) {
  if (of(queue).owner->kind != Kind::scalable) of(queue).wrong = "an address of UD";
  set_route(of(queue), {.handle = handle, .number = number, .q_key = key});
}

bool is_send(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

/// What EFA's provider refuses beside. Source: efadv_query_device(3), efadv_create_qp_ex(3).
bool takes_scalable(const FakeQueuePair& queue, const PostedSend& send, std::uint64_t bytes) {
  const Device& device = fake(*queue.context).device->config;
  const bool inlined = !send.inlined.empty();
  if ((send.request.send_flags & IBV_SEND_SIGNALED) == 0) return false;
  if (is_send(send.request.opcode)) {
    return bytes <= device.ports.at(queue.attributes.port_num - 1U).max_msg_sz;
  }
  return !inlined && bytes <= device.efa_max_rdma &&
         send.pieces.size() <= static_cast<std::size_t>(device.max_sge_rd);
}

int check(const FakeQueuePair& queue, const Draft& draft, unsigned wr_flags) {
  if (draft.data != 1) violate("a request without its data");
  if (draft.routes != (queue.kind == Kind::plain ? 0 : 1)) violate("a wrong number of addresses");
  if ((wr_flags & IBV_SEND_INLINE) != 0) violate("IBV_SEND_INLINE as a flag");
  const bool word = draft.send.request.opcode == IBV_WR_ATOMIC_WRITE;
  if (!word && draft.send.inlined.size() > queue.cap.max_inline_data) return EINVAL;
  if (draft.send.pieces.size() > queue.cap.max_send_sge) return EINVAL;
  std::uint64_t bytes = draft.send.inlined.size();
  for (const ibv_sge& piece : draft.send.pieces) bytes += piece.length;
  return queue.kind != Kind::scalable || takes_scalable(queue, draft.send, bytes) ? 0 : EINVAL;
}

int complete(ibv_qp_ex* queue_ex) {
  const std::lock_guard lock(state().mutex);
  FakeRequests& requests = of(queue_ex);
  FakeQueuePair& queue = *requests.owner;
  std::vector<Draft> drafts = std::exchange(requests.drafts, {});
  if (!std::exchange(requests.open, false)) requests.wrong = "ibv_wr_complete() without a start";
  if (requests.wrong != nullptr) {
    violate(std::exchange(requests.wrong, nullptr));
    return EINVAL;
  }
  if (const int code = count(Call::wr_complete); code != 0) return code;
  if (queue.state != IBV_QPS_RTS && queue.state != IBV_QPS_ERR) return EINVAL;
  if (queue.sends_used + drafts.size() > queue.cap.max_send_wr) return ENOMEM;
  for (const Draft& draft : drafts) {
    if (const int code = check(queue, draft, queue_ex->wr_flags); code != 0) return code;
  }
  if (queue.kind == Kind::scalable) std::reverse(drafts.begin(), drafts.end());
  for (Draft& draft : drafts) queue.sends.push_back(std::move(draft.send));
  queue.sends_used += static_cast<std::uint32_t>(drafts.size());
  if (queue.state == IBV_QPS_ERR) enter_error(queue);
  progress(queue);
  return 0;
}

void abandon(ibv_qp_ex* queue) {
  of(queue).drafts.clear();
  of(queue).open = false;
}

}  // namespace

void post_flush(ibv_qp_ex* queue, std::uint32_t key, std::uint64_t address, std::size_t length,
                std::uint8_t type, std::uint8_t level) {
  flush(queue, key, address, length, type, level);
}

std::unique_ptr<FakeRequests> make_requests(FakeQueuePair& owner, std::uint64_t operations) {
  auto requests = std::make_unique<FakeRequests>();
  std::memcpy(&requests->qp_base, static_cast<ibv_qp*>(&owner), sizeof requests->qp_base);
  requests->owner = &owner;
  requests->operations = operations;
  requests->wr_start = start;
  requests->wr_complete = complete;
  requests->wr_abort = abandon;
  requests->wr_send = send;
  requests->wr_send_imm = send_imm;
  requests->wr_rdma_read = read;
  requests->wr_rdma_write = write;
  requests->wr_rdma_write_imm = write_imm;
  requests->wr_atomic_fetch_add = fetch_add;
  requests->wr_atomic_cmp_swp = compare_swap;
  requests->wr_atomic_write = atomic_write;
  offer_flush(*requests);
  requests->wr_set_sge = set_piece;
  requests->wr_set_sge_list = set_pieces;
  requests->wr_set_inline_data = set_inline;
  requests->wr_set_ud_addr = set_datagram;
  return requests;
}

namespace {

ibv_qp* refuse(int code) {
  errno = code;
  return nullptr;
}

/// What every one of them needs. Source: the libraries' create_qp().
bool is_whole(const ibv_qp_init_attr_ex& attributes, std::uint32_t mask) {
  return attributes.qp_type == IBV_QPT_DRIVER && attributes.comp_mask == mask &&
         attributes.pd != nullptr && attributes.send_cq != nullptr && attributes.recv_cq != nullptr;
}

constexpr std::uint32_t kWithOperations = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

}  // namespace
}  // namespace rdmabench::inline v1::fake_verbs

using namespace rdmabench::fake_verbs;

extern "C" {

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* queue_pair) {
  return static_cast<FakeQueuePair*>(queue_pair)->requests.get();
}

#if RDMABENCH_HAVE_MLX5

namespace {

struct FakeDynamic : mlx5dv_qp_ex {
  FakeRequests* owner = nullptr;
};

void set_dynamic(mlx5dv_qp_ex* queue, ibv_ah* handle, std::uint32_t number, std::uint64_t key) {
  set_route(*static_cast<FakeDynamic*>(queue)->owner,
            {.handle = handle, .number = number, .dc_key = key});
}

}  // namespace

bool mlx5dv_is_supported(ibv_device* device) {
  return static_cast<FakeDevice*>(device)->config.mlx5;
}

int mlx5dv_query_device(ibv_context* context, mlx5dv_context* attributes) {
  const Device& device = fake(*context).device->config;
  if (!device.mlx5) return EOPNOTSUPP;
  const std::uint64_t wanted = attributes->comp_mask;
  *attributes = {};
  attributes->comp_mask = wanted & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS;
  attributes->dc_odp_caps = device.dc_on_demand;
  return 0;
}

ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                         mlx5dv_qp_init_attr* direct) {
  const std::lock_guard lock(state().mutex);
  if (!fake(*context).device->config.mlx5) violate("mlx5dv_create_qp() on another device");
  const bool flags = (direct->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) != 0;
  const std::uint32_t others = flags ? direct->create_flags : 0;
  if ((others & ~unsigned{MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE}) != 0) return refuse(EINVAL);
  const bool in_completion = others == 0;
  if ((direct->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC) == 0) {
    FakeQueuePair* const made = make_connected(*context, *attributes);
    if (made != nullptr && !in_completion) made->in_completion = 0;
    return made;
  }
  if (direct->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT) {
    if (!is_whole(*attributes, IBV_QP_INIT_ATTR_PD) || attributes->srq == nullptr) {
      return refuse(EINVAL);
    }
    FakeQueuePair* target = make_queue_pair(*context, *attributes);
    if (target == nullptr) return nullptr;
    state().queue_pairs.erase(target->qp_num);  // it has no number before RTR
    target->qp_num = 0;
    target->kind = Kind::target;
    // Source: Linux, configure_responder_scat_cqe(): of a target in the larger completions alone.
    const Device& device = fake(*context).device->config;
    if (in_completion && device.completion_bytes == 128) {
      target->in_completion = completion_room(device);
    }
    target->dc_key = direct->dc_init_attr.dct_access_key;
    return target;
  }
  if (!is_whole(*attributes, kWithOperations)) return refuse(EINVAL);
  FakeQueuePair* initiator = make_queue_pair(*context, *attributes);
  if (initiator == nullptr) return nullptr;
  initiator->kind = Kind::initiator;
  initiator->requests = make_requests(*initiator, attributes->send_ops_flags);
  auto dynamic = std::make_shared<FakeDynamic>();
  dynamic->owner = initiator->requests.get();
  dynamic->wr_set_dc_addr = set_dynamic;
  initiator->requests->dynamic = dynamic;
  return initiator;
}

mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex* queue) {
  return static_cast<FakeDynamic*>(of(queue).dynamic.get());
}

#endif

#if RDMABENCH_HAVE_EFA

int efadv_query_device(ibv_context* context, efadv_device_attr* attributes, std::uint32_t size) {
  const std::lock_guard lock(state().mutex);
  const Device& device = fake(*context).device->config;
  if (!device.efa) return EOPNOTSUPP;
  std::memset(attributes, 0, size);
  attributes->max_sq_wr = attributes->max_rq_wr = static_cast<std::uint32_t>(device.max_qp_wr);
  attributes->inline_buf_size = device.efa_inline;
  attributes->device_caps = device.efa_capabilities;
  attributes->max_rdma_size = device.efa_max_rdma;
  return 0;
}

ibv_qp* efadv_create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes,
                           efadv_qp_init_attr* direct, std::uint32_t size) {
  const std::lock_guard lock(state().mutex);
  const Device& device = fake(*context).device->config;
  if (!device.efa) violate("efadv_create_qp_ex() on another device");
  if (size != sizeof *direct || direct->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD ||
      !is_whole(*attributes, kWithOperations) || attributes->srq != nullptr) {
    return refuse(EINVAL);
  }
  std::uint64_t has = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
  if ((device.efa_capabilities & 0b0001) != 0) has |= IBV_QP_EX_WITH_RDMA_READ;
  if ((device.efa_capabilities & 0b1000) != 0) {
    has |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
  }
  if ((attributes->send_ops_flags & ~has) != 0) return refuse(EOPNOTSUPP);
  FakeQueuePair* made = make_queue_pair(*context, *attributes);
  if (made == nullptr) return nullptr;
  made->kind = Kind::scalable;
  made->requests = make_requests(*made, attributes->send_ops_flags);
  return made;
}

#endif

}  // extern "C"
