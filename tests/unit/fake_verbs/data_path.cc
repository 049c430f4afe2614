// Posting, carrying out and completing. A message is carried out as soon as it can be; one that
// finds no receive waits for it, as RC with an endless receiver-not-ready retry does.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "state.h"

namespace rdmabench::fake_verbs {
namespace {

constexpr int kPoison = 0xa5;

std::uint64_t length(std::span<const ibv_sge> pieces) {
  std::uint64_t total = 0;
  for (const ibv_sge& piece : pieces) total += piece.length;
  return total;
}

/// Whether the region of `key` covers the bytes and grants `access`.
bool covers(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, int access) {
  const auto found = state().regions.find(key);
  if (found == state().regions.end()) return false;
  const FakeRegion& region = *found->second;
  return address >= region.start && address - region.start <= region.length &&
         bytes <= region.length - (address - region.start) && (region.access & access) == access;
}

bool covers(std::span<const ibv_sge> pieces, int access) {
  return std::all_of(pieces.begin(), pieces.end(), [access](const ibv_sge& piece) {
    return covers(piece.lkey, piece.addr, piece.length, access);
  });
}

std::byte* at(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

std::vector<std::byte> gather(std::span<const ibv_sge> pieces) {
  std::vector<std::byte> bytes;
  for (const ibv_sge& piece : pieces) {
    bytes.insert(bytes.end(), at(piece.addr), at(piece.addr) + piece.length);
  }
  return bytes;
}

void scatter(std::span<const std::byte> bytes, std::span<const ibv_sge> pieces) {
  for (const ibv_sge& piece : pieces) {
    const std::size_t part = std::min<std::size_t>(piece.length, bytes.size());
    if (part != 0) std::memcpy(at(piece.addr), bytes.data(), part);
    bytes = bytes.subspan(part);
  }
}

/// A completion of which only what is always valid is set.
ibv_wc poisoned(const FakeQueuePair& queue_pair, std::uint64_t id, ibv_wc_status status) {
  ibv_wc wc;
  std::memset(&wc, kPoison, sizeof wc);
  wc.wr_id = id;
  wc.status = status;
  wc.qp_num = queue_pair.qp_num;
  wc.vendor_err = status == IBV_WC_SUCCESS ? 0 : state().message_vendor_error;
  return wc;
}

void complete(ibv_cq* to, const Completion& completion) {
  auto& queue = *static_cast<FakeCompletionQueue*>(to);
  if (queue.entries.size() == static_cast<std::size_t>(queue.cqe)) {
    state().violations.emplace_back("completion queue overrun");
  }
  queue.entries.push_back(completion);
}

void complete_send(FakeQueuePair& queue_pair, const ibv_send_wr& request, ibv_wc_status status) {
  ++queue_pair.unsignalled;
  const bool wanted = queue_pair.signal_all || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (status == IBV_WC_SUCCESS && !wanted) return;
  ibv_wc wc = poisoned(queue_pair, request.wr_id, status);
  if (status == IBV_WC_SUCCESS) wc.opcode = IBV_WC_SEND;
  complete(queue_pair.send_cq, {wc, std::exchange(queue_pair.unsignalled, 0)});
}

void complete_receive(FakeQueuePair& queue_pair, std::uint64_t bytes, const ibv_send_wr& request) {
  ibv_wc wc = poisoned(queue_pair, queue_pair.receives.front().id, IBV_WC_SUCCESS);
  const bool immediate =
      request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || request.opcode == IBV_WR_SEND_WITH_IMM;
  wc.opcode =
      request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.wc_flags = immediate ? IBV_WC_WITH_IMM : 0;
  if (immediate) wc.imm_data = request.imm_data;
  wc.byte_len = static_cast<std::uint32_t>(bytes);
  queue_pair.receives.pop_front();
  complete(queue_pair.recv_cq, {wc, 0});
}

FakeQueuePair* find_peer(const FakeQueuePair& queue_pair) {
  const auto found = state().queue_pairs.find(queue_pair.attributes.dest_qp_num);
  if (found == state().queue_pairs.end()) return nullptr;
  FakeQueuePair* peer = found->second;
  const bool ready = peer->state == IBV_QPS_RTR || peer->state == IBV_QPS_RTS;
  return ready && peer->attributes.dest_qp_num == queue_pair.qp_num ? peer : nullptr;
}

bool takes_receive(ibv_wr_opcode opcode) {
  return opcode != IBV_WR_RDMA_WRITE && opcode != IBV_WR_RDMA_READ;
}

/// Moves the bytes of one message; says how it ended.
ibv_wc_status carry_out(const PostedSend& send, FakeQueuePair& peer) {
  const ibv_send_wr& request = send.request;
  const auto& rdma = request.wr.rdma;
  const bool inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (request.opcode == IBV_WR_RDMA_READ) {
    const std::uint64_t bytes = length(send.pieces);
    if (!covers(send.pieces, IBV_ACCESS_LOCAL_WRITE)) return IBV_WC_LOC_PROT_ERR;
    if (!covers(~rdma.rkey, rdma.remote_addr, bytes, IBV_ACCESS_REMOTE_READ)) {
      return IBV_WC_REM_ACCESS_ERR;
    }
    scatter({at(rdma.remote_addr), bytes}, send.pieces);
    return IBV_WC_SUCCESS;
  }
  if (!inlined && !covers(send.pieces, 0)) return IBV_WC_LOC_PROT_ERR;
  const std::vector<std::byte> bytes = inlined ? send.inlined : gather(send.pieces);
  if (request.opcode == IBV_WR_SEND || request.opcode == IBV_WR_SEND_WITH_IMM) {
    const PostedReceive& receive = peer.receives.front();
    if (bytes.size() > length(receive.pieces)) return IBV_WC_REM_INV_REQ_ERR;
    scatter(bytes, receive.pieces);
  } else {
    if (!covers(~rdma.rkey, rdma.remote_addr, bytes.size(), IBV_ACCESS_REMOTE_WRITE)) {
      return IBV_WC_REM_ACCESS_ERR;
    }
    std::copy(bytes.begin(), bytes.end(), at(rdma.remote_addr));
  }
  if (takes_receive(request.opcode)) complete_receive(peer, bytes.size(), request);
  return IBV_WC_SUCCESS;
}

/// Carries out what can be, in order.
void progress(FakeQueuePair& queue_pair) {
  while (!queue_pair.sends.empty()) {
    FakeQueuePair* peer = find_peer(queue_pair);
    const PostedSend& send = queue_pair.sends.front();
    ibv_wc_status status = std::exchange(state().message_fault, IBV_WC_SUCCESS);
    if (status == IBV_WC_SUCCESS) {
      if (peer == nullptr) {
        status = IBV_WC_RETRY_EXC_ERR;
      } else if (takes_receive(send.request.opcode) && peer->receives.empty()) {
        return;
      } else {
        status = carry_out(send, *peer);
      }
    }
    complete_send(queue_pair, send.request, status);
    queue_pair.sends.pop_front();
    if (status != IBV_WC_SUCCESS) enter_error(queue_pair);
  }
}

}  // namespace

void enter_error(FakeQueuePair& queue_pair) {
  queue_pair.state = IBV_QPS_ERR;
  queue_pair.attributes.qp_state = IBV_QPS_ERR;
  for (const PostedSend& send : queue_pair.sends) {
    complete_send(queue_pair, send.request, IBV_WC_WR_FLUSH_ERR);
  }
  queue_pair.sends.clear();
  for (const PostedReceive& receive : queue_pair.receives) {
    complete(queue_pair.recv_cq, {poisoned(queue_pair, receive.id, IBV_WC_WR_FLUSH_ERR), 0});
  }
  queue_pair.receives.clear();
}

int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** refused_request) {
  const std::lock_guard lock(state().mutex);
  auto& queue = *static_cast<FakeQueuePair*>(queue_pair);
  for (; request != nullptr; request = request->next) {
    *refused_request = request;
    if (const int code = count(Call::post_send); code != 0) return code;
    if (queue.state != IBV_QPS_RTS && queue.state != IBV_QPS_ERR) return EINVAL;
    if (queue.sends_used == queue.cap.max_send_wr) return ENOMEM;
    const std::span pieces(request->sg_list, static_cast<std::size_t>(request->num_sge));
    if (pieces.size() > queue.cap.max_send_sge) return EINVAL;
    PostedSend& send = queue.sends.emplace_back();
    send.request = *request;
    send.pieces.assign(pieces.begin(), pieces.end());
    if ((request->send_flags & IBV_SEND_INLINE) != 0) {
      if (length(pieces) > queue.cap.max_inline_data) {
        queue.sends.pop_back();
        return EINVAL;
      }
      send.inlined = gather(pieces);
    }
    ++queue.sends_used;
    if (queue.state == IBV_QPS_ERR) enter_error(queue);
    progress(queue);
  }
  return 0;
}

int post_receive(ibv_qp* queue_pair, ibv_recv_wr* request, ibv_recv_wr** refused_request) {
  const std::lock_guard lock(state().mutex);
  auto& queue = *static_cast<FakeQueuePair*>(queue_pair);
  for (; request != nullptr; request = request->next) {
    *refused_request = request;
    if (const int code = count(Call::post_recv); code != 0) return code;
    if (queue.state == IBV_QPS_RESET) return EINVAL;
    if (queue.receives.size() == queue.cap.max_recv_wr) return ENOMEM;
    const std::span pieces(request->sg_list, static_cast<std::size_t>(request->num_sge));
    if (!covers(pieces, IBV_ACCESS_LOCAL_WRITE)) return EINVAL;
    queue.receives.push_back({request->wr_id, {pieces.begin(), pieces.end()}});
    if (queue.state == IBV_QPS_ERR) enter_error(queue);
    if (FakeQueuePair* peer = find_peer(queue); peer != nullptr) progress(*peer);
  }
  return 0;
}

int poll(ibv_cq* queue, int limit, ibv_wc* completions) {
  const std::lock_guard lock(state().mutex);
  if (const int code = count(Call::poll_cq); code != 0) return -code;
  auto& entries = static_cast<FakeCompletionQueue*>(queue)->entries;
  int taken = 0;
  for (; taken < limit && !entries.empty(); ++taken) {
    const Completion& completion = entries.front();
    const auto owner = state().queue_pairs.find(completion.wc.qp_num);
    if (owner != state().queue_pairs.end()) owner->second->sends_used -= completion.frees;
    completions[taken] = completion.wc;
    entries.pop_front();
  }
  return taken;
}

}  // namespace rdmabench::fake_verbs
