// The Error that a call throws, for tests of its text.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "has_all.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

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

std::string usage_complaint(auto&& call) {
  return complaint(call, Fault::usage);
}

/// What the Error says that a call throws; `none` where it throws nothing.
std::string error_text(auto&& call, std::string none = "", std::optional<Fault> fault = {}) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), fault.value_or(error.fault())) << error.what();
    return error.what();
  }
  return none;
}

}  // namespace rdmabench::inline v1
