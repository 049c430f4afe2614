// verbs: one reliable-connected queue pair over libibverbs.
//
// Set-up is in the .cc files; what runs per message is here, so that it is compiled into the loops.
// Work requests are built by prepare() and edited in place.
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/handles.h"
#include "rdmabench/verbs/memory_region.h"

namespace rdmabench::transport::verbs {

/// What the client chose for one side: where its queue pair is and how packets leave it.
struct Placement {
  std::string device;
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  bool global = true;     ///< packets carry the global header: always on RoCE
  std::uint32_t mtu = 0;  ///< path MTU, bytes; the same on both sides
  std::string reason;
};

/// Memory of `slots` messages of up to `max_size` bytes, and its registration.
struct RegisteredSlots {
  RegisteredSlots(ibv_pd& domain, rdmabench::verbs::Access access, std::uint64_t max_size,
                  std::uint32_t slots);
  RegisteredSlots& operator=(RegisteredSlots&&) = delete;

  Region layout() const noexcept { return {buffer.data(), stride, slots}; }

  std::uint64_t stride;
  std::uint32_t slots;
  memory::Buffer buffer;
  rdmabench::verbs::MemoryRegion region;  ///< after the memory it covers, so that it goes first
};

/// See transport.h for the contract. One thread drives an endpoint; endpoints share nothing.
///
/// Both directions complete into one queue. A send's wr_id is its number among the posts since
/// prepare(); a reliable queue pair completes them in order, so a completion stands for all posts
/// before it.
class Endpoint {
 public:
  // What RC gives on InfiniBand and RoCE without relaxed ordering, which is never asked for here.
  static constexpr bool kReliable = true;
  static constexpr bool kManyLanes = false;
  static constexpr bool kPostLists = false;
  static constexpr bool kOrdersWrites = true;
  static constexpr bool kOrdersMessages = true;
  static constexpr bool kNeedsProgress = false;
  template <class Op>
  static constexpr bool supports = !Op::kAtomic && Op::kCode != OperationCode::send_imm;
  template <class Op>
  static constexpr bool consumes_receive = Op::kNotifies;

  /// Opens the device that `choice` names and no other. Throws Error: usage where the request is
  /// beyond a limit of the device (the text names the limit), unavailable where the device cannot
  /// be opened, failed for the rest.
  Endpoint(const EndpointRequest& request, std::string_view choice);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  std::string address() const;
  /// Once only. Posts all receives before the queue pair can take a message. Throws Error(failed),
  /// also for an address that is malformed or does not cover what this side will touch.
  void connect(std::string_view peer_address);
  /// Throws Error(usage) for a size this endpoint was not opened for, Error(failed) while posts are
  /// outstanding.
  void prepare(OperationCode code, std::uint64_t size);
  Description describe() const;
  std::string failure() const;

  template <class Op>
  [[gnu::always_inline]] PostStatus post(std::uint64_t offset, std::uint64_t word, Signal signal,
                                         std::uint32_t /*lane*/ = 0) noexcept {
    sge_.addr = send_address_ + offset;
    if constexpr (!Op::kTwoSided) send_wr_.wr.rdma.remote_addr = window_address_ + offset;
    if constexpr (Op::kImmediate) send_wr_.imm_data = htonl(static_cast<std::uint32_t>(word));
    return submit(send_wr_, send_flags_, signal);
  }

  [[gnu::always_inline]] PostStatus post_token(Signal signal) noexcept {
    return submit(token_wr_, 0, signal);
  }

  /// `slot` is one that a Received named.
  [[gnu::always_inline]] PostStatus post_receive(std::uint32_t slot) noexcept {
    receive_sge_.addr = receive_addresses_[slot];
    receive_wr_.wr_id = kReceiveBit | slot;
    ibv_recv_wr* refused = nullptr;
    const int code = ibv_post_recv(queue_pair_.get(), &receive_wr_, &refused);
    if (code != 0) [[unlikely]]
      return refuse("ibv_post_recv", code);
    return PostStatus::posted;
  }

