// The part of a verbs endpoint that is the same for all: what it was asked to be, its memory and
// its send queues, how it is set up and connected, and what it says of itself.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/operation.h"
#include "rdmabench/transport/transport.h"
#include "rdmabench/transport/verbs/extended.h"
#include "rdmabench/verbs/device.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::verbs {
class ConnectionManager;
class DeviceEvents;
struct ConnectionAttributes;
}  // namespace rdmabench::inline v1::verbs

namespace rdmabench::inline v1::transport::verbs {

/// What the client chose for one side: where its queue pairs are and how packets leave it.
struct LocalPath {
  std::string device;
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  bool global = true;     ///< packets carry the global header: always on RoCE
  std::uint32_t mtu = 0;  ///< path MTU, bytes; the same on both sides
  double gbps = 0;        ///< of the slower of the two ends; 0 where they do not say
  std::string slower{};   ///< name of the slower part if it is no port (a PCIe link); for texts
  bool bond = false;      ///< it is some ports of a bond that has others
  std::string reason;
};

inline constexpr std::uint32_t kMaxQueuePairs = 16384;

/// What an endpoint will be, once its request has been checked against the device.
struct Plan {
  Service service = Service::rc;  ///< never `automatic`
  std::uint32_t queue_pairs = 1;
  std::uint32_t local_queue_pairs =
      1;                           ///< of this side; queue pair l uses number l % local_queue_pairs
  std::uint32_t regions = 1;       ///< of the memory: one for each of these, or one
  std::uint32_t depth = 1;         ///< posts of a queue pair
  std::uint32_t receives = 1;      ///< of a queue pair
  std::uint32_t signal_every = 1;  ///< at most depth - post_list + 1: a list must always fit
  std::uint32_t post_list = 1;
  std::uint32_t segments = 1;
  std::uint64_t stride = 64;       ///< of the slots
  std::uint32_t inline_bytes = 0;  ///< wanted
  std::uint8_t reads_out = 0;
  std::uint8_t reads_in = 0;
  bool shared_receives = false;  ///< by request, or because XRC and DC have no other
  bool separate_queues = false;
  bool extended = false;  ///< posted to by ibv_wr_post(3)
  rdmabench::verbs::PathAttributes path{};
  rdmabench::verbs::ScalableLimits scalable{};  ///< SRD
  std::vector<std::string> reduced;  ///< "depth 16384 reduced to 4096: max_qp_wr of rxe0"

  bool datagrams() const noexcept { return service == Service::ud; }
  /// Each request names the peer.
  bool names_peers() const noexcept {
    return datagrams() || service == Service::dc || service == Service::srd;
  }
  /// Posting and receiving queue pairs are different ones (XRC INI and TGT, DCI and DCT).
  bool has_receivers() const noexcept { return service == Service::xrc || service == Service::dc; }
};

/// Throws Error: usage where the request contradicts itself, unavailable where the device lacks
/// what it asks for; both name the value and the limit. Depth and receives beyond the device's
/// max_qp_wr or max_cqe are reduced; what a queue pair takes is known only when it was made.
Plan make_plan(const EndpointRequest& request, const LocalPath& local, ibv_context& context);

/// Lowers depth and receives to what the queue pairs of `device` were made with, and says so.
/// Throws Error(usage) where nothing is left.
void fit_granted(Plan& plan, std::uint32_t depth, std::uint32_t receives, std::string_view device);

/// The service a request means, with what contradicts it refused before anything is opened.
Service service_of(const EndpointRequest& request);

/// The work requests of post<Op>(), built for messages of one length. A post changes addresses, id
/// and word; the first post of another length builds them anew.
struct Prepared {
  std::uint64_t bytes = ~std::uint64_t{0};  ///< no message's: nothing is built yet
  ibv_send_wr request{};
  ibv_send_wr signalled{};  ///< the same, but that it always asks for a completion
  ibv_sge piece{};          ///< of both, where messages have one
};

/// What the data path edits, in place. It points into itself once it is built, so it stays put.
struct SendQueue {
  ibv_qp* queue_pair = nullptr;
  std::uint64_t posted = 0;
  std::uint64_t limit = 0;      ///< posted may grow up to here: what has completed, and the depth
  std::uint64_t signal_at = 0;  ///< the number of the next post that asks for a completion
  std::uint64_t tag = 0;        ///< of the wr_ids of its sends: its index in the upper half
  std::array<Prepared, Operations::kCount> prepared;  ///< by operation

