// The Transport contract: what a back end's Endpoint offers to the loops of workload/.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::transport {

struct SessionRequest;  // the library's own

enum class PostStatus : std::uint8_t {
  posted,
  busy,    ///< the send queue is full, or the provider said "again": poll, then post the same again
  failed,  ///< for good; Endpoint::failure() says why
};

/// Whether a completion of this very post is wanted. Most posts complete at the endpoint's own
/// interval (selective signalling); the last one of a run must say `now`, or its completion never
/// comes.
enum class Signal : bool { by_interval, now };

/// In place of a receive slot: the message took none.
inline constexpr std::uint32_t kNoSlot = ~0U;

/// In place of a length: the provider does not tell how much a write with immediate brought.
inline constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};

/// A receive that completed: a message, or a write with immediate.
struct Received {
  std::uint32_t slot;       ///< the receive slot it took; kNoSlot where none (ofi write-imm)
  std::uint32_t immediate;  ///< host byte order; 0 where the message carried none
  std::uint64_t bytes;      ///< what really arrived; kUnknownLength where that is not told
};

/// Of the peer's writes to this side: which of them may be seen by polling their last byte.
struct WriteOrder {
  std::uint64_t bytes = 0;  ///< the longest whose last byte becomes visible last; 0: of none
  /// The device or its driver says so. Else it is taken for granted, because it is one packet.
  bool promised = false;
};

/// How packets are marked, and how often a queue pair retries. -1: the back end's default.
struct PathOptions {
  std::int32_t service_level = -1;    ///< InfiniBand SL, or the 802.1p priority by it; 0..15
  std::int32_t traffic_class = -1;    ///< of the global header: on RoCE v2 the IP TOS byte; 0..255
  std::int32_t flow_label = -1;       ///< of the global header; 0..1048575
  std::int32_t hop_limit = -1;        ///< of the global header; 0..255
  std::int32_t partition_index = -1;  ///< into the port's table of partition keys; 0..65535
  std::int32_t timeout = -1;      ///< acknowledgement: 4.096 us * 2^timeout, 0 = for ever; 0..31
  std::int32_t retry_count = -1;  ///< retries without acknowledgement; 0..7
  std::int32_t rnr_retry_count = -1;  ///< retries without a receive at the peer, 7 = for ever; 0..7
  std::int32_t rnr_timer = -1;        ///< encoded wait before such a retry; 0..31

  bool operator==(const PathOptions&) const = default;
};

/// For EndpointRequest::gid_index: chosen by the route to the peer, among all GIDs or among those
/// that are not IPv4 addresses.
inline constexpr std::int32_t kAnyGid = -1;
inline constexpr std::int32_t kAnyIpv6Gid = -2;
/// The longest list of post_list().
inline constexpr std::uint32_t kMaxPostList = 1024;
/// The most regions of an endpoint.
inline constexpr std::size_t kMaxRegions = 1024;

/// What endpoints of verbs alone have.
struct VerbsOptions {
  bool shared_receives = false;         ///< one shared receive queue for all queue pairs
  std::int32_t completion_vector = -1;  ///< of the events; -1 = by the worker
  /// Each queue pair has a memory region of its own over the same memory, and its own keys.
  bool region_per_queue_pair = false;
  bool rdma_cm = false;  ///< connect by rdma_cm(7) and not by our own exchange
  std::int32_t mtu = 0;  ///< path MTU in bytes; 0 = the ports' smaller active MTU
  PathOptions path{};

  bool operator==(const VerbsOptions&) const = default;
};

/// What endpoints of libfabric alone have.
struct OfiOptions {
  std::string provider{};  ///< "" = choose
  /// Ask for completions at delivery (fi_cq(3)): as EndpointRequest::delivery, and either is
  /// enough.
  bool delivery = false;
  bool shared_memory = false;  ///< efa may reach a peer of this host by memory

  bool operator==(const OfiOptions&) const = default;
};

/// What endpoints of UCX alone have.
struct UcxOptions {
  /// What UCX may choose from, as its variable UCX_TLS has it: "tcp", "rc,ud", "^posix". "": what
  /// UCX finds in the environment, or all.
  std::string transports{};

  bool operator==(const UcxOptions&) const = default;
};

