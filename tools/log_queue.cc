#include "log_queue.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "rdmabench/base/deadline.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::tools {
namespace {

constexpr auto kLast = std::chrono::milliseconds(100);  // for what is queued at the end

}  // namespace

LogQueue::LogQueue(int descriptor) : descriptor_(descriptor) {
  if (wake_.get() < 0) throw Error(Fault::failed, "eventfd()", "Raise 'ulimit -n'.", errno);
  writer_ = std::thread([this] { write_lines(); });
}

LogQueue::~LogQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  arrived_.notify_one();
  wake_.set();
  writer_.join();
}

void LogQueue::put(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    if (lines_.size() >= kMostLines) {
      ++dropped_;
      return;
    }
    lines_.push_back(std::move(line));
  }
  arrived_.notify_one();
}

std::uint64_t LogQueue::dropped() {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void LogQueue::write_lines() {
  for (;;) {
    std::string text;
    {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return ending_ || !lines_.empty(); });
      if (lines_.empty()) return;
      const std::uint64_t dropped = dropped_ - std::exchange(dropped_told_, dropped_);
      if (dropped > 0) {
        text = fmt::format("{} lines were dropped: standard error is read too slowly\n", dropped);
      }
      text += lines_.front();
      lines_.pop_front();
    }
    text += '\n';
    if (!write_all(text)) return;
  }
}

bool LogQueue::write_all(const std::string& text) {
  // A pipe that poll(2) calls writable takes PIPE_BUF bytes without blocking (pipe(7)).
  Deadline last = Deadline::after(std::chrono::hours(24 * 365));
  bool ending = false;
  for (std::size_t done = 0; done < text.size();) {
    std::array<pollfd, 2> waits{
        {{descriptor_, POLLOUT, 0}, {ending ? -1 : wake_.get(), POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(last.left());
    const int wait = ending ? static_cast<int>(left.count()) : -1;
    if (poll(waits.data(), waits.size(), wait) < 0 && errno != EINTR) return false;
    if (!ending && (waits[1].revents & POLLIN) != 0) {
      ending = true;
      last = Deadline::after(kLast);
    }
    if ((waits[0].revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)) == 0) {
      if (ending && last.passed()) return false;
      continue;
    }
    const ssize_t wrote =
        write(descriptor_, text.data() + done, std::min<std::size_t>(text.size() - done, PIPE_BUF));
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR && errno != EAGAIN) {
      return true;  // nobody is there any more: the lines go nowhere, and the server goes on
    }
  }
  return true;
}

}  // namespace rdmabench::inline v1::tools
