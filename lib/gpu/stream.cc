#include "gpu/stream.h"

#include <fmt/format.h>

#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"
#include "poll_until.h"

namespace rdmabench::gpu {

Stream::Stream(const Context& context) : context_(context) {
  const CurrentContext current(context_);
  check(context_.driver(), context_.driver().stream_create(&stream_, cuda::kStreamNonBlocking),
        fmt::format("cuStreamCreate(cuda:{})", context_.device().ordinal));
  Context::State& state = ContextAccess::state(context_);
  const std::lock_guard lock(state.mutex);
  state.streams.push_back(stream_);
}

Stream::~Stream() {
  release();
}

Stream::Stream(Stream&& other) noexcept
    : context_(other.context_),
      stream_(std::exchange(other.stream_, nullptr)),
      result_(other.result_) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(stream_, other.stream_);
  std::swap(result_, other.result_);
  return *this;
}

void Stream::release() noexcept {
  if (stream_ == nullptr) return;
  free_in(context_, [this](const Driver& driver) {
    Context::State& state = ContextAccess::state(context_);
    const std::lock_guard lock(state.mutex);
    std::erase(state.streams, stream_);
    driver.stream_destroy(stream_);
  });
}

Progress Stream::poll() noexcept {
  result_ = context_.driver().stream_query(stream_);
  return progress_of(result_);
}

Error Stream::failure(std::string_view what) const {
  return cuda_error(context_.driver(), result_,
                    fmt::format("{} on cuda:{}", what, context_.device().ordinal));
}

bool Stream::done() {
  const CurrentContext current(context_);
  const Progress progress = poll();
  if (progress == Progress::failed) throw failure("the work of a CUDA stream");
  return progress == Progress::done;
}

void Stream::synchronize(const Deadline& deadline, std::string_view what) {
  poll_until(
      context_, deadline, what, [this] { return poll(); }, [&] { throw failure(what); });
}

}  // namespace rdmabench::gpu
