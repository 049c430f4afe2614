// A batch for several peers: one process writes from the same two buffers to three peers, by an
// endpoint and a list for each. The peers are threads here, which have buffers of their own.
//
//   lists_to_peers BACKEND PROVIDER
#include <array>
#include <cstdio>
#include <functional>
#include <future>
#include <span>
#include <string>
#include <vector>

#include <rdmabench/base/error.h>
#include <rdmabench/control/listener.h>
#include <rdmabench/run/connect.h>
#include <rdmabench/workload/epoch_io.h>

using namespace rdmabench;
using transport::RegionMessage, transport::Signal, transport::WriteImm;
constexpr std::uint64_t kPeers = 3, kMessages = 4, kBytes = 64, kPieces = kPeers * kMessages;
using Buffers = std::array<std::array<std::byte, kPieces * kBytes>, 2>;

/// Message k for a peer: from one buffer to the other one of the peer.
RegionMessage message(std::uint64_t peer, std::uint64_t k) {
  return {.local = transport::RegionId(k % 2),
          .remote = transport::RegionId((k + 1) % 2),
          .local_at = (peer * kMessages + k) * kBytes,
          .remote_at = k * kBytes,
          .bytes = kBytes,
          .word = k};
}

std::byte content(transport::RegionId buffer, std::uint64_t at) {
  return std::byte(100 * buffer + at / kBytes + 1);
}

/// Polls and waits over one endpoint.
template <transport::Transport T>
struct Side {
  explicit Side(T& connected) : endpoint(connected) {}
  void demand(bool good, const std::string& what) {
    if (!good) throw Error(Fault::failed, what + ": " + endpoint.failure());
  }

  T& endpoint;
  workload::EpochResult result;
  workload::Watch watch{std::chrono::seconds(60), [] { return false; }};
  workload::EpochIo<T> io{endpoint, {.receives = kMessages}, watch, result};
};

template <transport::Transport T>
void send_list(T& endpoint, std::uint64_t peer) {
  Side<T> side(endpoint);
  std::array<RegionMessage, kMessages> list;
  for (std::uint64_t k = 0; k < kMessages; ++k) list[k] = message(peer, k);
  if constexpr (T::kPostLists) {
    const auto post = [&] {
      return endpoint.template post_list<WriteImm>(std::span<const RegionMessage>(list),
                                                   Signal::now);
    };
    transport::PostStatus status = post();
    for (; status == transport::PostStatus::busy; status = post()) {  // the peer is not ready
      side.demand(side.io.poll(workload::Wait::room_to_post), "the list found no room");
    }
    side.demand(status == transport::PostStatus::posted, "the list was not posted");
  } else {
    for (const RegionMessage& one : list) {
      side.demand(side.io.template post<WriteImm>(one, Signal::now), "a write was not posted");
    }
  }
  side.demand(side.io.drain(), "a write failed");
}

transport::EndpointRequest request_for(Buffers& buffers, bool client, const char* provider) {
  transport::EndpointRequest request;
  request.client = client;
  request.operations = WriteImm::kCode;
  request.max_size = kBytes;
  request.buffers.assign(buffers.begin(), buffers.end());
  request.depth = request.receives = request.receive_slots = kMessages;
  request.options.post_list = kMessages;  // which libfabric has no use for
  request.options.ofi.provider = provider;
  request.options.ofi.delivery = request.options.ofi.provider == "tcp";
  return request;
}

/// Connects to one peer after the other, and sends when all are connected.
void send_to_all(std::span<control::Channel> channels, const transport::EndpointRequest& request,
                 const char* backend, std::vector<std::function<void()>>& lists) {
  if (lists.size() == channels.size()) {
    for (const std::function<void()>& send : lists) send();
    return;
  }
  run::with_connected(channels[lists.size()], request, backend, [&]<class T>(T& endpoint) {
    if constexpr (T::template supports<WriteImm>) {
      lists.emplace_back([&endpoint, peer = lists.size()] { send_list(endpoint, peer); });
      return send_to_all(channels, request, backend, lists);
    }
    throw Error(Fault::unavailable, "this back end has no write-imm");
  });
}

void receive(std::uint64_t peer, control::Channel channel, const char* backend,
             const char* provider) {
  Buffers buffers{};
  const auto take = [&](auto& endpoint) {
    Side side(endpoint);
    std::uint64_t arrived = 0;
    const auto on_receive = [&](const transport::Received&) noexcept { ++arrived; };
    while (arrived < kMessages) {
      side.demand(side.io.poll(workload::Wait::message, on_receive), "no message came");
    }
    for (std::uint64_t k = 0; k < kMessages; ++k) {
      const RegionMessage sent = message(peer, k);
      const std::byte right = content(sent.local, sent.local_at);
      for (std::uint64_t i = 0; i < kBytes; ++i) {
        side.demand(buffers[sent.remote][sent.remote_at + i] == right, "a wrong byte");
      }
    }
  };
  run::with_connected(channel, request_for(buffers, true, provider), backend, take);
}

int main(int argc, char** argv) try {
  const char* const backend = argc > 1 ? argv[1] : "auto";
  const char* const provider = argc > 2 ? argv[2] : "";
  const Deadline soon = Deadline::after(std::chrono::seconds(20));
  control::Listener listener("", 0);
  std::vector<std::future<void>> peers;
  std::vector<control::Channel> channels;
  for (std::uint64_t peer = 0; peer < kPeers; ++peer) {
    peers.push_back(std::async(std::launch::async, [&, peer] {
      receive(peer, control::Channel::connect("127.0.0.1", listener.port(), soon), backend,
              provider);
    }));
    channels.push_back(listener.accept(soon).value());
  }
  Buffers buffers;
  for (transport::RegionId buffer = 0; buffer < buffers.size(); ++buffer) {
    for (std::uint64_t at = 0; at < buffers[buffer].size(); ++at) {
      buffers[buffer][at] = content(buffer, at);
    }
  }
  std::vector<std::function<void()>> lists;
  send_to_all(channels, request_for(buffers, false, provider), backend, lists);
  for (std::future<void>& peer : peers) peer.get();
  std::printf("%d lists arrived over %s %s\n", int(kPeers), backend, provider);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
