// What the parts of the fake share. Private to it.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fake_verbs.h"

namespace rdmabench::inline v1::fake_verbs {

// IBV_WR_FLUSH, IBV_QP_EX_WITH_FLUSH and IBV_ACCESS_FLUSH_GLOBAL, which older headers do not have.
inline constexpr auto kFlush = static_cast<ibv_wr_opcode>(14);
inline constexpr std::uint64_t kWithFlush = 1U << 11;
inline constexpr int kFlushAccess = 1 << 8;

struct FakeDevice : ibv_device {
  Device config;
};

struct FakeContext : verbs_context {
  std::shared_ptr<FakeDevice> device;
  int children = 0;
  int report_end = -1;                  ///< of the pipe that async_fd is
  std::deque<ibv_async_event> reports;  ///< one for each byte in it
};

struct FakeDomain : ibv_pd {
  int children = 0;
};

struct FakeRegion : ibv_mr {
  int access = 0;
  std::uintptr_t start = 0;  ///< its first remote address: `addr` is none for a dma-buf
  int dma_buf = -1;
  std::uint64_t offset = 0;
  std::string mapping;  ///< of a fake GPU's dma-buf: "default", "pcie"
};

struct FakeQueuePair;

struct Completion {
  ibv_wc wc;
  std::uint32_t frees;  ///< entries of the send queue that become free when it is polled
  /// A short message that it holds, and where the poll copies it.
  std::vector<std::byte> message = {};
  std::vector<ibv_sge> to = {};
  bool is_receive = false;
};

struct FakeChannel : ibv_comp_channel {
  int write_end = -1;
  std::deque<ibv_cq*> events;  ///< one for each byte in the pipe
  int users = 0;
};

struct FakeCompletionQueue : ibv_cq {
  std::deque<Completion> entries;
  int users = 0;
  int vector = 0;
  bool armed = false;
  unsigned unacknowledged = 0;
};

struct FakeAddressHandle : ibv_ah {
  ibv_ah_attr vector{};
  std::uint16_t source_port = 0;
};

struct FakeXrcDomain : ibv_xrcd {
  int children = 0;
};

/// Where a request of ibv_wr_post(3) goes.
struct FakeRoute {
  ibv_ah* handle = nullptr;
  std::uint32_t number = 0;
  std::uint32_t q_key = 0;
  std::uint64_t dc_key = 0;
};

struct PostedSend {
  ibv_send_wr request;
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inlined;
  FakeRoute route;
};

/// What is between ibv_wr_start() and ibv_wr_complete().
struct Draft {
  PostedSend send{};
  int data = 0;  ///< setters called, of each kind
  int routes = 0;
};

struct FakeRequests : ibv_qp_ex {
  FakeQueuePair* owner = nullptr;
  std::uint64_t operations = 0;  ///< IBV_QP_EX_WITH_..., as the queue pair was made
  bool open = false;
  const char* wrong = nullptr;
  std::vector<Draft> drafts;
  std::shared_ptr<void> dynamic;  ///< its mlx5dv_qp_ex
};

struct PostedReceive {
  std::uint64_t id;
  std::vector<ibv_sge> pieces;
};

struct FakeSharedQueue : ibv_srq {
  std::deque<PostedReceive> receives;
  std::uint32_t limit = 0;
  std::uint32_t number = 0;
  FakeXrcDomain* xrc_domain = nullptr;  ///< XRC only, as is the queue below
  ibv_cq* completions = nullptr;
  int users = 0;
};

/// Of IBV_QPT_DRIVER: a DC initiator, a DC target, SRD.
enum class Kind { plain, initiator, target, scalable };

struct FakeQueuePair : ibv_qp {
  Kind kind = Kind::plain;
  std::uint64_t dc_key = 0;                ///< of a target
  std::unique_ptr<FakeRequests> requests;  ///< where it was made for ibv_wr_post(3)
  FakeSharedQueue* shared = nullptr;
  FakeXrcDomain* xrc_domain = nullptr;  ///< IBV_QPT_XRC_RECV only
  ibv_qp_cap cap{};
  bool signal_all = false;
  /// The longest message that comes in its completion; 0: none. Source: libmlx5 and Linux,
  /// configure_responder_scat_cqe() and configure_requester_scat_cqe() in mlx5/qp.c.
  std::uint32_t in_completion = 0;
  ibv_qp_attr attributes{};
  std::deque<PostedSend> sends;
  std::deque<PostedReceive> receives;
  std::uint32_t sends_used = 0;   ///< entries not yet freed by a polled completion
  std::uint32_t unsignalled = 0;  ///< carried out since the last completion
  int unacknowledged = 0;         ///< asynchronous events
};

struct FakeId;

/// The next event of one type becomes another.
struct ManagerFault {
  bool set = false;
  rdma_cm_event_type instead_of{};
  rdma_cm_event_type type{};
  int status = 0;
};

struct State {
  std::mutex mutex;
  std::vector<Device> devices;
  std::map<Call, int> calls;
  Call fail_call{};
  int fail_after = 0;  ///< calls left until the fault; 0: none is set
  int fail_code = 0;
  bool has_struck = false;
  ibv_wc_status message_fault = IBV_WC_SUCCESS;
  int message_faults = 0;  ///< messages left that it is for
  std::uint32_t message_vendor_error = 0;
  bool lose_next = false;
  bool dead = false;  ///< the devices
  std::set<FakeContext*> contexts;
  bool lose_gpu_bytes = false;
  std::string lost_mapping;
  bool hold_writes = false;
  bool hold_gpu_writes = false;
  int gpu_reads = 0;
  struct HeldWrite {
    std::byte* to;
    std::vector<std::byte> bytes;
    std::uint32_t queue_pair = 0;  ///< where it arrived, if a flush of that one releases it
    bool by_receive = false;       ///< its next receive that is polled does, and no flush
  };
  std::deque<HeldWrite> held;
  int live = 0;
  std::vector<std::string> violations;
  std::uint32_t next_number = 17;
  std::map<std::uint32_t, FakeQueuePair*> queue_pairs;
  std::map<std::uint32_t, FakeRegion*> regions;  ///< by local key; the remote key is its complement
  std::map<std::uint32_t, FakeSharedQueue*> shared_queues;
  std::map<ibv_ah*, FakeAddressHandle*> address_handles;
  std::uint16_t next_source_port = 0;
  std::set<FakeCompletionQueue*> completion_queues;
  std::map<std::uint16_t, FakeId*> listeners;
  std::uint16_t next_port = 40000;
  ManagerFault manager_fault;
  std::string manager_device;
  std::string arrival_device;
  std::uint8_t arrival_port = 1;
  std::map<ibv_device**, std::vector<std::shared_ptr<FakeDevice>>> lists;
};

State& state();

inline FakeContext& fake(ibv_context& context) {
  return *static_cast<FakeContext*>(verbs_get_ctx(&context));
}

/// Where the host reads and writes the bytes of a fake GPU's address; null for any other address,
/// and where the process has no fake GPU.
std::byte* gpu_bytes(std::uint64_t address);

/// Lets what was held back be seen.
template <class Which>
void release_held(Which&& which) {
  std::erase_if(state().held, [&](const State::HeldWrite& write) {
    if (!which(write)) return false;
    std::copy(write.bytes.begin(), write.bytes.end(), write.to);
    return true;
  });
}

/// Into a completion queue, with its event. With the mutex held.
void complete(ibv_cq* to, const Completion& completion);

/// Counts a call; an errno if it is to fail, else 0. With the mutex held.
int count(Call call);
/// The same for a call that returns a pointer: sets errno.
bool refused(Call call);

// In verbs_context.
int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attributes, std::size_t size);

