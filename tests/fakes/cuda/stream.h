// Streams of the fake driver: a thread each, which does the work in the order in which it came.
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

/// Gives what the stream has from then on.
using Work = std::function<Result()>;

/// What a capture recorded.
struct Graph {
  std::vector<Work> work;
};

class Stream {
 public:
  /// Starts the thread, which keeps the stream alive as long as it is at work.
  static std::shared_ptr<Stream> start();

  Result push(Work work);
  /// Success, not ready, or what its work failed with. Ends a capture that is under way.
  Result query();
  /// Waits for all its work; forever, if it is stuck, as the driver would.
  Result wait();

  Result begin_capture();
  Result end_capture(Graph& graph);

  void fail(Result result);
  /// The thread ends when the work that is there is done.
  void close();
  /// Drops what is queued, too.
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

/// The streams that have been created and not destroyed, and the null stream.
class Streams {
 public:
  static Streams& get();

  CUstream_st* add();
  Result remove(CUstream_st* handle);
  /// Null for a handle that is none.
  std::shared_ptr<Stream> find(const void* handle);
  /// Waits for all, those too that were destroyed at work.
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

/// The stream whose thread this is; null for any other thread.
Stream* stream_of_this_thread();

}  // namespace fake_cuda
