#include "gpu/stream.h"

#include <fmt/format.h>

#include <thread>

#include "context_access.h"
#include "gpu/cuda_error.h"

namespace rdmabench::inline v1::gpu {

Stream::Stream(const Context& context) : context_(context) {
  const CurrentContext current(context_);
  check(context_.driver(), context_.driver().stream_create(&stream_, cuda::kStreamNonBlocking),
        fmt::format("cuStreamCreate(cuda:{})", context_.device().ordinal));
  Context::State& state = context_.state();
  const std::lock_guard lock(state.mutex);
  state.streams.push_back(stream_);
}

Stream::~Stream() {
  free_in(context_, [this](const Driver& driver) {
    Context::State& state = context_.state();
    const std::lock_guard lock(state.mutex);
    std::erase(state.streams, stream_);
    driver.stream_destroy(stream_);
  });
}

Progress Stream::poll() noexcept {
  result_ = context_.driver().stream_query(stream_);
  if (result_ == cuda::kSuccess) return Progress::done;
  return result_ == cuda::kNotReady ? Progress::busy : Progress::failed;
}

Error Stream::failure(std::string_view what) const {
  return cuda_error(context_.driver(), result_,
                    fmt::format("{} on cuda:{}", what, context_.device().ordinal));
}

// The driver's own wait has no limit. Polls without a pause at first, because most work is short.
void Stream::synchronize(const Deadline& deadline, std::string_view what) {
  constexpr int kEagerPolls = 2000;
  const CurrentContext current(context_);
  const auto begin = Deadline::Clock::now();
  for (int polls = 0;; ++polls) {
    const Progress progress = poll();
    if (progress == Progress::done) return;
    if (progress == Progress::failed) throw failure(what);
    if (deadline.passed()) break;
    if (polls > kEagerPolls) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  context_.state().give_up();
  const std::chrono::duration<double> waited = Deadline::Clock::now() - begin;
  throw Error(Fault::failed,
              fmt::format("{} on cuda:{} was not done within {:.3g} s", what,
                          context_.device().ordinal, waited.count()),
              "Look with nvidia-smi whether another process keeps the GPU busy, and into dmesg for "
              "NVRM: Xid");
}

}  // namespace rdmabench::inline v1::gpu
