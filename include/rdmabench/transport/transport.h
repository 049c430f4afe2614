// The Transport contract: what a back end's Endpoint offers to the loops of workload/.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/transport/operation.h"

namespace rdmabench::transport {

enum class PostStatus : std::uint8_t {
  posted,
  busy,    ///< the send queue is full, or the provider said "again": poll, then post again
  failed,  ///< for good; Endpoint::failure() says why
};

/// Whether a completion of this very post is wanted. Most posts complete at the endpoint's own
/// interval (selective signalling); the last one of a run must say `now`, or its completion never
/// comes.
enum class Signal : bool { by_interval, now };

/// In place of a receive slot: the message took none.
inline constexpr std::uint32_t kNoSlot = ~0U;

/// A receive that completed: a message, or a write with immediate.
struct Received {
  std::uint32_t slot;       ///< the receive slot it took; kNoSlot where none (ofi write-imm)
  std::uint32_t immediate;  ///< host byte order; 0 where the message carried none
  std::uint64_t bytes;      ///< payload length; 0 where the provider does not tell
};

/// What one side of a run needs from an endpoint. Both sides give the same values, except `role`.
struct EndpointRequest {
  bool client = true;  ///< this side initiates
  OperationCode operation = OperationCode::send;
  bool latency = true;              ///< ping-pong or read latency; else a stream
  std::uint64_t max_size = 8;       ///< bytes; the largest message of the session, >= 1
  std::uint32_t depth = 1;          ///< posts that may be outstanding, >= 1
  std::uint32_t receives = 1;       ///< receives kept posted, >= 1
  std::uint32_t send_slots = 1;     ///< message buffers to send from, and of the window; >= 1
  std::uint32_t receive_slots = 1;  ///< distinct receive buffers; receive r uses r % receive_slots
  std::uint32_t signal_every = 1;   ///< ask for one completion in so many posts, 1..depth
  std::int32_t inline_limit = -1;   ///< bytes sent inline or injected: -1 = by back end, 0 = off
  std::string device;               ///< "" = choose; verbs: "NAME[:PORT]"; ofi: domain name
  std::string provider;             ///< ofi only; "" = choose
  std::int32_t gid_index = -1;      ///< verbs on RoCE only; -1 = choose
  std::int32_t mtu = 0;  ///< verbs only, path MTU in bytes; 0 = the ports' smaller active MTU
  std::string local_ip;  ///< this side's address of the control connection; "" if none
  std::string peer_ip;   ///< the other side's address of it; "" if none
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
  std::string transport;   ///< "rc", "rdm"
  std::string completion;  ///< level of a local completion: "inject", "transmit", "delivery"
  std::vector<std::pair<std::string, std::string>> details;  ///< mtu, gid, inline, api, ...
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

// clang-format off
/// What an Endpoint must offer. Set-up may throw Error; everything marked noexcept is the data path.
/// One thread drives an endpoint at a time.
///
///   Endpoint(const EndpointRequest&, std::string_view choice)   opens and registers; no peer needed
///   address()            opaque text that the peer's connect() needs
///   connect(text)        checks every bound of what the peer sent before using it
///   prepare(op, size)    builds the work request for messages of `size` bytes (1..max_size)
///   post<Op>(offset, immediate, signal)
///                        initiates one message: local bytes at send_region() + offset, and for one-sided
///                        operations the peer's window at the same offset
///   post_token(signal)   a zero-byte send: "I am done"; the peer gets a Received of 0 bytes
///   post_receive(slot)   gives a receive slot back; all `receives` slots are posted by connect()
///   poll(on_receive)     progress: takes what has completed, calls on_receive(const Received&) for each
///                        receive; returns how many completions it saw, or -1 when one failed
///   posted(), completed()  counts of post() and post_token() since the last prepare(); completed() moves
///                        with the signalled completions, and reaches posted() once the last one is in
///   failure()            after PostStatus::failed or poll() == -1: what failed, and likely causes
///
/// Traits:
///   supports<Op>               whether post<Op> exists
///   kOrdersWrites              bytes of a write become visible in order, the last byte last, and writes
///                              in order of posting: memory polling is a sound signal
///   kOrdersMessages            receives complete in the order of the sends
///   kNeedsProgress             whether the peer's reads and writes wait for this side's poll()
///   consumes_receive<Op>       whether Op takes a posted receive at the target
template <class T>
concept Transport = requires(T& t, const T& c, std::string_view text, OperationCode code,
                             std::uint64_t offset, std::uint32_t word, Signal signal) {
  { T::kOrdersWrites } -> std::convertible_to<bool>;
  { T::kOrdersMessages } -> std::convertible_to<bool>;
  { T::kNeedsProgress } -> std::convertible_to<bool>;
  { T::template supports<Send> } -> std::convertible_to<bool>;
  { T::template consumes_receive<WriteImm> } -> std::convertible_to<bool>;
  { c.address() } -> std::same_as<std::string>;
  { t.connect(text) };
  { t.prepare(code, offset) };
  { c.describe() } -> std::same_as<Description>;
  { c.failure() } -> std::same_as<std::string>;
  { t.template post<Send>(offset, word, signal) } noexcept -> std::same_as<PostStatus>;
  { t.post_token(signal) } noexcept -> std::same_as<PostStatus>;
  { t.post_receive(word) } noexcept -> std::same_as<PostStatus>;
  { t.poll([](const Received&) noexcept {}) } noexcept -> std::same_as<int>;
  { c.posted() } noexcept -> std::same_as<std::uint64_t>;
  { c.completed() } noexcept -> std::same_as<std::uint64_t>;
  { c.send_region() } noexcept -> std::same_as<Region>;
  { c.receive_region() } noexcept -> std::same_as<Region>;
  { c.window() } noexcept -> std::same_as<Region>;
};
// clang-format on

}  // namespace rdmabench::transport
