// Results as fabtests prints them.
#pragma once

#include <cstddef>
#include <string>

#include "options.h"
#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::tools::fabtests {

/// The rows from the `told`-th on, which then counts them too: a line for each size under the
/// program's header, or with fabtests' -m its list of records. MB are 10^6 bytes; a ping-pong moves
/// its bytes both ways, and a transfer is one of the two. Times are whole microseconds, as there.
std::string more_text(const report::Report& report, const Options& options, std::size_t& told);

}  // namespace rdmabench::inline v1::tools::fabtests
