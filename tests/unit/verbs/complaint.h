// The Error that a call throws, for tests of its text.
#pragma once

#include <gtest/gtest.h>

#include "rdmabench/base/error.h"

namespace rdmabench::verbs {

Error complaint(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Fault::failed, "no error");
}

}  // namespace rdmabench::verbs