// The data path, in ibv_context::ops. They take the mutex.
int post_send(ibv_qp* queue_pair, ibv_send_wr* request, ibv_send_wr** refused_request);
int post_receive(ibv_qp* queue_pair, ibv_recv_wr* request, ibv_recv_wr** refused_request);
int post_shared_receive(ibv_srq* queue, ibv_recv_wr* request, ibv_recv_wr** refused_request);
int poll(ibv_cq* queue, int limit, ibv_wc* completions);
int request_notify(ibv_cq* queue, int solicited_only);

// The newer calls, in verbs_context. They take the mutex.
void offer_extended_calls(verbs_context& context);

/// What ibv_wr_post(3) posts to, of a queue pair made for those IBV_QP_EX_WITH_*.
std::unique_ptr<FakeRequests> make_requests(FakeQueuePair& owner, std::uint64_t operations);

/// Makes a queue pair of any type. With the mutex held.
FakeQueuePair* make_queue_pair(ibv_context& context, const ibv_qp_init_attr_ex& attributes);
/// The same of one that is connected, as ibv_create_qp_ex() does.
FakeQueuePair* make_connected(ibv_context& context, const ibv_qp_init_attr_ex& attributes);
/// The longest message that a completion of such a device holds.
std::uint32_t completion_room(const Device& device);

void violate(const char* what);
/// Whether a parent may go; a parent with children is a violation, as for the kernel it is EBUSY.
bool may_go(int children, const char* what);
/// The address packets are given: complete, and from a GID that exists.
bool is_valid(ibv_context* context, const ibv_ah_attr& vector);
/// An event for a queue that was armed. With the mutex held.
void notify(FakeCompletionQueue& queue);

/// Carries out what can be, in order. With the mutex held.
void progress(FakeQueuePair& queue_pair);
/// Flushes all that is posted. With the mutex held.
void enter_error(FakeQueuePair& queue_pair);

}  // namespace rdmabench::inline v1::fake_verbs