/// How an endpoint is made, alike on both sides.
struct EndpointOptions {
  Service service = Service::automatic;
  std::uint32_t queue_pairs = 1;  ///< >= 1; `depth` and `receives` are of each
  /// The longest list of post_list(): 1..depth, at most kMaxPostList. Heeded where kPostLists.
  std::uint32_t post_list = 1;
  std::uint32_t segments = 1;           ///< scatter/gather entries of a message, 1..max_size
  std::uint32_t outstanding_reads = 0;  ///< reads and atomics under way at a time; 0 = the most
  std::uint32_t misalignment = 0;       ///< bytes by which every slot is off its cache line, 0..63
  bool separate_queues = false;         ///< one completion queue for sends and one for receives
  bool events = false;  ///< an idle endpoint sleeps until a completion, and does not spin
  std::int32_t inline_limit = -1;  ///< bytes sent inline or injected: -1 = by back end, 0 = off
  memory::GpuMapping gpu_mapping = memory::GpuMapping::automatic;
  /// PCIe relaxed ordering, where the device takes it; none: of a GPU's memory alone.
  std::optional<bool> relaxed_ordering{};
  bool on_demand = false;  ///< on-demand paging instead of pinned pages
  VerbsOptions verbs{};
  OfiOptions ofi{};
  UcxOptions ucx{};
};

/// What one side of a run needs from an endpoint. Both sides give the same values, except `client`
/// and what names this side's device and memory. Not all of them are compared: other sizes or
/// receives at the peer may show only when a message is lost or cut.
struct EndpointRequest {
  EndpointOptions options{};
  bool client = true;        ///< this side initiates
  std::uint32_t worker = 0;  ///< of several endpoints of a session, which: they share no vector
  OperationSet operations = OperationCode::send;  ///< what may be posted, in any order
  /// Completions at delivery, of any back end: it changes those alone that have others too.
  bool delivery = false;
  std::uint32_t depth = 1;     ///< posts that may be outstanding, >= 1
  std::uint32_t receives = 1;  ///< receives kept posted, >= 1
  /// Ask for one completion in so many posts, 1..depth; who posts lists, at most depth - post_list
  /// + 1, or a list may find no room for ever.
  std::uint32_t signal_every = 1;
  bool latency = true;         ///< small messages go inline or injected; else a stream
  std::uint64_t max_size = 8;  ///< bytes; the largest message, >= 1
  /// Memory of the caller, in place of memory of the endpoint's own: up to kMaxRegions spans. Each
  /// is registered where it lies and never copied; messages are sent from it, and the peer reads
  /// and writes it. The first is region 0, of at least `max_size` bytes: the "window" (not a verbs
  /// memory window). send_region() and window() are its bytes, of as many slots as fit, whatever
  /// `send_slots` says. Those behind it may have any length but 0, and are for a RegionMessage. The
  /// caller keeps all of them until the endpoint is gone. `memory` tells their kind: "host", or
  /// "cuda:0" for pointers of that GPU. None: the endpoint allocates, and send_region() and
  /// window() are separate.
  std::vector<std::span<std::byte>> buffers{};
  std::span<std::byte> receive_buffer;  ///< the same for the receive slots; empty: allocate
  std::uint32_t local_queue_pairs = 0;  ///< UD only: so many serve all peers; 0 = one for each
  std::uint32_t send_slots = 1;         ///< message buffers to send from, and of the window; >= 1
  std::uint32_t receive_slots = 1;   ///< distinct receive buffers; receive r uses r % receive_slots
  std::uint64_t slot_stride = 0;     ///< bytes from one slot to the next; 0 = memory::slot_stride()
  std::string memory = "host";       ///< where messages lie, see memory/
  std::string numa = "auto";         ///< "auto" = near the device, "none", or a node's number
  std::string device;                ///< "" = choose; verbs: "NAME[:PORT]"; ofi: domain name
  std::string fabric;                ///< ofi only, its name: "efa", "efa-direct"; "" = choose
  std::int32_t gid_index = kAnyGid;  ///< verbs on RoCE only; or kAnyGid, kAnyIpv6Gid: choose
  std::chrono::milliseconds timeout{10000};  ///< of each step of connect() that waits for the peer
  std::string local_ip;  ///< this side's address of the control connection; "" if none
  std::string peer_ip;   ///< the other side's address of it; "" if none
  std::shared_ptr<const SessionRequest> session{};  ///< of the library's own sessions
  /// Ends what connect() waits for, and nothing after it: a loop of your own ends when its Watch
  /// says so, and a run by RunHooks::stop.
  std::stop_token stop{};
};

/// One way in which a transport can reach its peer, chosen by the client for both sides.
struct Choice {
  std::string client;  ///< opaque to all but the back end that wrote it
  std::string server;
  std::string reason;  ///< one line for the report: "RoCE v2 GID 1: on the route to 10.0.0.2"
};

/// Facts about an open endpoint, for the report.
struct Description {
  std::string backend;     ///< "verbs"
  std::string provider;    ///< resolved: "rxe", "tcp;ofi_rxm", "loop"
  std::string device;      ///< resolved: "rxe0:1", "lo"
  std::string transport;   ///< the service: "rc", "rdm"
  std::string completion;  ///< a local one: "inject", "transmit", "acknowledged", "delivery"
  std::vector<std::pair<std::string, std::string>> details;  ///< mtu, gid, inline, api, ...
  /// The routes by which a GPU's memory is registered, each once.
  std::vector<std::string> memory_routes = {};
};

