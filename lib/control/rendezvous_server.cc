#include "rendezvous_server.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kHelloLimit{10};
constexpr std::chrono::seconds kSendLimit{1};    // a rank waits for its answer, so it reads it
constexpr std::chrono::milliseconds kPause{50};  // when there is no room for one more connection
constexpr std::chrono::seconds kIdle{60};
constexpr std::size_t kMaxStrangers = 1024;

}  // namespace

RendezvousServer::RendezvousServer(Listener listener, std::uint32_t size)
    : listener_(std::move(listener)), store_(size), of_rank_(size, clients_.end()) {
  thread_ = std::thread([this] { run(); });
}

RendezvousServer::~RendezvousServer() {
  listener_.stop();
  thread_.join();
}

void RendezvousServer::run() noexcept {
  try {
    while (!listener_.stopped()) turn();
  } catch (const std::exception&) {
    // No memory, or no poll(2): the ranks see their connections close.
  }
  clients_.clear();
}

/// One wait, and all that came of it.
void RendezvousServer::turn() {
  std::vector<pollfd> entries{{listener_.stop_handle(), POLLIN, 0},
                              {listener_.handle(), POLLIN, 0}};
  std::vector<Clients::iterator> owners;
  for (auto client = clients_.begin(); client != clients_.end(); ++client) {
    entries.push_back({client->channel.handle(), POLLIN, 0});
    owners.push_back(client);
  }
  static_cast<void>(wait_for(entries, Deadline::after(patience())));
  if (entries[1].revents != 0) accept();
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const auto client = owners[i];
    const bool late = !client->rank && client->hello_by.passed();
    try {
      if (entries[i + 2].revents != 0) read(client);
      if (!client->rank && late) throw Error(Fault::failed, "no hello in time");
    } catch (const Error& error) {
      client->channel.abort(error.what());
      drop(client);
    }
  }
  store_.expire();
  answer_all();
}

void RendezvousServer::accept() {
  try {
    if (auto channel = listener_.accept(Deadline::after({}))) {
      if (strangers_ >= kMaxStrangers) return;  // whoever they are, they ask again
      clients_.push_back({std::move(*channel), Deadline::after(kHelloLimit), {}});
      ++strangers_;
    }
  } catch (const Error&) {
    std::this_thread::sleep_for(kPause);
  }
}

/// Throws Error when the connection is to be closed.
void RendezvousServer::read(Clients::iterator client) {
  const std::string_view due = client->rank ? "request" : "hello";
  const std::optional<Message> message = client->channel.receive_ready(due);
  if (!message) return;
  if (message->type != (client->rank ? MessageType::request : MessageType::hello)) {
    throw Error(Fault::failed, "a message out of turn", "Is this 'rdmabench serve's port?");
  }
  if (client->rank) {
    store_.call(*client->rank, parse_call(message->payload));
    return;
  }
  const RankHello hello = parse_hello(message->payload);
  store_.join(hello, client->channel.peer_ip());
  client->rank = hello.rank;
  --strangers_;
  of_rank_[hello.rank] = client;
  client->channel.send(MessageType::result, to_text(Answer{}), Deadline::after(kSendLimit));
}

/// Sending may find that a rank has left, which may be what others wait to hear.
void RendezvousServer::answer_all() {
  for (auto replies = store_.take_replies(); !replies.empty(); replies = store_.take_replies()) {
    for (const KeyValueStore::Reply& reply : replies) {
      const auto client = of_rank_[reply.rank];
      if (client == clients_.end()) continue;
      try {
        client->channel.send(MessageType::result, to_text(reply.answer),
                             Deadline::after(kSendLimit));
      } catch (const Error&) {
        drop(client);
      }
    }
  }
}

void RendezvousServer::drop(Clients::iterator client) {
  if (client->rank) {
    of_rank_[*client->rank] = clients_.end();
    store_.leave(*client->rank);
  } else {
    --strangers_;
  }
  clients_.erase(client);
}

/// How long nothing has to be done.
std::chrono::nanoseconds RendezvousServer::patience() const {
  std::chrono::nanoseconds left = store_.next_expiry().value_or(kIdle);
  if (strangers_ == 0) return left;
  for (const Client& client : clients_) {
    if (!client.rank) left = std::min(left, client.hello_by.left());
  }
  return left;
}

}  // namespace rdmabench::control
