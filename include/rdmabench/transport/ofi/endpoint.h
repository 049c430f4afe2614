// ofi: a reliable-datagram endpoint of libfabric. One code path for every
// provider: what differs between them is read from the attributes that
// fi_getinfo returns, never from a provider's name.
//
// Every provider is treated as if it made progress only in poll(): some that
// announce automatic progress stall without it. Nothing here relies on the
// order of writes or of messages, because efa, cxi and shm promise none; the
// signal of a write is its remote completion data.
#pragma once

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/ofi/context_pool.h"
#include "rdmabench/transport/ofi/handles.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::transport::ofi {

/// See transport.h for the contract. An endpoint has a fabric and a domain of
/// its own, so that endpoints in different threads share no lock. One thread
/// drives an endpoint at a time.
class Endpoint {
 public:
  static constexpr bool kReliable = true;
  static constexpr bool kManyLanes = false;
  static constexpr bool kPostLists = false;
  static constexpr bool kOrdersWrites = false;
  static constexpr bool kOrdersMessages = false;
  static constexpr bool kNeedsProgress = true;
  template <class Op>
  static constexpr bool supports = !Op::kAtomic && Op::kCode != OperationCode::send_imm;
  template <class Op>
  static constexpr bool consumes_receive =
      Op::kTwoSided;  // remote completion data comes without one

  /// `choice` is one side of choose()'s answer. Throws Error(failed) when this
  /// machine does not have what was chosen, Error(usage) for a size or a depth
  /// beyond the provider's limits, which it names.
  Endpoint(const EndpointRequest& request, std::string_view choice);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  std::string address() const;
  /// Throws Error(failed) for text that is no address, or one of another
  /// provider, protocol, API version or window. Both sides must connect: some
  /// providers take a write only from a peer they know.
  void connect(std::string_view peer_address);
  void prepare(OperationCode code, std::uint64_t size);
  Description describe() const;
  std::string failure() const;

  template <class Op>
  PostStatus post(std::uint64_t offset, std::uint64_t word, Signal /*signal*/,
                  std::uint32_t /*lane*/ = 0) noexcept {
    const auto immediate = static_cast<std::uint32_t>(word);
    const std::byte* local = send_region_.data + offset;
    if constexpr (Op::kNotifies) {
      if (size_ <= inject_limit_) return injected(inject<Op>(local, offset, immediate));
    }
    if (contexts_.empty()) return PostStatus::busy;
    return started(initiate<Op>(local, offset, immediate));
  }

  /// Its completion says that the peer's endpoint has it, so that this side may
  /// close: it is neither injected nor at the level of the writes, which shm
  /// of 1.17 never completes for an empty message.
  PostStatus post_token(Signal /*signal*/) noexcept {
    if (contexts_.empty()) return PostStatus::busy;
    const iovec nothing{send_region_.data, 0};
    fi_msg token{};
    token.msg_iov = &nothing;
    token.desc = &send_descriptor_;
    token.iov_count = 1;  // none at all is read as one by udp;ofi_rxd
    token.addr = peer_;
    token.context = contexts_.top();
    return started(fi_sendmsg(ep_.get(), &token, FI_COMPLETION | FI_TRANSMIT_COMPLETE));
  }

  /// After `busy` the slot still belongs to the caller: poll, then give it back
  /// again.
  PostStatus post_receive(std::uint32_t slot) noexcept {
    ReceiveContext& receive = receives_[slot];
    return status(fi_recv(ep_.get(), receive.buffer, max_size_, receive_descriptor_, FI_ADDR_UNSPEC,
                          &receive));
  }

  template <class OnReceive>
  int poll(OnReceive&& on_receive) noexcept {
    std::array<fi_cq_data_entry, kBatch> entries;
    const ssize_t count = fi_cq_read(cq_.get(), entries.data(), entries.size());
    if (count < 0) return count == -FI_EAGAIN ? 0 : poll_failed(count);
    for (ssize_t i = 0; i < count; ++i) take(entries[static_cast<std::size_t>(i)], on_receive);
    return static_cast<int>(count);
  }

  bool rest(std::chrono::milliseconds /*at_most*/) const noexcept { return true; }
  std::uint32_t lanes() const noexcept { return 1; }
  std::uint64_t posted() const noexcept { return posted_; }
  /// Counts operations, not which of them: providers complete out of order.
  std::uint64_t completed() const noexcept {
    return posted_ - std::min<std::uint64_t>(posted_, contexts_.in_use());
  }
  Region send_region() const noexcept { return send_region_; }
  Region receive_region() const noexcept { return receive_region_; }
  Region window() const noexcept { return window_region_; }

