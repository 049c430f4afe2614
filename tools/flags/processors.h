// The processors that a command of another suite asks for, and the whole process on them.
#pragma once

#include <string_view>
#include <vector>

#include "flag.h"

namespace rdmabench::inline v1::tools {

/// "0,2-4". Throws Error(usage).
std::vector<int> processors_of(const Given& given);

/// Binds the process, before it has other threads, to these; none = as it is. Throws Error(usage)
/// with `flag`. Source: sched_setaffinity(2).
void stay_on(const std::vector<int>& processors, std::string_view flag);

}  // namespace rdmabench::inline v1::tools