  std::vector<ibv_send_wr> list;          ///< of post_list(): a chain of at most post_list requests
  std::vector<std::uint64_t> list_bytes;  ///< what each was built for
  OperationCode list_operation = OperationCode::send;  ///< ... and all of them
  /// Members of the list that are linked now; none at first, which is the size of no list.
  std::uint32_t chained = ~std::uint32_t{0};
  std::vector<ibv_sge> pieces;  ///< of `list`, and of `prepared` where messages have several
};

/// A receive that can be posted.
struct ReceiveSlot {
  std::uint64_t address;
  void* queue;  ///< ibv_qp, ibv_srq or KeyedQueue
};

/// Where the receives of a queue pair lie in a memory region of its own.
struct KeyedQueue {
  ibv_qp* queue_pair;
  std::uint32_t local_key;
};

int post_to_keyed_queue(void* queue, ibv_recv_wr* request, ibv_recv_wr** refused) noexcept;

/// Datagrams arrive behind the 40 bytes of a global routing header, which take a cache line here.
inline constexpr std::uint32_t kHeaderBytes = 40;
inline constexpr std::uint32_t kHeaderRoom = 64;

struct SlotLayout {
  std::uint32_t slots = 1;
  std::uint64_t stride = 64;       ///< bytes from one slot to the next, a multiple of 64
  std::uint32_t misalignment = 0;  ///< bytes by which every slot is off its cache line
  std::uint32_t header_room = 0;   ///< bytes before each slot
  std::uint32_t regions = 1;       ///< memory regions, each over all of the memory
  std::span<std::byte> buffer;     ///< the caller's memory, cut into as many slots as it holds
};

/// Bytes of memory that they take.
std::uint64_t bytes_of(const SlotLayout& layout) noexcept;

/// What the endpoint has for memory of a GPU that only a read of the NIC flushes.
enum class GpuFlush : std::uint8_t {
  none,
  by_read,  ///< so all of such memory must allow reads
};

/// Slots and their registration. This is the one place where an endpoint's memory comes from.
class RegisteredSlots {
 public:
  /// Throws Error: unavailable where the machine has no such memory or the device does not take it,
  /// failed where it cannot be had now.
  RegisteredSlots(ibv_pd& domain, const SlotLayout& layout, const memory::Request& where,
                  const rdmabench::verbs::RegistrationRequest& how, GpuFlush flush);
  RegisteredSlots(RegisteredSlots&&) noexcept = default;
  RegisteredSlots& operator=(RegisteredSlots&&) = delete;

  Region region() const noexcept { return region_; }
  std::uint64_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(region_.data); }
  /// From the first slot to the end of the last, or of the caller's memory.
  std::uint64_t bytes() const noexcept {
    return borrowed_ ? buffer_.size() : region_.stride * region_.slots;
  }
  /// Of the queue pair of that number: each has a region of its own, or all have one.
  std::uint32_t local_key(std::uint32_t queue_pair = 0) const noexcept {
    return registrations_[queue_pair % registrations_.size()].region->lkey;
  }
  std::uint32_t remote_key(std::uint32_t queue_pair = 0) const noexcept {
    return registrations_[queue_pair % registrations_.size()].region->rkey;
  }
  const memory::Buffer& buffer() const noexcept { return buffer_; }
  const rdmabench::verbs::Registration& registration() const noexcept { return registrations_[0]; }

 private:
  bool borrowed_;  ///< the memory is the caller's
  memory::Buffer buffer_;
  /// At least one. Declared after the memory, so that they are destroyed first.
  std::vector<rdmabench::verbs::Registration> registrations_;
  Region region_;  ///< its address is known only after registration
};

class FlushRead;

struct Address;

/// A region of either side, and by which key requests of this side name it.
struct RegionEntry {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t key = 0;
};

/// The queue pairs of an endpoint and what they share. Parents before children: each is destroyed
/// after all that is declared below it.
struct Queues {
  /// Lowers `plan` to what the device makes. `dc_key` opens the receivers of DC. `gpu_memory`:
  /// QueuePairSpec::gpu_memory.
  Queues(ibv_context& context, ibv_pd& domain, Plan& plan, const EndpointRequest& request,
         std::uint64_t dc_key, bool gpu_memory);

  rdmabench::verbs::CompletionQueues completions;
  rdmabench::verbs::XrcDomain xrc_domain;
  rdmabench::verbs::SharedReceiveQueue shared_receives;
  std::vector<rdmabench::verbs::QueuePair> pairs;      ///< what is posted to
  std::vector<rdmabench::verbs::QueuePair> receivers;  ///< XRC and DC: where the peer's pairs end
  std::uint32_t inline_bytes = 0;                      ///< of a message, at most
};

