#include "rendezvous_tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "admission.h"
#include "key_value_store.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/bootstrap.h"
#include "rdmabench/control/listener.h"
#include "readiness.h"

namespace rdmabench::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kGrace{2};        // for rank 0 to say who is late
constexpr std::chrono::seconds kAnswerLimit{1};  // a rank waits for its answer, so it reads it
constexpr std::chrono::seconds kIdle{60};

/// Whether the name means this host alone, so that no other host needs to reach it.
bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

std::chrono::milliseconds wait_of(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
  return std::min(left, kMaxWait);
}

}  // namespace

/// Rank 0's service to all ranks, itself included: a thread that has the key-value store.
/// Thread rule: made and destroyed by one thread; the rest belongs to its own thread.
class RendezvousServer {
 public:
  /// Serves until it is destroyed. Throws std::system_error when no thread can be started.
  RendezvousServer(Listener listener, std::uint32_t size);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;

 private:
  struct Client {
    std::uint32_t rank;
    Channel channel;
  };

  void run() noexcept;
  void serve(std::uint64_t key);
  void answer_all();
  void drop(std::uint64_t key);
  std::chrono::nanoseconds patience() const;

  Listener listener_;
  Readiness readiness_;
  Admission admission_;
  KeyValueStore store_;
  std::map<std::uint64_t, Client> clients_;  // by the key of the connection
  std::vector<std::uint64_t> key_of_rank_;   // 0 while it is not here
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

RendezvousServer::RendezvousServer(Listener listener, std::uint32_t size)
    : listener_(std::move(listener)),
      admission_(listener_, readiness_, {.size = size}),
      store_(size),
      key_of_rank_(size, 0) {
  thread_ = std::thread([this] { run(); });
}

RendezvousServer::~RendezvousServer() {
  stop_ = true;
  readiness_.wake();
  thread_.join();
}

void RendezvousServer::run() noexcept {
  try {
    while (!stop_) {
      for (const std::uint64_t key : readiness_.wait(Deadline::after(patience()))) {
        if (!admission_.owns(key)) {
          serve(key);
        } else if (auto joined = admission_.handle(key)) {
          const RankHello& hello = joined->hello;
          store_.join(hello.rank, fmt::format("{} ({})", hello.host, joined->channel.peer_ip()));
          key_of_rank_[hello.rank] = key;
          clients_.emplace(key, Client{hello.rank, std::move(joined->channel)});
        }
      }
      admission_.expire();
      store_.expire();
      answer_all();
    }
  } catch (const std::exception&) {
    // No memory, or epoll_wait(2) failed: the ranks see their connections close.
  }
  clients_.clear();
}

void RendezvousServer::serve(std::uint64_t key) {
  const auto client = clients_.find(key);
  if (client == clients_.end()) return;
  Channel& channel = client->second.channel;
  try {
    std::optional<Message> message = channel.receive_ready("call");
    if (!message) return;
    const std::string call = channel.expect(std::move(*message), RendezvousMessage::call);
    store_.call(client->second.rank, parse_call(call));
  } catch (const Error& error) {
    channel.abort(error.what());
    drop(key);
  }
}

/// Sending may find that a rank has left, which may be what others wait to hear.
void RendezvousServer::answer_all() {
  for (auto replies = store_.take_replies(); !replies.empty(); replies = store_.take_replies()) {
    for (const KeyValueStore::Reply& reply : replies) {
      const auto client = clients_.find(key_of_rank_[reply.rank]);
      if (client == clients_.end()) continue;
      try {
        client->second.channel.send(RendezvousMessage::answer, to_text(reply.answer),
                                    Deadline::after(kAnswerLimit));
      } catch (const Error&) {
        drop(client->first);
      }
    }
  }
}

void RendezvousServer::drop(std::uint64_t key) {
  const auto client = clients_.find(key);
  const std::uint32_t rank = client->second.rank;
  key_of_rank_[rank] = 0;
  admission_.vacate(rank);
  clients_.erase(client);
  store_.leave(rank);
}

/// For how long nothing has to be done.
std::chrono::nanoseconds RendezvousServer::patience() const {
  return std::min(store_.next_expiry().value_or(kIdle), admission_.next_expiry().value_or(kIdle));
}

TcpRendezvous::TcpRendezvous(const Launch& launch, const Authentication& authentication,
                             std::chrono::milliseconds timeout)
    : Rendezvous(launch.place),
      address_(launch.address),
      authentication_(launch.place.size == 1 ? Authentication::of_this_process()
                                             : authentication.loaded()),
      timeout_(timeout) {
  if (place().rank == 0) serve();
  join();
}

TcpRendezvous::~TcpRendezvous() = default;

void TcpRendezvous::serve() {
  try {
    Listener listener(is_loopback(address_.host) ? address_.host : "", address_.port,
                      authentication_);
    address_.port = listener.port();
    server_ = std::make_unique<RendezvousServer>(std::move(listener), place().size);
  } catch (const Error& error) {
    throw Error(Fault::failed, fmt::format("rank 0 cannot serve the others: {}", reason_of(error)),
                "Does another job use this port? Set RDMABENCH_RENDEZVOUS=HOST:PORT, alike for all "
                "ranks.");
  }
}

/// A name that does not resolve yet, or a host without a route, may be one that is starting.
void TcpRendezvous::join() {
  const bool own = place().rank == 0 && !is_loopback(address_.host);
  channel_ = join_rank_0({.port = address_.port,
                          .addresses = {own ? "127.0.0.1" : address_.host},
                          .authentication = authentication_},
                         {.rank = place().rank, .size = place().size, .host = place().host},
                         Deadline::after(timeout_), true);
}

/// Throws Error(failed) with rank 0's reason.
std::string TcpRendezvous::ask(const Call& call, Deadline deadline) {
  const Deadline limit = Deadline::after(deadline.left() + kGrace);
  std::string payload;
  try {
    channel_->send(RendezvousMessage::call, to_text(call), limit);
    payload = channel_->receive(RendezvousMessage::answer, limit, "answer");
  } catch (const Error& error) {
    throw Error(Fault::failed, fmt::format("rank 0: {}", reason_of(error)),
                "Look at what rank 0 printed.");
  }
  Answer answer = parse_answer(payload);
  if (!answer.error.empty()) throw Error(Fault::failed, answer.error);
  return std::move(answer.value);
}

void TcpRendezvous::put(std::string_view key, std::string_view value) {
  check_put(key, value);
  static_cast<void>(ask(PutCall{std::string(key), std::string(value)}, Deadline::after(timeout_)));
}

std::string TcpRendezvous::get(std::uint32_t rank, std::string_view key, Deadline deadline) {
  check_get(rank, key);
  return ask(GetCall{rank, std::string(key), wait_of(deadline)}, deadline);
}

void TcpRendezvous::barrier(Deadline deadline) {
  static_cast<void>(ask(BarrierCall{wait_of(deadline)}, deadline));
}

Authentication TcpRendezvous::authentication(std::string_view key) const {
  return authentication_.derived(key);
}

}  // namespace rdmabench::control
