// Converts results of the CUDA driver to Error.
#pragma once

#include <string>
#include <string_view>

#include "gpu/driver.h"
#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::gpu {

/// "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", as the driver reports it.
std::string result_text(const Driver& driver, cuda::Result result);

/// An error with the call and its arguments, the driver's text, and a remedy: `remedy`, or a known
/// one for this result if it is empty. Fault::unavailable if this machine or its driver cannot do
/// it, else Fault::failed. Its code() is 0, because a CUresult is not an errno.
Error cuda_error(const Driver& driver, cuda::Result result, std::string_view call,
                 std::string_view remedy = {});

/// Throws cuda_error() unless `result` is success.
void check(const Driver& driver, cuda::Result result, std::string_view call,
           std::string_view remedy = {});

}  // namespace rdmabench::inline v1::gpu
