// The Error that a call throws, for tests of its text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "rdmabench/base/error.h"

namespace rdmabench {

Error complaint(auto&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(Fault::failed, "no error");
}

std::string complaint(auto&& call, Fault fault) {
  const Error error = rdmabench::complaint(call);
  EXPECT_EQ(error.fault(), fault) << error.what();
  return error.what();
}

}  // namespace rdmabench
