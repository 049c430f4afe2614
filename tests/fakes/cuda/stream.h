// Streams of the fake driver: each has a thread, which runs its work in order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "world.h"

namespace fake_cuda {

/// Returns the stream's status from then on.
using Work = std::function<Result()>;

/// The work recorded by a capture.
struct Graph {
  std::vector<Work> work;
};

class Stream {
 public:
  /// Starts the thread, which keeps the stream alive while it works.
  static std::shared_ptr<Stream> start();

  Result push(Work work);
  /// Success, not ready, or the error of its work. Ends a capture.
  Result query();
  /// Waits for all its work; forever if it is stuck, as the driver does.
  Result wait();

  Result begin_capture();
  Result end_capture(Graph& graph);

  bool is_capturing();

  void fail(Result result);
  /// The thread ends after the queued work.
  void close();
  /// Also drops the queued work.
  void abandon();
  void unstick();

 private:
  void run();
  Result do_next(Work& work);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::uint64_t pending_ = 0;
  std::uint64_t begun_ = 0;
  bool closed_ = false;
  bool unstuck_ = false;
  bool capturing_ = false;
  bool invalidated_ = false;
  Result result_ = abi::kSuccess;
  Graph captured_;
};

/// The streams that exist, and the null stream.
class Streams {
 public:
  static Streams& get();

  CUstream_st* add();
  Result remove(CUstream_st* handle);
  /// Null for an unknown handle.
  std::shared_ptr<Stream> find(const void* handle);
  /// Waits for all streams, also for destroyed ones that still work.
  void wait_all();
  void unstick_all();
  void reset();
  int alive();

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::weak_ptr<Stream>> removed_;
  std::shared_ptr<Stream> null_;
};

}  // namespace fake_cuda
