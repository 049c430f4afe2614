#include "rendezvous_tcp.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "rdmabench/base/error.h"
#include "tcp.h"
#include "wait.h"

namespace rdmabench::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kRetryPause{50};
constexpr std::chrono::seconds kAttempt{
    5};                                    // for one connection: a lost SYN is sent again after 1 s
constexpr std::chrono::seconds kGrace{2};  // for rank 0 to say who is late
constexpr rlim_t kOtherFiles = 256;        // besides a connection for each rank

/// A failure to raise it is let be: the connection that finds no room tells it.
void allow_files(std::uint32_t ranks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= ranks + kOtherFiles) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, ranks + kOtherFiles);
  static_cast<void>(setrlimit(RLIMIT_NOFILE, &limit));
}

/// A name of this host alone, so that nobody else needs to reach it.
bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

/// What `error` says without its remedy, which may be for somebody else.
std::string reason_of(const Error& error) {
  std::string text = error.what();
  if (!error.remedy().empty() && text.ends_with(error.remedy())) {
    text.resize(text.size() - error.remedy().size());
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

std::chrono::milliseconds wait_of(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left());
  return std::min(left, kMaxWait);
}

}  // namespace

TcpRendezvous::TcpRendezvous(const Launch& launch, std::chrono::milliseconds timeout)
    : Rendezvous(launch.place),
      address_(launch.address),
      checks_(launch.place.size),
      timeout_(timeout) {
  if (place().rank == 0) serve();
  join();
}

void TcpRendezvous::serve() {
  allow_files(place().size);
  try {
    Listener listener(is_loopback(address_.host) ? address_.host : "", address_.port);
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
  const std::string host = own ? "127.0.0.1" : address_.host;
  const Deadline deadline = Deadline::after(timeout_);
  while (!channel_) {
    const Deadline attempt =
        Deadline::after(std::min<std::chrono::nanoseconds>(kAttempt, deadline.left()));
    try {
      channel_ = Channel::connect(host, address_.port, attempt);
    } catch (const Error& error) {
      if (deadline.left() <= kRetryPause) {
        throw Error(Fault::failed,
                    fmt::format("rank {} did not reach rank 0 at {} within {} ({})", place().rank,
                                host_and_port(address_.host, address_.port),
                                duration_text(timeout_), reason_of(error)),
                    "Is rank 0 started, is this its address, and does its firewall let the port "
                    "in?");
      }
      std::this_thread::sleep_for(kRetryPause);
    }
  }
  static_cast<void>(ask(MessageType::hello,
                        to_text(RankHello{place().rank, place().size, place().host}), deadline));
}

/// Throws Error(failed) with what rank 0 says against it.
std::string TcpRendezvous::ask(MessageType type, const std::string& text, Deadline deadline) {
  const Deadline limit = Deadline::after(deadline.left() + kGrace);
  std::string payload;
  try {
    channel_->send(type, text, limit);
    payload = channel_->receive(MessageType::result, limit, "answer");
  } catch (const Error& error) {
    throw Error(Fault::failed, fmt::format("rank 0: {}", reason_of(error)),
                "Look at what rank 0 printed.");
  }
  Answer answer = parse_answer(payload);
  if (!answer.error.empty()) throw Error(Fault::failed, answer.error);
  return std::move(answer.value);
}

void TcpRendezvous::put(std::string_view key, std::string_view value) {
  checks_.put(key, value);
  static_cast<void>(ask(MessageType::request,
                        to_text(Call{PutCall{std::string(key), std::string(value)}}),
                        Deadline::after(timeout_)));
}

std::string TcpRendezvous::get(std::uint32_t rank, std::string_view key, Deadline deadline) {
  checks_.get(rank, key);
  const Call call = GetCall{rank, std::string(key), wait_of(deadline)};
  return ask(MessageType::request, to_text(call), deadline);
}

void TcpRendezvous::barrier(Deadline deadline) {
  static_cast<void>(
      ask(MessageType::request, to_text(Call{BarrierCall{wait_of(deadline)}}), deadline));
}

}  // namespace rdmabench::control
