// Two ucx endpoints of one process.
#pragma once

#include <atomic>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../endpoint_pair.h"
#include "rdmabench/transport/ucx/endpoint.h"
#include "transport/ucx/backend.h"

namespace rdmabench::inline v1::transport::ucx {

inline EndpointRequest request(std::string_view transports, OperationSet operations,
                               bool latency = false) {
  EndpointRequest r = small_request(operations, latency);
  r.options.ucx.transports = transports;
  return r;
}

inline void need(const EndpointRequest& r) {
  transport::need(&offer, r);
}

template <class E>
struct PairOf : EndpointPair<E> {
  using EndpointPair<E>::a;
  using EndpointPair<E>::b;

  explicit PairOf(const EndpointRequest& r, std::vector<std::span<std::byte>> at_server = {})
      : PairOf(r, server_of(r, std::move(at_server))) {}

  PairOf(const EndpointRequest& client, const EndpointRequest& server) {
    a.emplace(client, "");
    b.emplace(server, "");
    a->connect(b->address());
    b->connect(a->address());
  }

  /// One closes while the other polls, as in two processes: it waits for what is still under way.
  ~PairOf() {
    std::atomic closed = false;
    std::thread closing([&] {
      b.reset();
      closed = true;
    });
    while (!closed) {
      if (a) a->poll([](const Received&) noexcept {});
    }
    closing.join();
  }
  PairOf& operator=(PairOf&&) = delete;
};

}  // namespace rdmabench::inline v1::transport::ucx
