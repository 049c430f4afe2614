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

/// One launch of a kernel: its grid and its arguments.
using Launch = std::function<Result(const Dim& grid, const Dim& block)>;

/// Null for an unknown name.
using Bind = std::function<Launch(void** parameters)>;
const Bind* find_kernel(std::string_view name);

}  // namespace fake_cuda
