#include "gpu/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "context_access.h"
#include "gpu/cuda_error.h"
#include "rdmabench/base/deadline.h"

namespace rdmabench::inline v1::gpu {
namespace {

constexpr std::chrono::seconds kGrace{2};

}  // namespace

Context::State::State(const Driver& table, DeviceInfo info)
    : driver(table), device(std::move(info)) {
  check(driver, driver.device_get(&handle, device.ordinal),
        fmt::format("cuDeviceGet({})", device.ordinal));
  check(driver, driver.primary_ctx_retain(&context, handle),
        fmt::format("cuDevicePrimaryCtxRetain({})", to_text(device)));
}

Context::State::~State() {
  // Remaining streams are busy: releasing the last reference would wait for them.
  if (streams.empty()) driver.primary_ctx_release(handle);
}

bool Context::State::idle_now() const noexcept {
  // In a lost context every query and every free fails at once.
  return std::none_of(streams.begin(), streams.end(), [this](CUstream_st* stream) {
    return driver.stream_query(stream) == cuda::kNotReady;
  });
}

bool Context::State::wait_idle() noexcept {
  const std::lock_guard lock(mutex);
  const Deadline deadline = Deadline::after(hopeless ? std::chrono::seconds(0) : kGrace);
  while (!idle_now()) {
    if (deadline.passed()) {
      hopeless = true;
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  hopeless = false;
  return true;
}

void Context::State::give_up() noexcept {
  const std::lock_guard lock(mutex);
  hopeless = true;
}

Context::Context(int ordinal) : Context(gpu::driver(), ordinal) {}

Context::Context(const Driver& driver, int ordinal)
    : state_(
          std::make_shared<State>(driver, find_device(std::to_string(ordinal), devices(driver)))) {}

void Context::make_current() const {
  check(driver(), driver().ctx_set_current(get()),
        fmt::format("cuCtxSetCurrent(cuda:{})", device().ordinal));
}

const DeviceInfo& Context::device() const noexcept {
  return state_->device;
}

const Driver& Context::driver() const noexcept {
  return state_->driver;
}

CUctx_st* Context::get() const noexcept {
  return state_->context;
}

CurrentContext::CurrentContext(const Context& context) : context_(context) {
  const cuda::Result result = context.driver().ctx_push_current(context.get());
  if (result == cuda::kSuccess) return;
  throw cuda_error(context.driver(), result,
                   fmt::format("cuCtxPushCurrent(cuda:{})", context.device().ordinal));
}

CurrentContext::~CurrentContext() {
  CUctx_st* popped = nullptr;
  context_.driver().ctx_pop_current(&popped);
}

}  // namespace rdmabench::inline v1::gpu
