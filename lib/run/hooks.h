// Calls into the caller's own code.
#pragma once

#include <exception>
#include <functional>

#include "rdmabench/run/client.h"

namespace rdmabench::inline v1::run {

/// What the caller's code threw. No std::exception, so that nothing takes it for a failure of the
/// run.
struct HookThrew {
  std::exception_ptr exception;
};

/// Calls `hook` if there is one. Throws HookThrew with what it threw.
template <class Argument>
void call(const std::function<void(const Argument&)>& hook, const Argument& argument) {
  if (!hook) return;
  try {
    hook(argument);
  } catch (...) {
    throw HookThrew{std::current_exception()};
  }
}

}  // namespace rdmabench::inline v1::run
