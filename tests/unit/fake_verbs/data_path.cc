// Posting, carrying out and completing. A message is carried out as soon as it can be; one that
// finds no receive waits for it, as RC with an endless receiver-not-ready retry does, or is lost,
// as over UC and UD.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "state.h"

namespace rdmabench::inline v1::fake_verbs {
namespace {

constexpr int kPoison = 0xa5;
constexpr std::size_t kHeader = 40;  // a datagram lands behind a global routing header

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

/// Whether the bytes of a GPU at that address get lost, by what is ordered and by how they are
/// known to the NIC.
bool is_lost(std::uint64_t address) {
  if (state().lose_gpu_bytes || state().lost_mapping.empty()) return state().lose_gpu_bytes;
  return std::any_of(state().regions.begin(), state().regions.end(), [&](const auto& entry) {
    const FakeRegion& region = *entry.second;
    return region.dma_buf >= 0 && region.mapping == state().lost_mapping &&
           address >= region.start && address - region.start < region.length;
  });
}

std::byte* at(std::uint64_t address) {
  static std::array<std::byte, std::size_t{4} << 20> nowhere;
  std::byte* const of_gpu = gpu_bytes(address);
  if (of_gpu == nullptr) return reinterpret_cast<std::byte*>(address);
  return is_lost(address) ? nowhere.data() : of_gpu;
}

/// Whether the bytes were held back: see hold_gpu_writes().
bool hold(std::uint64_t address, std::span<const std::byte> bytes) {
  if (!state().hold_gpu_writes || gpu_bytes(address) == nullptr) return false;
  state().held.push_back({at(address), {bytes.begin(), bytes.end()}});
  return true;
}

/// A read of GPU memory pushes what came before it.
void read_gpu() {
  ++state().gpu_reads;
  release_held([](const State::HeldWrite&) { return true; });
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
    if (part != 0 && !hold(piece.addr, bytes.first(part))) {
      std::memmove(at(piece.addr), bytes.data(), part);
    }
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

bool is_unreliable(const FakeQueuePair& queue_pair) {
  return queue_pair.qp_type == IBV_QPT_UC || queue_pair.qp_type == IBV_QPT_UD;
}

/// Where the receives for one message lie, and where they complete.
struct Receives {
  std::deque<PostedReceive>* posted = nullptr;
  ibv_cq* completions = nullptr;
};

Receives receives_of(FakeQueuePair& peer, const ibv_send_wr& request) {
  if (peer.qp_type == IBV_QPT_XRC_RECV) {
    const auto found = state().shared_queues.find(request.qp_type.xrc.remote_srqn);
    if (found == state().shared_queues.end() || found->second->xrc_domain != peer.xrc_domain) {
      return {};
    }
    return {&found->second->receives, found->second->completions};
  }
  if (peer.shared != nullptr) return {&peer.shared->receives, peer.recv_cq};
  return {&peer.receives, peer.recv_cq};
}

/// What a read or an atomic brought, where its completion holds it.
struct Answer {
  std::vector<std::byte> bytes;
  std::vector<ibv_sge> to;
};

void complete_send(FakeQueuePair& queue_pair, const ibv_send_wr& request, ibv_wc_status status,
                   Answer answer = {}) {
  ++queue_pair.unsignalled;
  const bool wanted = queue_pair.signal_all || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (status == IBV_WC_SUCCESS && !wanted) return;
  ibv_wc wc = poisoned(queue_pair, request.wr_id, status);
  if (status == IBV_WC_SUCCESS) wc.opcode = IBV_WC_SEND;
  complete(queue_pair.send_cq, {wc, std::exchange(queue_pair.unsignalled, 0),
                                std::move(answer.bytes), std::move(answer.to)});
}

void complete_receive(FakeQueuePair& queue_pair, std::uint64_t bytes, const ibv_send_wr& request,
                      std::vector<std::byte> message = {}) {
  const Receives receives = receives_of(queue_pair, request);
  ibv_wc wc = poisoned(queue_pair, receives.posted->front().id, IBV_WC_SUCCESS);
  const bool immediate =
      request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || request.opcode == IBV_WR_SEND_WITH_IMM;
  wc.opcode =
      request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
  wc.wc_flags = immediate ? IBV_WC_WITH_IMM : 0;
  if (immediate) wc.imm_data = request.imm_data;
  if (queue_pair.qp_type == IBV_QPT_UD) {
    bytes += kHeader;
    wc.wc_flags |= IBV_WC_GRH;
  }
  wc.byte_len = static_cast<std::uint32_t>(bytes);
  std::vector<ibv_sge> pieces = std::move(receives.posted->front().pieces);
  receives.posted->pop_front();
  complete(receives.completions,
           {wc, 0, std::move(message), std::move(pieces), /*is_receive=*/true});
}

bool is_ready(const FakeQueuePair& queue_pair) {
  return queue_pair.state == IBV_QPS_RTR || queue_pair.state == IBV_QPS_RTS;
}

/// The peer that a request of ibv_wr_post(3) names, if it knows its key.
FakeQueuePair* find_routed(const FakeQueuePair& queue_pair, const FakeRoute& route) {
  if (!state().address_handles.contains(route.handle)) violate("a request with no address");
  const auto found = state().queue_pairs.find(route.number);
  if (found == state().queue_pairs.end() || !is_ready(*found->second)) return nullptr;
  FakeQueuePair* peer = found->second;
  if (queue_pair.kind == Kind::initiator) {
    return peer->kind == Kind::target && peer->dc_key == route.dc_key ? peer : nullptr;
  }
  return peer->kind == Kind::scalable && peer->attributes.qkey == route.q_key ? peer : nullptr;
}

FakeQueuePair* find_peer(const FakeQueuePair& queue_pair, const PostedSend& send) {
  if (queue_pair.kind != Kind::plain) return find_routed(queue_pair, send.route);
  const ibv_send_wr& request = send.request;
  const bool datagram = queue_pair.qp_type == IBV_QPT_UD;
  const auto found = state().queue_pairs.find(datagram ? request.wr.ud.remote_qpn
                                                       : queue_pair.attributes.dest_qp_num);
  if (found == state().queue_pairs.end() || !is_ready(*found->second)) return nullptr;
  FakeQueuePair* peer = found->second;
  if (!datagram) {
    return peer->attributes.dest_qp_num == queue_pair.qp_num ? peer : nullptr;
  }
  if (!state().address_handles.contains(request.wr.ud.ah)) violate("a datagram with no address");
  return peer->attributes.qkey == request.wr.ud.remote_qkey ? peer : nullptr;
}

bool takes_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
         opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

bool allows(const FakeQueuePair& peer, int access) {
  // A queue pair of SRD has no flags of its own.
  return peer.kind == Kind::scalable ||
         (peer.attributes.qp_access_flags & static_cast<unsigned>(access)) != 0;
}

/// Into memory, or into the completion: Linux asks for that where all requests are signalled.
void give_answer(std::span<const std::byte> bytes, const PostedSend& send,
                 const FakeQueuePair& queue_pair, Answer& answer) {
  if (!queue_pair.signal_all || bytes.size() > queue_pair.in_completion) {
    scatter(bytes, send.pieces);
    return;
  }
  answer = {{bytes.begin(), bytes.end()}, send.pieces};
}

ibv_wc_status carry_out_atomic(const PostedSend& send, const FakeQueuePair& queue_pair,
                               const FakeQueuePair& peer, Answer& answer) {
  const auto& atomic = send.request.wr.atomic;
  std::uint64_t word = 0;
  if (length(send.pieces) != sizeof word || !covers(send.pieces, IBV_ACCESS_LOCAL_WRITE)) {
    return IBV_WC_LOC_PROT_ERR;
  }
  if (atomic.remote_addr % sizeof word != 0) return IBV_WC_REM_INV_REQ_ERR;
  if (!allows(peer, IBV_ACCESS_REMOTE_ATOMIC) ||
      !covers(~atomic.rkey, atomic.remote_addr, sizeof word, IBV_ACCESS_REMOTE_ATOMIC)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  std::memcpy(&word, at(atomic.remote_addr), sizeof word);
  const std::uint64_t before = word;
  if (send.request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    word += atomic.compare_add;
  } else if (word == atomic.compare_add) {
    word = atomic.swap;
  }
  std::memcpy(at(atomic.remote_addr), &word, sizeof word);
  give_answer(std::as_bytes(std::span(&before, 1)), send, queue_pair, answer);
  return IBV_WC_SUCCESS;
}

ibv_wc_status carry_out_read(const PostedSend& send, const FakeQueuePair& queue_pair,
                             const FakeQueuePair& peer, Answer& answer) {
  const auto& rdma = send.request.wr.rdma;
  const std::uint64_t bytes = length(send.pieces);
  if (!covers(send.pieces, IBV_ACCESS_LOCAL_WRITE)) return IBV_WC_LOC_PROT_ERR;
  if (!allows(peer, IBV_ACCESS_REMOTE_READ) ||
      !covers(~rdma.rkey, rdma.remote_addr, bytes, IBV_ACCESS_REMOTE_READ)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  if (gpu_bytes(rdma.remote_addr) != nullptr) read_gpu();
  give_answer({at(rdma.remote_addr), bytes}, send, queue_pair, answer);
  return IBV_WC_SUCCESS;
}

ibv_wc_status carry_out_flush(const PostedSend& send, const FakeQueuePair& peer) {
  const auto& rdma = send.request.wr.rdma;
  if (!allows(peer, kFlushAccess) ||
      !covers(~rdma.rkey, rdma.remote_addr, length(send.pieces), kFlushAccess)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  std::byte* const begin = at(rdma.remote_addr);
  release_held([&](const State::HeldWrite& write) {
    return !write.by_receive && write.queue_pair == peer.qp_num && write.to >= begin &&
           write.to + write.bytes.size() <= begin + length(send.pieces);
  });
  return IBV_WC_SUCCESS;
}

ibv_wc_status carry_out_send(std::vector<std::byte> bytes, FakeQueuePair& peer,
                             const ibv_send_wr& request) {
  const std::uint64_t sent = bytes.size();
  const std::size_t header = peer.qp_type == IBV_QPT_UD ? kHeader : 0;
  const PostedReceive& receive = receives_of(peer, request).posted->front();
  if (header + bytes.size() > length(receive.pieces)) return IBV_WC_REM_INV_REQ_ERR;
  if (sent != 0 && sent <= peer.in_completion) {
    complete_receive(peer, sent, request, std::move(bytes));
    return IBV_WC_SUCCESS;
  }
  bytes.insert(bytes.begin(), header, std::byte{kPoison});
  scatter(bytes, receive.pieces);
  complete_receive(peer, sent, request);
  return IBV_WC_SUCCESS;
}

/// A write: its last byte comes last, and whoever polls that sees the others too.
void deliver(std::span<const std::byte> bytes, std::byte* to) {
  if (bytes.empty()) return;
  std::copy(bytes.begin(), bytes.end() - 1, to);
  std::atomic_ref(to[bytes.size() - 1]).store(bytes.back(), std::memory_order_release);
}

std::uint64_t mtu_of(const FakeQueuePair& queue_pair) {
  const auto& ports = fake(*queue_pair.context).device->config.ports;
  return 128U << ports.at(queue_pair.attributes.port_num - 1U).active_mtu;
}

/// A write of several packets, of which the last may come first, as by another path through the
/// fabric: the others are there when a later receive completes.
void land(std::span<const std::byte> bytes, const FakeQueuePair& peer, std::byte* to) {
  const std::uint64_t mtu = mtu_of(peer);
  if (!fake(*peer.context).device->config.last_packet_first || bytes.size() <= mtu) {
    return deliver(bytes, to);
  }
  const std::size_t before = (bytes.size() - 1) / mtu * mtu;
  deliver(bytes.subspan(before), to + before);
  state().held.push_back({to,
                          {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(before)},
                          peer.qp_num,
                          true});
}

ibv_wc_status write_word(const std::vector<std::byte>& bytes, std::uint64_t address) {
  std::uint64_t word = 0;
  if (address % sizeof word != 0 || bytes.size() != sizeof word) return IBV_WC_REM_INV_REQ_ERR;
  std::memcpy(&word, bytes.data(), sizeof word);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at(address)))
      .store(word, std::memory_order_release);
  return IBV_WC_SUCCESS;
}

/// Moves the bytes of one message; says how it ended.
ibv_wc_status carry_out(const PostedSend& send, const FakeQueuePair& queue_pair,
                        FakeQueuePair& peer, Answer& answer) {
  const ibv_send_wr& request = send.request;
  if (request.opcode == IBV_WR_RDMA_READ) return carry_out_read(send, queue_pair, peer, answer);
  if (is_atomic(request.opcode)) return carry_out_atomic(send, queue_pair, peer, answer);
  if (request.opcode == kFlush) return carry_out_flush(send, peer);
  const bool inlined =
      (request.send_flags & IBV_SEND_INLINE) != 0 || request.opcode == IBV_WR_ATOMIC_WRITE;
  if (!inlined && !covers(send.pieces, 0)) return IBV_WC_LOC_PROT_ERR;
  const std::vector<std::byte> bytes = inlined ? send.inlined : gather(send.pieces);
  if (request.opcode == IBV_WR_SEND || request.opcode == IBV_WR_SEND_WITH_IMM) {
    return carry_out_send(bytes, peer, request);
  }
  const auto& rdma = request.wr.rdma;
  if (!allows(peer, IBV_ACCESS_REMOTE_WRITE) ||
      !covers(~rdma.rkey, rdma.remote_addr, bytes.size(), IBV_ACCESS_REMOTE_WRITE)) {
    return IBV_WC_REM_ACCESS_ERR;
  }
  if (request.opcode == IBV_WR_ATOMIC_WRITE) return write_word(bytes, rdma.remote_addr);
  if (state().hold_writes) {
    state().held.push_back({at(rdma.remote_addr), bytes, peer.qp_num});
  } else if (!hold(rdma.remote_addr, bytes)) {
    land(bytes, peer, at(rdma.remote_addr));
  }
  if (takes_receive(request.opcode)) complete_receive(peer, bytes.size(), request);
  return IBV_WC_SUCCESS;
}

/// Whether the message waits for a receive; else `status` says how it ended.
bool attempt(const PostedSend& send, FakeQueuePair& queue_pair, ibv_wc_status& status,
             Answer& answer) {
  if (status != IBV_WC_SUCCESS) return false;
  FakeQueuePair* peer = find_peer(queue_pair, send);
  const bool lost = std::exchange(state().lose_next, false);
  if (peer == nullptr || lost) {
    status = IBV_WC_RETRY_EXC_ERR;
    return false;
  }
  if (takes_receive(send.request.opcode)) {
    const Receives receives = receives_of(*peer, send.request);
    if (receives.posted == nullptr) {
      status = IBV_WC_REM_INV_REQ_ERR;
      return false;
    }
    if (receives.posted->empty()) {
      status = IBV_WC_RNR_RETRY_EXC_ERR;
      return !is_unreliable(queue_pair);
    }
  }
  status = carry_out(send, queue_pair, *peer, answer);
  return false;
}

bool is_local(ibv_wc_status status) {
  return status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_LOC_LEN_ERR;
}

/// After a receive was posted: some of those that waited may go on.
void progress_all() {
  for (const auto& [number, queue_pair] : state().queue_pairs) progress(*queue_pair);
}

int post_receives(std::deque<PostedReceive>& queue, std::uint32_t limit, ibv_recv_wr* request,
                  ibv_recv_wr** refused_request) {
  for (; request != nullptr; request = request->next) {
    *refused_request = request;
    if (const int code = count(Call::post_recv); code != 0) return code;
    if (queue.size() == limit) return ENOMEM;
    const std::span pieces(request->sg_list, static_cast<std::size_t>(request->num_sge));
    if (!covers(pieces, IBV_ACCESS_LOCAL_WRITE)) return EINVAL;
    queue.push_back({request->wr_id, {pieces.begin(), pieces.end()}});
  }
  return 0;
}

}  // namespace

void progress(FakeQueuePair& queue_pair) {
  while (!queue_pair.sends.empty() && !state().dead) {
    const PostedSend& send = queue_pair.sends.front();
    ibv_wc_status status = state().message_fault;
    const bool ordered = status != IBV_WC_SUCCESS;
    Answer answer;
    if (attempt(send, queue_pair, status, answer)) return;
    if (ordered && --state().message_faults <= 0) state().message_fault = IBV_WC_SUCCESS;
    // What the other side thinks of it never comes back.
    if (is_unreliable(queue_pair) && !ordered && !is_local(status)) status = IBV_WC_SUCCESS;
    complete_send(queue_pair, send.request, status, std::move(answer));
    queue_pair.sends.pop_front();
    if (status != IBV_WC_SUCCESS) enter_error(queue_pair);
  }
}

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

int post_shared_receive(ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** refused_request) {
  const std::lock_guard lock(state().mutex);
  auto& mine = *static_cast<FakeSharedQueue*>(queue);
  const int code = post_receives(mine.receives, mine.limit, request, refused_request);
  progress_all();
  return code;
}

int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** refused_request) {
  const std::lock_guard lock(state().mutex);
  auto& queue = *static_cast<FakeQueuePair*>(queue_pair);
  for (; request != nullptr; request = request->next) {
    *refused_request = request;
    if (const int code = count(Call::post_send); code != 0) return code;
    if (queue.kind != Kind::plain) return EINVAL;  // such a request names no peer
    if (queue.state != IBV_QPS_RTS && queue.state != IBV_QPS_ERR) return EINVAL;
    if (queue.sends_used == queue.cap.max_send_wr) return ENOMEM;
    const std::span pieces(request->sg_list, static_cast<std::size_t>(request->num_sge));
    if (pieces.size() > queue.cap.max_send_sge) return EINVAL;
    if (queue.qp_type == IBV_QPT_UD && length(pieces) > mtu_of(queue)) return EINVAL;
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
  *refused_request = request;
  if (queue.state == IBV_QPS_RESET || queue.shared != nullptr) return EINVAL;
  const int code = post_receives(queue.receives, queue.cap.max_recv_wr, request, refused_request);
  if (queue.state == IBV_QPS_ERR) enter_error(queue);
  progress_all();
  return code;
}

}  // namespace rdmabench::inline v1::fake_verbs