/// One line of `rdmabench devices`.
struct DeviceInfo {
  std::string backend;
  std::string name;                                          ///< "rxe0:1", or the provider's domain
  std::string provider;                                      ///< "rxe", "mlx5", "tcp;ofi_rxm"
  std::string state;                                         ///< "active", "down", ...
  std::vector<std::pair<std::string, std::string>> details;  ///< named facts
};

/// Where messages lie. Slot i of a region starts at i * stride; the loops walk slots by adding
/// `stride`.
struct Region {
  std::byte* data = nullptr;
  std::uint64_t stride = 0;  ///< bytes from one slot to the next, a multiple of 64
  std::uint32_t slots = 0;
};

/// One message of a list, with the parameters of post().
struct Message {
  std::uint64_t local;   ///< where its bytes lie: offset into send_region()
  std::uint64_t remote;  ///< one-sided operations: offset into the peer's window
  std::uint64_t bytes;   ///< 0..EndpointRequest::max_size
  std::uint64_t word;
};

/// Which of an endpoint's `buffers`. 0 is there without them, too: send_region() on this side, the
/// window on the peer's.
using RegionId = std::uint32_t;

/// One message between any region of this side and any of the peer.
struct RegionMessage {
  RegionId local = 0;           ///< the region where its bytes lie
  RegionId remote = 0;          ///< one-sided operations: the peer's region
  std::uint64_t local_at = 0;   ///< offset into the one, bytes
  std::uint64_t remote_at = 0;  ///< offset into the other, bytes
  std::uint64_t bytes = 0;      ///< 0..EndpointRequest::max_size
  std::uint64_t word = 0;
};

/// Whether `bytes` from `offset` on lie within a region of that size.
constexpr bool lies_within(std::uint64_t offset, std::uint64_t bytes,
                           std::uint64_t region_bytes) noexcept {
  return bytes <= region_bytes && offset <= region_bytes - bytes;
}

/// What most members of the concept Transport are, for a back end of another project to derive
/// from: one queue pair, polled, without lists and without one-sided operations.
struct TransportDefaults {
  static constexpr bool kManyQueuePairs = false;
  static constexpr bool kPostLists = false;
  static constexpr bool kNeedsProgress = false;
  static bool wait_for_event(std::chrono::milliseconds /*at_most*/) noexcept { return true; }
  static std::uint32_t queue_pairs() noexcept { return 1; }
  static std::uint64_t peer_window_bytes() noexcept { return 0; }
  static WriteOrder write_order() noexcept { return {}; }
  static Region window() noexcept { return {}; }
};

