// Threads that begin at the same time, or not at all.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::run {

using StartThread = std::function<std::thread(std::function<void()> body)>;

inline std::thread start_thread(std::function<void()> body) {
  return std::thread(std::move(body));
}

/// Calls prepare(i) and, when all have returned, work(i) for each i below `count`: the first in the
/// caller's thread, each other one in a thread of its own. Neither may throw. Where a thread cannot
/// be started, nothing works: throws Error(failed). No thread is left at the end.
template <class Prepare, class Work>
void run_together(std::size_t count, const Prepare& prepare, const Work& work,
                  const StartThread& start = start_thread) {
  std::latch prepared(static_cast<std::ptrdiff_t>(count));
  bool failed = false;  // written before the latch opens, or never
  std::string failure;
  const auto drive = [&](std::size_t i) {
    prepare(i);
    prepared.arrive_and_wait();
    if (!failed) work(i);
  };
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (std::size_t i = 1; i < count; ++i) threads.push_back(start([&drive, i] { drive(i); }));
  } catch (const std::exception& error) {
    failed = true;
    prepared.count_down(static_cast<std::ptrdiff_t>(count - 1 - threads.size()));
    try {
      failure = error.what();
    } catch (const std::bad_alloc&) {  // then it goes without
    }
  }
  drive(0);
  for (std::thread& thread : threads) thread.join();
  if (!failed) return;
  // The caller's own thread is one of them.
  throw Error(
      Fault::failed,
      fmt::format("{} of {} threads could be started: {}", threads.size() + 1, count, failure),
      "Lower `threads`, or raise 'ulimit -u' or the limit of the control group.");
}

}  // namespace rdmabench::inline v1::run
