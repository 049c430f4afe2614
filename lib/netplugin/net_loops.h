// The measuring loops over a plugin's functions. A template, compiled for each version of the
// table, so that they call the functions directly.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "netplugin/net.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::netplugin {

/// One side's calls in a loop. After a null request the call is repeated. A wait for one request
/// also tests the other one, as NCCL does, because a plugin may make progress only in test(). The
/// clock is read only after every 1024th unsuccessful test.
template <class N>
class Calls {
 public:
  Calls(N& net, const Exchange& exchange)
      : net_(net),
        exchange_(exchange),
        deadline_(Deadline::after(std::chrono::nanoseconds(exchange.timeout_ns))) {}

  bool send(const Message& message) {
    for (;;) {
      if (!good(net_.send(exchange_.sending, message, &outgoing_), "isend")) return false;
      if (outgoing_ != nullptr) return true;
      if (!step()) return false;
    }
  }

  bool receive(const Message& message) {
    for (;;) {
      if (!good(net_.receive(exchange_.receiving, {&message, 1}, &incoming_), "irecv"))
        return false;
      if (incoming_ != nullptr) return true;
      if (!step()) return false;
    }
  }

  bool await_incoming() {
    while (incoming_ != nullptr) {
      if (!step()) return false;
    }
    return true;
  }

  bool await_outgoing() {
    while (outgoing_ != nullptr) {
      if (!step()) return false;
    }
    return true;
  }

  /// Whether the request is done. Also false if the call failed; then failed() is true.
  bool done(void* request) {
    int is_done = 0;
    if (!good(net_.test(request, &is_done, nullptr), "test")) return false;
    return is_done != 0;
  }

  /// Tests all requests in flight. False if a call failed or the deadline has passed.
  bool step() {
    if (incoming_ != nullptr && done(incoming_)) incoming_ = nullptr;
    if (outgoing_ != nullptr && done(outgoing_)) outgoing_ = nullptr;
    return !failed() && !late();
  }

  bool failed() const { return result_.call[0] != '\0'; }

  bool late() {
    if ((++looks_ & 1023U) != 0 || !deadline_.passed()) return false;
    result_.call = "deadline";
    return true;
  }

  LoopResult& result() { return result_; }

 private:
  bool good(abi::Result result, const char* call) {
    if (result == abi::kSuccess) [[likely]]
      return true;
    result_.result = result;
    result_.call = call;
    return false;
  }

  N& net_;
  const Exchange& exchange_;
  Deadline deadline_;
  void* incoming_ = nullptr;
  void* outgoing_ = nullptr;
  std::uint32_t looks_ = 0;
  LoopResult result_;
};

template <class Clock, class N>
LoopResult ping_pong_loop(N& net, const Exchange& exchange, bool first,
                          std::span<measure::Ticks> ticks) {
  Calls<N> calls(net, exchange);
  if (!calls.receive(exchange.in)) return calls.result();
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const measure::Ticks begin = Clock::stamp();
    if (first && !calls.send(exchange.out)) break;
    if (!calls.await_incoming()) break;
    ticks[i] = Clock::stamp() - begin;
    if (!first && !calls.send(exchange.out)) break;
    if (i + 1 < ticks.size() && !calls.receive(exchange.in)) break;
    if (!calls.await_outgoing()) break;
    ++calls.result().done;
  }
  return calls.result();
}

template <class Clock, class N>
LoopResult stream_loop(N& net, const Exchange& exchange, bool sender, std::uint64_t count,
                       int window) {
  Calls<N> calls(net, exchange);
  LoopResult& result = calls.result();
  Message confirmation = sender ? exchange.in : exchange.out;
  confirmation.bytes = 1;
  if (sender && !calls.receive(confirmation)) return result;
  std::array<void*, abi::kMaxRequests> requests{};
  const auto slots = static_cast<std::uint64_t>(window);
  const measure::Ticks begin = Clock::stamp();
  for (std::uint64_t posted = 0; result.done < count;) {
    const bool room = posted < count && posted - result.done < slots;
    if (room) {
      void*& request = requests[posted % slots];
      const abi::Result posting =
          sender ? net.send(exchange.sending, exchange.out, &request)
                 : net.receive(exchange.receiving, {&exchange.in, 1}, &request);
      if (posting != abi::kSuccess) {
        result.result = posting;
        result.call = sender ? "isend" : "irecv";
        return result;
      }
      if (request != nullptr) {
        ++posted;
        continue;
      }
    }
    void*& oldest = requests[result.done % slots];
    if (result.done < posted && calls.done(oldest)) {
      oldest = nullptr;
      ++result.done;
    } else if (!calls.step()) {
      return result;
    }
  }
  if (!sender && !calls.send(confirmation)) return result;
  if (!calls.await_incoming() || !calls.await_outgoing()) return result;
  result.elapsed = Clock::stamp() - begin;
  return result;
}

}  // namespace rdmabench::inline v1::netplugin
