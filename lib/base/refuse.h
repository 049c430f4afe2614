// The checks of what a user gave.
#pragma once

#include <string_view>

#include "rdmabench/base/error.h"

namespace rdmabench::inline v1 {

/// Throws Error(usage) where the use is wrong. `what` and `remedy` are evaluated in any case.
inline void refuse_if(bool wrong, std::string_view what, std::string_view remedy = {}) {
  if (wrong) throw Error(Fault::usage, what, remedy);
}

}  // namespace rdmabench::inline v1