/// See transport.h for the contract that Endpoint makes of this.
class Core {
 public:
  Core& operator=(Core&&) = delete;

  std::string address() const;
  /// Once only. Posts all receives before a queue pair can take a message. Throws Error(failed),
  /// also for an address that is malformed or does not cover what this side will touch.
  void connect(std::string_view peer_address);
  Description describe(std::uint64_t bytes = 0) const;
  std::string failure() const;
  Failure failed_call() const;
  bool device_failed() noexcept;
  std::string device_report() const;

  std::uint32_t queue_pairs() const noexcept { return plan_.queue_pairs; }
  /// Posts that may be outstanding on a queue pair: what was asked for, or what the device takes.
  std::uint32_t depth() const noexcept { return plan_.depth; }
  /// Receives of a queue pair; slots are numbered through, queue pair after queue pair.
  std::uint32_t receives() const noexcept { return plan_.receives; }
  std::uint64_t peer_window_bytes() const noexcept { return peer_window_bytes_; }
  std::uint64_t peer_region_bytes(RegionId region) const noexcept {
    return region < peer_regions_.size() ? peer_regions_[region].bytes : 0;
  }
  WriteOrder write_order() const noexcept { return write_order_; }
  Region send_region() const noexcept { return sends_.region(); }
  Region receive_region() const noexcept { return receives_.region(); }
  Region window() const noexcept { return window_.region(); }
  const memory::Buffer& send_memory() const noexcept { return sends_.buffer(); }
  const memory::Buffer& receive_memory() const noexcept { return receives_.buffer(); }
  const memory::Buffer& window_memory() const noexcept { return window_.buffer(); }

 protected:
  static constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63;
  static constexpr int kBatch = 64;  // of completions: what a poll costs is shared by them

  /// Opens the device that `choice` names and no other. Throws Error: usage where the request is
  /// beyond a limit of the device (the text names the limit), unavailable where the device cannot
  /// be opened or lacks a feature, failed for the rest.
  Core(const EndpointRequest& request, std::string_view choice);
  ~Core();

  /// Whether the receives of each queue pair have a memory region of their own.
  bool has_keyed_queues() const noexcept {
    return plan_.regions > 1 && queues_.shared_receives == nullptr;
  }

  /// Builds the work requests of all queue pairs. They must stay where they are from then on.
  void build(std::span<SendQueue> queue_pairs);

  // Error paths of the data path: they store what failure() reports.
  PostStatus refuse_send(SendQueue& send_queue, int code) noexcept;
  PostStatus refuse_list(SendQueue& send_queue, int code, const ibv_send_wr* refused) noexcept;
  PostStatus refuse(const char* call, int code) noexcept;
  int fail(const ibv_wc& completion) noexcept;
  int fail(int poll_result) noexcept;
  bool fail(rdmabench::verbs::CompletionQueues::WaitFailure failure) noexcept;

  // Slow path: the operation or size differs from that of the previous post. False if the endpoint
  // was not opened for it.
  /// Builds the requests of an operation for messages of `bytes`.
  bool prepare(SendQueue& send_queue, OperationCode code, std::uint64_t bytes) noexcept;
  /// The same for member `index` of the list.
  bool prepare_in_list(SendQueue& send_queue, std::uint32_t index, std::uint64_t bytes) noexcept;
  /// Makes the list one of `count` requests of an operation.
  bool link(SendQueue& send_queue, OperationCode code, std::uint32_t count) noexcept;
  /// Whether such messages may be posted, and each lies within regions that are there.
  bool accepts(std::span<const RegionMessage> messages, OperationCode code) noexcept;

  // The data path. What posts read comes first, together.
  std::uint64_t send_address_ = 0;
  std::uint64_t window_address_ = 0;  ///< the peer's
  std::uint64_t signal_every_ = 1;
  std::uint64_t interval_ = 1;  ///< the same, or 2^62 (never) if every request is signalled
  std::uint64_t depth_ = 1;
  std::uint64_t posted_ = 0;  ///< over all queue pairs, where there may be several
  std::uint64_t completed_ = 0;
  ibv_cq* completion_queue_ = nullptr;  ///< the first, and where there is one all
  std::span<ibv_cq* const> completion_queues_;
  std::uint32_t header_bytes_ = 0;  ///< that a receive counts beside the message
  ibv_sge receive_piece_{};
  ibv_recv_wr receive_request_{};
  std::array<ibv_sge, kBatch> returned_pieces_{};  ///< of receives that go back together, linked
  std::array<ibv_recv_wr, kBatch> returned_requests_{};
  std::vector<ReceiveSlot> receive_slots_;
  std::vector<PostDestination> destinations_;  ///< UD, DC and SRD: of each queue pair
  // What a RegionMessage looks up. Of region 0 the queue pairs may have keys of their own, so that
  // its key is not taken from here.
  std::vector<RegionEntry> regions_;
  std::vector<RegionEntry> peer_regions_;

