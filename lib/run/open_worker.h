// Opens an endpoint of a back end of this build with the library's own loops.
#pragma once

#include "rdmabench/run/worker.h"

namespace rdmabench::inline v1::run {

/// Throws what T's constructor throws. Specialised in one file for each type, which CMake writes:
/// the types are compiled side by side, and a change of one cannot change the code of another.
template <class T>
std::unique_ptr<Worker> open_worker(const transport::EndpointRequest& request,
                                    std::string_view choice);

}  // namespace rdmabench::inline v1::run
