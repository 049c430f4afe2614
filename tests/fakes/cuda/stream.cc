#include "stream.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace fake_cuda {
std::shared_ptr<Stream> Stream::start() {
  auto stream = std::make_shared<Stream>();
  std::thread([stream] { stream->run(); }).detach();
  return stream;
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    ++begun_;
    const Controls controls = World::get().controls();
    if (controls.stuck != 0 && begun_ == controls.stuck) {
      changed_.wait(lock, [this] { return unstuck_; });
    }
    const bool lost = result_ != abi::kSuccess;
    lock.unlock();
    const Result result = lost ? abi::kSuccess : work();
    work = nullptr;  // destroyed before the work counts as done
    lock.lock();
    if (result != abi::kSuccess) result_ = result;
    if (pending_ > 0) --pending_;
    changed_.notify_all();
  }
}

Result Stream::push(Work work) {
  const std::lock_guard lock(mutex_);
  if (result_ != abi::kSuccess) return result_;
  if (capturing_) {
    captured_.work.push_back(std::move(work));
    return abi::kSuccess;
  }
  queue_.push_back(std::move(work));
  ++pending_;
  changed_.notify_all();
  return abi::kSuccess;
}

Result Stream::query() {
  const std::lock_guard lock(mutex_);
  if (capturing_) {
    invalidated_ = true;
    return abi::kCaptureUnsupported;
  }
  if (result_ != abi::kSuccess) return result_;
  return pending_ == 0 ? abi::kSuccess : abi::kNotReady;
}

Result Stream::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return pending_ == 0 || result_ != abi::kSuccess; });
  return result_;
}

Result Stream::begin_capture() {
  const std::lock_guard lock(mutex_);
  if (capturing_) return abi::kInvalidValue;
  capturing_ = true;
  invalidated_ = false;
  captured_.work.clear();
  return abi::kSuccess;
}

Result Stream::end_capture(Graph& graph) {
  const std::lock_guard lock(mutex_);
  if (!capturing_) return abi::kInvalidValue;
  capturing_ = false;
  graph.work = std::exchange(captured_.work, {});
  return invalidated_ ? abi::kCaptureInvalidated : abi::kSuccess;
}

bool Stream::is_capturing() {
  const std::lock_guard lock(mutex_);
  return capturing_;
}

void Stream::fail(Result result) {
  const std::lock_guard lock(mutex_);
  result_ = result;
  changed_.notify_all();
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void Stream::abandon() {
  const std::lock_guard lock(mutex_);
  pending_ -= queue_.size();
  queue_.clear();
  closed_ = true;
  unstuck_ = true;
  changed_.notify_all();
}

void Stream::unstick() {
  const std::lock_guard lock(mutex_);
  unstuck_ = true;
  changed_.notify_all();
}

Streams& Streams::get() {
  static Streams& streams = *new Streams;
  return streams;
}

CUstream_st* Streams::add() {
  const std::lock_guard lock(mutex_);
  streams_.push_back(Stream::start());
  return reinterpret_cast<CUstream_st*>(streams_.back().get());
}

Result Streams::remove(CUstream_st* handle) {
  const std::shared_ptr<Stream> stream = find(handle);
  if (stream == nullptr || handle == nullptr) return abi::kInvalidHandle;
  const std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
  removed_.push_back(stream);
  stream->close();
  return abi::kSuccess;
}

std::shared_ptr<Stream> Streams::find(const void* handle) {
  const std::lock_guard lock(mutex_);
  if (handle == nullptr) {
    if (null_ == nullptr) null_ = Stream::start();
    return null_;
  }
  for (const auto& stream : streams_) {
    if (stream.get() == handle) return stream;
  }
  return nullptr;
}

void Streams::wait_all() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::lock_guard lock(mutex_);
    all = streams_;
    if (null_ != nullptr) all.push_back(null_);
    for (const auto& removed : removed_) {
      if (auto stream = removed.lock()) all.push_back(std::move(stream));
    }
  }
  for (const auto& stream : all) stream->wait();
}

void Streams::unstick_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& stream : streams_) stream->unstick();
  if (null_ != nullptr) null_->unstick();
  for (const auto& removed : removed_) {
    if (const auto stream = removed.lock()) stream->unstick();
  }
}

void Streams::reset() {
  std::vector<std::shared_ptr<Stream>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(streams_);
    if (null_ != nullptr) all.push_back(std::exchange(null_, nullptr));
    for (const auto& removed : removed_) {
      if (auto stream = removed.lock()) all.push_back(std::move(stream));
    }
    removed_.clear();
  }
  for (const auto& stream : all) stream->abandon();
  for (const auto& stream : all) stream->wait();
}

int Streams::alive() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(streams_.size());
}

}  // namespace fake_cuda