  /// How often the provider said "again" since the endpoint was opened. The
  /// first traffic to a peer may give thousands, while the provider connects.
  std::uint64_t retries() const noexcept { return retries_; }

 private:
  static constexpr std::size_t kBatch = 16;

  /// The provider gets a pointer to the first member, and gives it back in the
  /// completion.
  struct ReceiveContext {
    fi_context2 context;
    std::byte* buffer;
    std::uint32_t slot;
  };

  template <class Op>
  ssize_t inject(const std::byte* local, std::uint64_t offset, std::uint32_t immediate) noexcept {
    if constexpr (Op::kImmediate) {
      return fi_inject_writedata(ep_.get(), local, size_, immediate, peer_, remote_base_ + offset,
                                 remote_key_);
    } else {
      return fi_inject(ep_.get(), local, size_, peer_);
    }
  }

  template <class Op>
  ssize_t initiate(const std::byte* local, std::uint64_t offset, std::uint32_t immediate) noexcept {
    fi_context2* context = contexts_.top();
    if constexpr (Op::kTwoSided) {
      return fi_send(ep_.get(), local, size_, send_descriptor_, peer_, context);
    } else if constexpr (Op::kFromTarget) {
      return fi_read(ep_.get(), send_region_.data + offset, size_, send_descriptor_, peer_,
                     remote_base_ + offset, remote_key_, context);
    } else if constexpr (Op::kImmediate) {
      return fi_writedata(ep_.get(), local, size_, send_descriptor_, immediate, peer_,
                          remote_base_ + offset, remote_key_, context);
    } else {
      return fi_write(ep_.get(), local, size_, send_descriptor_, peer_, remote_base_ + offset,
                      remote_key_, context);
    }
  }

  PostStatus started(ssize_t result) noexcept {
    if (result == 0) {
      contexts_.take();
      ++posted_;
    }
    return status(result);
  }

  /// An injected message gives no completion; its buffer is free again already
  /// (fi_msg.3).
  PostStatus injected(ssize_t result) noexcept {
    if (result == 0) ++posted_;
    return status(result);
  }

  PostStatus status(ssize_t result) noexcept {
    if (result == 0) return PostStatus::posted;
    if (result == -FI_EAGAIN) {
      ++retries_;
      return PostStatus::busy;
    }
    failure_code_ = static_cast<int>(-result);
    return PostStatus::failed;
  }

  /// The order of these tests matters, because providers disagree about the
  /// flags: shm of 2.1 gives the target of a write nothing but
  /// FI_REMOTE_CQ_DATA, and sockets sets that flag on the initiator's own
  /// completion too. A remote write's op_context is not ours.
  template <class OnReceive>
  void take(const fi_cq_data_entry& entry, OnReceive&& on_receive) noexcept {
    if ((entry.flags & FI_RECV) != 0) {
      const auto* receive = static_cast<const ReceiveContext*>(entry.op_context);
      on_receive(Received{receive->slot, 0, entry.len});
    } else if ((entry.flags & FI_REMOTE_WRITE) == 0 &&
               (entry.flags & (FI_SEND | FI_WRITE | FI_READ)) != 0) {
      contexts_.give_back(entry.op_context);
    } else {
      // Before 2.0 the manual page promised a length for messages only; 0 would
      // look like a token.
      on_receive(Received{kNoSlot, static_cast<std::uint32_t>(entry.data),
                          entry.len != 0 ? entry.len : size_});
    }
  }

  int poll_failed(ssize_t result) noexcept;
  void open(const EndpointRequest& request);
  void register_memory();

  // What the provider borrows outlives everything that could still touch it.
  ContextPool contexts_;
  std::vector<ReceiveContext> receives_;
  memory::Buffer send_memory_;
  memory::Buffer receive_memory_;
  memory::Buffer window_memory_;
  Info info_;
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_ep> ep_;
  Fid<fid_mr> send_registration_;
  Fid<fid_mr> receive_registration_;
  Fid<fid_mr> window_registration_;

  Region send_region_;
  Region receive_region_;
  Region window_region_;
  void* send_descriptor_ = nullptr;
  void* receive_descriptor_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::uint64_t remote_base_ = 0;
  std::uint64_t remote_key_ = 0;
  std::uint64_t max_size_;
  std::uint64_t size_ = 1;
  std::uint64_t inject_limit_ = 0;
  std::uint64_t posted_ = 0;
  std::uint64_t retries_ = 0;
  OperationCode operation_;
  int failure_code_ = 0;
  std::array<char, 256> failure_detail_{};
};

}  // namespace rdmabench::transport::ofi
