// How a failed libfabric call becomes an Error.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1::transport::ofi {

/// "No such domain (FI_ENODATA)" for a code of either sign. Codes from 256 on
/// are libfabric's own and mean nothing to strerror(3). Source: fi_errno(3).
std::string fabric_error_text(ssize_t code);

/// For a call that gave a negative result: throws Error(fault, "CALL: why.
/// REMEDY").
[[noreturn]] void throw_fabric_error(Fault fault, std::string_view call, ssize_t result,
                                     std::string_view remedy = {});

}  // namespace rdmabench::inline v1::transport::ofi