// clang-format off
/// What an Endpoint must offer. Set-up may throw Error; everything marked noexcept is the data path.
/// One thread drives an endpoint at a time. Derived from TransportDefaults, it has those already.
///
///   Endpoint(const EndpointRequest&, std::string_view choice)   opens and registers; no peer needed. What it
///                        does not heed of `max_size`, `depth`, `receives`, the slots and their stride, `misalignment`,
///                        `buffers` and `receive_buffer` it refuses by Error(usage), or what is measured is not what
///                        was asked for. Options that some back ends alone have do not come to one that was added,
///                        but for those that its row takes (run/backends.h).
///                        Receive slots are numbered from 0: those of queue pair q begin at q * receives
///   address()            opaque text that the peer's connect() needs
///   connect(text)        checks every bound of what the peer sent before using it. Afterwards both sides post, perhaps
///                        before the peer has called its own: a post that cannot be taken yet is `busy`
///   post<Op>(local, remote, bytes, word, signal, queue_pair = 0)
///                        initiates one message. Its bytes lie at send_region() + local; reads and atomics bring
///                        their data there. One-sided operations act on the peer's window at `remote`, others
///                        ignore it. `word` is the immediate; compare-swap replaces it by word + 1. Any operation
///                        that the endpoint was opened for may follow any other, with any length up to max_size;
///                        atomics have 8 bytes. A send of 0 bytes is always permitted. Where an operation or a
///                        length is not, `failed`. The caller keeps offsets within the regions: loop refuses
///                        others (`failed`), verbs completes them with an error, and a provider of libfabric
///                        need not look at `local`
///   post_list<Op>(messages, signal, queue_pair = 0)   where kPostLists: all of 0..post_list messages by one call,
///                        or none; `now` concerns the last one, an empty list does nothing, and a longer one is
///                        `failed`
///   post<Op>(RegionMessage, signal, queue_pair = 0), and where kPostLists a post_list<Op>() of them   optional: the
///                        same between any two regions, at the cost of looking them up. Every back end here has it
///                        and answers `failed` to a region that is not there and to what lies outside of one
///   post_receive(slot)   gives a receive slot back, also from within on_receive() of a poll; connect() posts all
///                        slots of all queue pairs
///   defer_receive(slot)  optional: the same from within on_receive(), for all of a poll by one call at its end
///   poll(on_receive)     progress: takes what has completed, calls on_receive(const Received&) for each
///                        receive; returns how many completions it saw, or -1 when one failed. A caller whose
///                        peer may share its CPU yields (sched_yield(2)) between empty polls: a peer that is
///                        scheduled out completes nothing, and two spinning threads wait for the scheduler's slice
///   wait_for_event(at_most)   after an empty poll: returns at once, or where `events` was asked for when
///                        something may have completed or the time has passed; false when that failed
///   posted(), completed()  messages since connect(), over all queue pairs; completed() moves with the signalled
///                        completions, and reaches posted() once the last one of each queue pair is in. A back
///                        end may complete every post at the next poll, whatever its signal
///   queue_pairs()        their number
///   peer_window_bytes()  after connect(): what this side may read and write of the peer
///   peer_region_bytes(region)   optional: the same of one region; 0 for one that the peer does not have
///   write_order()        after connect(): which writes of the peer may be seen by polling memory. Nothing promises
///                        an order between several writes: wait for the completion of a message behind them
///   failure()            after PostStatus::failed or poll() == -1: what failed, and likely causes
///   failed_call()        optional: its library, call, status and code, as a Failure
///   device_failed()      optional: whether the device reported that it, or an object of the endpoint, has failed:
///                        asked when polls have found nothing for a while. Then failure() says what
///   device_report()      optional: what the device reported, as that the link went down; "" for nothing
///   describe(bytes)      facts for the report; Description::completion is that of a message of so many bytes
///   send_memory(), receive_memory(), window_memory()      where messages may lie in other memory than the
///                        host's: the memory::Buffer that each region is in, all of the same kind. Where its gpu()
///                        is not null the loops leave the bytes alone
///
/// Traits:
///   supports<Op>               whether post<Op> exists
///   kReliable                  a message that was posted arrives, or poll() fails
///   kOrdersMessages            receives complete in the order of the sends, and completed() == n says that
///                              the first n posts have completed: false where there are several queue pairs,
///                              and with every provider of libfabric. Where it is false, a message may arrive
///                              before the data of a write that was posted before it: wait for the write's
///                              completion first, with `delivery`
///   kManyQueuePairs            queue_pairs() may be more than 1
///   kPostLists                 post_list() exists
///   kNeedsProgress             whether the peer's reads and writes wait for this side's poll()
///   consumes_receive<Op>       whether Op takes a posted receive at the target
template <class T>
concept Transport = requires(T& t, const T& c, std::string_view text, std::uint64_t at,
                             std::uint32_t number, Signal signal) {
  { T::kReliable } -> std::convertible_to<bool>;
  { T::kManyQueuePairs } -> std::convertible_to<bool>;
  { T::kPostLists } -> std::convertible_to<bool>;
  { T::kOrdersMessages } -> std::convertible_to<bool>;
  { T::kNeedsProgress } -> std::convertible_to<bool>;
  { T::template supports<Send> } -> std::convertible_to<bool>;
  { T::template consumes_receive<WriteImm> } -> std::convertible_to<bool>;
  { c.address() } -> std::same_as<std::string>;
  { t.connect(text) };
  { c.describe(at) } -> std::same_as<Description>;
  { c.failure() } -> std::same_as<std::string>;
  { t.template post<Send>(at, at, at, at, signal, number) } noexcept -> std::same_as<PostStatus>;
  { t.post_receive(number) } noexcept -> std::same_as<PostStatus>;
  { t.poll([](const Received&) noexcept {}) } noexcept -> std::same_as<int>;
  { t.wait_for_event(std::chrono::milliseconds()) } noexcept -> std::same_as<bool>;
  { c.peer_window_bytes() } noexcept -> std::same_as<std::uint64_t>;
  { c.write_order() } noexcept -> std::same_as<WriteOrder>;
  { c.queue_pairs() } noexcept -> std::same_as<std::uint32_t>;
  { c.posted() } noexcept -> std::same_as<std::uint64_t>;
  { c.completed() } noexcept -> std::same_as<std::uint64_t>;
  { c.send_region() } noexcept -> std::same_as<Region>;
  { c.receive_region() } noexcept -> std::same_as<Region>;
  { c.window() } noexcept -> std::same_as<Region>;
};
// clang-format on

}  // namespace rdmabench::inline v1::transport
