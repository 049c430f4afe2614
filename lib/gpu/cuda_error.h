// A refusal of the CUDA driver as an Error.
#pragma once

#include <string>
#include <string_view>

#include "gpu/driver.h"
#include "rdmabench/base/error.h"

namespace rdmabench::gpu {

/// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", in the driver's words.
std::string result_text(const Driver& driver, cuda::Result result);

/// What was called with what, what the driver said, and what to try: `remedy`, or where that is
/// empty what is known to help with this result. Of Fault::unavailable where this machine or its
/// driver cannot do it, else Fault::failed. Its code() is 0: a CUresult is no errno.
Error cuda_error(const Driver& driver, cuda::Result result, std::string_view call,
                 std::string_view remedy = {});

/// Throws cuda_error() unless `result` is success.
void check(const Driver& driver, cuda::Result result, std::string_view call,
           std::string_view remedy = {});

}  // namespace rdmabench::gpu
