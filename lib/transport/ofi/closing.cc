// How an endpoint is closed whose provider may never come back from that.
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "fits.h"
#include "provider_info.h"
#include "rdmabench/base/log.h"
#include "rdmabench/transport/ofi/objects.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

constexpr const char* kThread = "rdmabench-close";  // the kernel takes 15 characters

std::atomic<int> left_closing = 0;

}  // namespace

int threads_left_closing() noexcept {
  return left_closing;
}

/// fi_close() of efa's endpoint polls until every packet has been answered, and a dead peer answers
/// none: up to 2.4 what such a peer was not ready to receive is sent again without end. So a thread
/// closes, and what does not end within the time of a step is left to it, and counted. Memory of
/// the caller then stays registered. Source: efa_rdm_ep_wait_send().
void Objects::close_apart() {
  const std::string what = call("fi_close", *info_);
  auto open = std::make_unique<OpenObjects>(std::move(static_cast<OpenObjects&>(*this)));
  const auto settled = std::make_shared<std::atomic<bool>>(false);
  std::promise<void> closing;
  const std::future<void> closed = closing.get_future();
  std::thread([open = std::move(open), closing = std::move(closing), settled]() mutable {
    pthread_setname_np(pthread_self(), kThread);
    open.reset();
    if (settled->exchange(true)) --left_closing;
    closing.set_value();
  }).detach();
  if (closed.wait_for(request_.timeout) == std::future_status::ready) return;
  ++left_closing;
  if (settled->exchange(true)) {  // it has ended meanwhile
    --left_closing;
    return;
  }
  log_line([&] {
    return fmt::format(
        "{} has not returned within {} ms: the peer may be dead. The thread {} stays "
        "in it, with the endpoint's memory",
        what, request_.timeout / std::chrono::milliseconds(1), kThread);
  });
}

}  // namespace rdmabench::inline v1::transport::ofi