 private:
  /// In the order in which a file holds them.
  enum class Slots : std::uint8_t { sends, receives, window };
  SlotLayout layout(Slots which) const;
  RegisteredSlots make_slots(rdmabench::verbs::Access access, Slots which) const;
  RegisteredSlots make_slots(rdmabench::verbs::Access access, Slots which,
                             const SlotLayout& slots) const;
  std::vector<RegisteredSlots> make_more_regions() const;
  rdmabench::verbs::Access window_access() const;
  bool in_gpu_memory() const noexcept;
  bool relaxed_ordering() const;
  WriteOrder ask_write_order() const;
  void initialize_queue_pairs();
  void open_targets();
  void open_flush();
  std::string make_flush();

  bool completion_failed() const noexcept;
  /// Whether what the device reported comes before what failed here: the cause before the effect.
  bool device_comes_first() const noexcept;
  void remember(const Address& peer);
  void check_peer(const Address& peer) const;
  void check_allowed(const Address& peer) const;
  void connect_queue_pairs(const Address& peer);
  void open_manager();
  void connect_by_manager(const Address& peer);
  rdmabench::verbs::Gid manager_address() const;
  void reach_peers(const Address& peer);
  std::uint32_t flow_label_to_peer(std::uint32_t queue_pair) const noexcept;
  void post_all_receives();
  int post_receive(const ReceiveSlot& slot, std::uint32_t index) noexcept;
  void build_receives();
  bool permits(OperationCode code, std::uint64_t bytes) noexcept;
  void fill(ibv_send_wr& request, const SendQueue& send_queue, OperationCode code,
            std::uint64_t bytes) const noexcept;
  rdmabench::verbs::ConnectionAttributes connection_to(std::uint16_t lid,
                                                       const rdmabench::verbs::Gid& gid) const;

  // Parents before children: each is destroyed after all that is declared below it.
  EndpointRequest request_;
  LocalPath local_path_;
  rdmabench::verbs::Context context_;
  Plan plan_;
  std::unique_ptr<rdmabench::verbs::DeviceEvents> events_;
  rdmabench::verbs::ProtectionDomain domain_;
  RegisteredSlots sends_;
  RegisteredSlots receives_;
  RegisteredSlots window_;
  std::vector<RegisteredSlots> more_regions_;  ///< behind region 0
  std::uint64_t dc_key_;

 protected:
  Queues queues_;

 private:
  std::vector<KeyedQueue> keyed_queues_;  ///< by queue pair, where they are
  std::vector<rdmabench::verbs::AddressHandle>
      address_handles_;               ///< UD, DC, SRD: of each queue pair
  std::unique_ptr<FlushRead> flush_;  ///< where only a read makes visible what the NIC wrote
  std::unique_ptr<rdmabench::verbs::ConnectionManager> manager_;  ///< where rdma_cm connects
  std::uint16_t listener_ = 0;                                    ///< a server's rdma_cm port
  std::uint64_t session_ = 0;
  std::span<SendQueue> send_queues_;

  // What set-up learnt, for the report and for errors.
  std::string driver_;
  rdmabench::verbs::Gid gid_;
  std::uint16_t lid_ = 0;
  rdmabench::verbs::LinkLayer link_layer_ = rdmabench::verbs::LinkLayer::unknown;
  std::vector<std::uint32_t> first_packets_;  ///< packet sequence numbers, by queue pair
  std::uint32_t q_key_ = 0;
  std::uint8_t reads_out_ = 0;
  std::uint64_t peer_window_bytes_ = 0;
  WriteOrder write_order_;
  std::vector<std::uint32_t> window_keys_;                         ///< the peer's, by queue pair
  std::uint32_t remote_shared_receives_ = 0;                       ///< the peer's, XRC
  std::vector<std::pair<std::string, std::string>> remote_facts_;  ///< of the peer, for the report
  std::string peer_;  ///< "10.0.0.2 queue pair 17"; "" until connected

  bool failed_ = false;
  std::string_view refused_operation_;  ///< that was posted without being permitted
  std::uint64_t refused_bytes_ = 0;
  ibv_wc failed_completion_{};
  const char* failed_call_ = nullptr;  ///< the call that gave failed_code_, if one did
  int failed_code_ = 0;
};

}  // namespace rdmabench::inline v1::transport::verbs