  template <class OnReceive>
  [[gnu::always_inline]] int poll(OnReceive&& on_receive) noexcept {
    ibv_wc completions[kBatch];
    const int count = ibv_poll_cq(completions_.get(), kBatch, completions);
    for (int i = 0; i < count; ++i) {
      const ibv_wc& completion = completions[i];
      if (completion.status != IBV_WC_SUCCESS) [[unlikely]]
        return fail(completion);
      // The number tells receives from sends, as the opcode does, without a second field to read.
      if ((completion.wr_id & kReceiveBit) == 0) {
        completed_ = completion.wr_id + 1;
      } else {
        const bool has_immediate = (completion.wc_flags & IBV_WC_WITH_IMM) != 0;
        on_receive(Received{static_cast<std::uint32_t>(completion.wr_id),
                            has_immediate ? ntohl(completion.imm_data) : 0, completion.byte_len});
      }
    }
    if (count < 0) [[unlikely]]
      return fail(count);
    return count;
  }

  bool rest(std::chrono::milliseconds /*at_most*/) const noexcept { return true; }
  std::uint32_t lanes() const noexcept { return 1; }
  std::uint64_t posted() const noexcept { return posted_; }
  std::uint64_t completed() const noexcept { return completed_; }
  Region send_region() const noexcept { return sends_.layout(); }
  Region receive_region() const noexcept { return receives_.layout(); }
  Region window() const noexcept { return window_.layout(); }

 private:
  static constexpr int kBatch = 16;
  static constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63;

  [[gnu::always_inline]] PostStatus submit(ibv_send_wr& request, unsigned flags,
                                           Signal signal) noexcept {
    if (posted_ - completed_ >= depth_) return PostStatus::busy;
    if (--until_signal_ == 0 || signal == Signal::now) {
      flags |= IBV_SEND_SIGNALED;
      until_signal_ = signal_every_;
    }
    request.wr_id = posted_;
    request.send_flags = flags;
    ibv_send_wr* refused = nullptr;
    const int code = ibv_post_send(queue_pair_.get(), &request, &refused);
    if (code != 0) [[unlikely]]
      return refuse_send(code);
    ++posted_;
    return PostStatus::posted;
  }

  // The cold ends of the data path: they keep what failure() will tell.
  PostStatus refuse_send(int code) noexcept;
  PostStatus refuse(const char* call, int code) noexcept;
  int fail(const ibv_wc& completion) noexcept;
  int fail(int poll_result) noexcept;

  void build_requests();
  void post_all_receives();

  // Parents before children: each is destroyed after all that is declared below it.
  EndpointRequest request_;
  Placement placement_;
  rdmabench::verbs::Context context_;
  rdmabench::verbs::ProtectionDomain domain_;
  RegisteredSlots sends_;
  RegisteredSlots receives_;
  RegisteredSlots window_;
  rdmabench::verbs::CompletionQueue completions_;
  rdmabench::verbs::QueuePair queue_pair_;

  // The data path.
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t depth_;
  std::uint32_t signal_every_;
  std::uint32_t
      until_signal_;         ///< posts until the next one that asks for a completion, it included
  unsigned send_flags_ = 0;  ///< of the prepared request, but for the signal
  std::uint64_t send_address_ = 0;
  std::uint64_t window_address_ = 0;  ///< the peer's
  ibv_sge sge_{};
  ibv_send_wr send_wr_{};
  ibv_send_wr token_wr_{};
  ibv_sge receive_sge_{};
  ibv_recv_wr receive_wr_{};
  std::vector<std::uint64_t> receive_addresses_;  ///< by receive slot

  // What set-up learnt, for the report and for errors.
  std::string driver_;
  rdmabench::verbs::Gid gid_;
  std::uint16_t lid_ = 0;
  bool ethernet_ = true;
  std::uint32_t psn_ = 0;
  std::uint32_t inline_bytes_ = 0;  ///< messages up to this size are copied into the work request
  std::uint8_t reads_in_ = 0;
  std::uint8_t reads_out_ = 0;
  std::uint32_t window_key_ = 0;  ///< the peer's
  std::string peer_;              ///< "10.0.0.2 queue pair 17"; "" until connected

  bool failed_ = false;
  ibv_wc failed_completion_{};
  const char* failed_call_ = nullptr;  ///< the verb that returned failed_code_, if one did
  int failed_code_ = 0;
};

}  // namespace rdmabench::transport::verbs
