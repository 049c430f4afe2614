// Two ofi endpoints of one process.
#pragma once

#include <cctype>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../endpoint_pair.h"
#include "rdmabench/transport/ofi/endpoint.h"
#include "transport/ofi/backend.h"

namespace rdmabench::inline v1::transport::ofi {

inline EndpointRequest request(std::string_view provider, OperationCode code,
                               bool latency = false) {
  EndpointRequest r = small_request(code, latency);
  r.options.ofi.provider = provider;
  r.local_ip = "127.0.0.1";
  return r;
}

inline void need(const EndpointRequest& r) {
  transport::need(&offer, r);
}

template <class E>
struct PairOf : EndpointPair<E> {
  using EndpointPair<E>::a;
  using EndpointPair<E>::b;

  explicit PairOf(const EndpointRequest& r, std::vector<std::span<std::byte>> at_server = {}) {
    const std::string text = offer(r);
    const Choice choice = choose(r, text, text);
    a.emplace(r, choice.client);
    b.emplace(server_of(r, std::move(at_server)), choice.server);
    // Connected endpoints wait for each other here.
    auto accepted =
        std::async(std::launch::async, [this, address = a->address()] { b->connect(address); });
    a->connect(b->address());
    accepted.get();
  }
};

inline std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

}  // namespace rdmabench::inline v1::transport::ofi
