// What assemble() checks before it connects anybody.
#pragma once

#include <functional>

#include "rdmabench/control/rendezvous.h"

namespace rdmabench::inline v1::collective {

/// Throws Error(usage) where `place` is one rank alone and the launcher's variables say more.
void check_not_alone(const control::JobPosition& place,
                     const std::function<const char*(const char*)>& environment);

}  // namespace rdmabench::inline v1::collective
