#include "munge_decoder.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "munge.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::control {

/// Of the thread too, which may outlive its decoder by the time that munged takes.
struct MungeDecoder::State {
  State() {
    if (event.get() < 0) {
      throw Error(Fault::failed, "eventfd()", "Raise 'ulimit -n' if it is too low.", errno);
    }
  }

  Event event;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Job>> jobs;
  bool over = false;
};

std::unique_ptr<WipedText> MungeDecoder::Job::take() {
  if (failure_) std::rethrow_exception(failure_);
  return std::move(payload_);
}

MungeDecoder::MungeDecoder() : state_(std::make_shared<State>()) {}

MungeDecoder::~MungeDecoder() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->over = true;
  }
  state_->changed.notify_all();
}

void MungeDecoder::work(const std::shared_ptr<State>& state) {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait(lock, [&] { return state->over || !state->jobs.empty(); });
      if (state->over) return;
      job = std::move(state->jobs.front());
      state->jobs.pop_front();
    }
    if (job.use_count() == 1) continue;
    try {
      job->payload_ = munge_decode(job->credential_);
    } catch (...) {
      job->failure_ = std::current_exception();
    }
    job->done_ = true;
    state->event.set();
  }
}

std::shared_ptr<MungeDecoder::Job> MungeDecoder::decode(std::string credential) {
  if (!started_) {
    try {
      std::thread([state = state_] { work(state); }).detach();
    } catch (const std::system_error& error) {
      throw Error(Fault::failed, "start a thread that decodes credentials of MUNGE", "",
                  error.code().value());
    }
    started_ = true;
  }
  auto job = std::make_shared<Job>();
  job->credential_ = std::move(credential);
  {
    const std::lock_guard lock(state_->mutex);
    // There are never more than connections that are not authenticated, however long munged takes.
    std::erase_if(state_->jobs, [](const auto& one) { return one.use_count() == 1; });
    state_->jobs.push_back(job);
  }
  state_->changed.notify_all();
  return job;
}

const Event& MungeDecoder::event() const noexcept {
  return state_->event;
}

}  // namespace rdmabench::inline v1::control
