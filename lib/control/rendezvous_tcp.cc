#include "rendezvous_tcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "admission.h"
#include "rdmabench/base/error.h"
#include "rdmabench/control/bootstrap.h"

namespace rdmabench::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kGrace{2};  // for rank 0 to say who is late

/// Whether the name means this host alone, so that no other host needs to reach it.
bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

std::chrono::milliseconds wait_of(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
  return std::min(left, kMaxWait);
}

}  // namespace

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
