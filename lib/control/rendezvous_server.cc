#include "rendezvous_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rdmabench/base/error.h"

namespace rdmabench::control {
namespace {

constexpr std::chrono::seconds kAnswerLimit{1};  // a rank waits for its answer, so it reads it
constexpr std::chrono::seconds kIdle{60};

}  // namespace

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
  clients_.erase(client);
  store_.leave(rank);
}

/// For how long nothing has to be done.
std::chrono::nanoseconds RendezvousServer::patience() const {
  return std::min(store_.next_expiry().value_or(kIdle), admission_.next_expiry().value_or(kIdle));
}

}  // namespace rdmabench::control
