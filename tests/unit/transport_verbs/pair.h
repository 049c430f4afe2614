// Two verbs endpoints on the fake device, connected as run/ connects them.
#pragma once

#include <fake_verbs.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <on_fake_verbs.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../complaint.h"
#include "../folder.h"
#include "rdmabench/base/error.h"
#include "rdmabench/memory/buffer.h"
#include "rdmabench/transport/verbs/endpoint.h"
#include "transport/verbs/backend.h"

namespace rdmabench::inline v1::transport::verbs {

/// Of Description::details.
using Fact = std::pair<std::string, std::string>;

/// Small enough that every limit is met in a few posts.
inline EndpointRequest small_request() {
  EndpointRequest request;
  request.max_size = 256;
  request.depth = 4;
  request.receives = 4;
  request.send_slots = 2;
  request.receive_slots = 2;
  return request;
}

/// Opened for one operation, a test gets all that its service has besides; atomics stay alone.
inline EndpointRequest widened(EndpointRequest request) {
  for (const OperationCode code : {OperationCode::send, OperationCode::write, OperationCode::read,
                                   OperationCode::write_imm, OperationCode::send_imm}) {
    if (!request.operations.any(is_atomic) && has_operation(request.options.service, code))
      request.operations.add(code);
  }
  return request;
}

inline EndpointRequest other_side(EndpointRequest request) {
  request.client = !request.client;
  std::swap(request.local_ip, request.peer_ip);
  return request;
}

inline Choice choice_for(const EndpointRequest& request) {
  return choose(request, offer(request), offer(other_side(request)));
}

template <class Endpoint>
struct PairOf {
  explicit PairOf(const EndpointRequest& request = small_request())
      : PairOf(request.options.service == Service::srd ? request : widened(request),
               choice_for(request)) {}
  PairOf(const EndpointRequest& request, const Choice& choice)
      : client(request, choice.client), server(other_side(request), choice.server) {
    server.connect(client.address());
    client.connect(server.address());
  }

  Endpoint client;
  Endpoint server;
};

using Pair = PairOf<Endpoint>;
using GeneralPair = PairOf<GeneralEndpoint>;
using DatagramPair = PairOf<DatagramEndpoint>;

inline std::span<std::byte> slot(const Region& region, std::uint64_t index, std::uint64_t size) {
  return {region.data + index % region.slots * region.stride, size};
}

/// `count` messages of `bytes`, from slot `first` on and again from slot 0; words from `word` on.
inline std::vector<Message> messages(const Region& region, std::uint32_t first, std::uint32_t count,
                                     std::uint64_t bytes, std::uint64_t word = 0) {
  std::vector<Message> all;
  for (std::uint32_t k = 0; k < count; ++k) {
    const std::uint64_t offset = (first + k) % region.slots * region.stride;
    all.push_back({.local = offset, .remote = offset, .bytes = bytes, .word = word + k});
  }
  return all;
}

inline bool holds(std::span<const std::byte> bytes, std::uint8_t tag) {
  return !memory::find_mismatch(bytes, tag).has_value();
}

/// Takes what has completed; nothing may have failed.
template <class T>
std::vector<Received> take(T& endpoint) {
  std::vector<Received> received;
  const int count = endpoint.poll([&](const Received& one) noexcept { received.push_back(one); });
  EXPECT_GE(count, 0) << endpoint.failure();
  return received;
}

template <class T>
int poll_once(T& endpoint) {
  return endpoint.poll([](const Received&) noexcept {});
}

/// What stands for /sys/class/infiniband/NAME of a Soft-RoCE device: `parent` is its own.
class SoftRoceFolder : public Folder {
 public:
  SoftRoceFolder() { write("parent", "eth0\n"); }
};

}  // namespace rdmabench::inline v1::transport::verbs
