// The library's kernels, run by the CPU.
#pragma once

#include <functional>
#include <string_view>

#include "world.h"

namespace fake_cuda {

struct Dim {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

/// One run of a kernel over its grid, with the arguments that it was launched with.
using Launch = std::function<Result(const Dim& grid, const Dim& block)>;

/// Null for a name that is no kernel.
using Bind = std::function<Launch(void** parameters)>;
const Bind* find_kernel(std::string_view name);

}  // namespace fake_cuda
