// The messages between client and server, as structs. control/ frames them.
//
//   client                                server
//   request  {what, offers of each rail} ->
//                                    <-   offer   {offers}
//   choice   {back end, server's part} ->
//                                    <-   ready   (admitted: both sides open their endpoints)
//                                    <-   address {address of each worker, environment}
//   address  {addresses, environment} ->
//                                    <-   ready   {what it can tell of writes} (connected)
//   epoch    {size, messages, rate}  ->                               } as often
//                                    <-   ready   (prepared)          } as the
//   ... the data path ...                                             } client
//                                    <-   result  (target's view)     } likes
//
//   While the messages of an epoch that grows are under way, the client says how many more come
//   behind them, as often as it likes and with 0 at last, and nothing rests for it. Of a duplex the
//   server says first, each time, that it has come so far as well.
//                                   [<-   more    {0}]
//   more     {messages}              ->
//
//   bye                              ->
//                                    <-   bye     {what the server counted}
//
// Either side may send abort {reason} instead of anything. A server whose side of an epoch ended
// otherwise than ok sends its result behind the abort, so that the client knows the outcome as a
// type. Exception: with GPU memory and mapping `auto`, an abort before the first timed epoch
// restarts the session: after both sides have sent and received one, the workers are closed, and
// the client's next message is a request, or the end.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/walk.h"
#include "health/run_watch.h"
#include "rdmabench/control/channel.h"
#include "rdmabench/results/result.h"
#include "rdmabench/run/config.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::run {

inline constexpr double kMaxRate = 1e12;  ///< messages per second

/// What client and server of a session send each other.
enum class SessionMessage : std::uint16_t {
  abort = control::kAbortCode,
  request = control::first_code(control::Protocol::session),
  offer,
  choice,
  address,
  ready,
  epoch,
  result,
  bye,
  more,
};
constexpr std::string_view name_of(SessionMessage type) noexcept {
  return control::message_name(
      static_cast<std::uint16_t>(type), control::first_code(control::Protocol::session),
      std::array<std::string_view, 9>{"request", "offer", "choice", "address", "ready", "epoch",
                                      "result", "bye", "more"});
}

/// What both sides agree on before they open endpoints.
struct SessionSpec {
  Traffic traffic{};
  transport::EndpointOptions endpoint{};
  std::uint64_t max_size = 8;                ///< 1..kMaxSize
  std::string peer_memory = "host";          ///< the server's: "host", "huge", "cuda:..."
  bool gpu = false;                          ///< messages of either side lie in a GPU's memory
  bool paced = false;                        ///< a stream that keeps to a rate
  std::chrono::milliseconds timeout{10000};  ///< 100 ms .. 10 min
};

/// What one side offers for a back end, or why it has no offer.
struct Offer {
  std::string backend;
  std::string text;   ///< for the back end alone; empty when there is an error
  std::string error;  ///< for people
};

struct Request {
  SessionSpec spec;
  std::vector<std::vector<Offer>> rails;  ///< offers for each device that the client named, >= 1
};

struct Selection {
  std::string backend;
  std::vector<std::string> choices;  ///< for each rail, the server's part of transport::Choice
};

/// How the memory of a side's messages reaches the wire.
enum class MemoryPath : std::uint8_t {
  host,    ///< host memory
  direct,  ///< a GPU's memory, registered in place
  staged,  ///< a GPU's memory, copied through pinned host memory
};

struct Introduction {
  std::vector<std::string> addresses;  ///< of each worker
  report::Facts environment;
  MemoryPath memory = MemoryPath::host;
};

struct EpochOrder {
  std::uint64_t size = 1;        ///< 1..max_size
  std::uint64_t iterations = 1;  ///< of each worker, 1..kMaxEpoch
  double rate = 0;               ///< messages per second of each worker; 0 = unpaced
  bool verify = false;           ///< compare all that arrives, whatever the session says
  /// A latency test of write: each carries an immediate, by which its target sees it arrive.
  bool immediate = false;
  bool grows = false;  ///< of a stream: more messages follow, by Extension
};

/// Of an epoch that grows.
struct Extension {
  std::uint64_t iterations =
      0;  ///< more, of each worker; with those before 1..kMaxEpoch. 0: no more
};

/// The server's endpoints are connected.
struct Readiness {
  transport::WriteOrder writes;  ///< what all of them say
};

/// What the target saw of an epoch, over all workers.
struct EpochReport {
  std::uint64_t arrived = 0;                          ///< messages, where it is told of them
  std::uint64_t succeeded = 0;                        ///< atomics that changed a word by one
  workload::Outcome outcome = workload::Outcome::ok;  ///< otherwise only behind an abort
};

/// The server's last message: what it observed over the whole session.
struct Farewell {
  std::optional<health::RunConditions> conditions{};  ///< none: it did not watch
};

void walk(MessageFields& fields, Request& request);
void walk(MessageFields& fields, Offer& offer);
void walk(MessageFields& fields, std::vector<Offer>& offers);
void walk(MessageFields& fields, Selection& selection);
void walk(MessageFields& fields, Introduction& introduction);
void walk(MessageFields& fields, Readiness& readiness);
/// With `spec`, one that fits neither its sizes nor its operation is refused.
void walk(MessageFields& fields, EpochOrder& order, const SessionSpec* spec = nullptr);
void walk(MessageFields& fields, Extension& extension);
void walk(MessageFields& fields, EpochReport& report);
void walk(MessageFields& fields, Farewell& farewell);
using rdmabench::to_text;

/// Throws Error(usage) that names two options which exclude each other, and what to change. Both
/// sides check before anything is opened: the server does not trust its client.
void check(const SessionSpec& spec);

/// Whether it posts as many messages as the depth allows.
bool is_stream(const SessionSpec& spec) noexcept;

/// Whether each side sees the other's writes by polling its own memory.
bool is_ping_pong_of_writes(const SessionSpec& spec) noexcept;

// What was given, else what is chosen.
std::uint32_t depth_of(const SessionSpec& spec) noexcept;
std::uint32_t signal_every_of(const SessionSpec& spec) noexcept;

/// How much an endpoint of a session has under way, and where it lies.
struct SlotPlan {
  std::uint32_t depth = 1;          ///< posts outstanding on a queue pair
  std::uint32_t receives = 1;       ///< kept posted on a queue pair
  std::uint32_t signal_every = 1;   ///< posts for each completion: 1..depth
  std::uint32_t post_list = 1;      ///< 1..depth
  std::uint32_t send_slots = 1;     ///< of all queue pairs
  std::uint32_t receive_slots = 1;  ///< likewise
  std::uint64_t stride = 64;        ///< bytes from one slot to the next

  bool operator==(const SlotPlan&) const = default;
};

/// Pure, so that both sides come to the same sizes.
SlotPlan plan_slots(const SessionSpec& spec);

/// The endpoint that a side needs for each worker.
transport::EndpointRequest endpoint_request(const SessionSpec& spec, bool client);

/// Bytes of memory that the messages of such an endpoint take, in whole pages; saturates.
std::uint64_t memory_of(const transport::EndpointRequest& request);

}  // namespace rdmabench::inline v1::run
