// The sizes that fabtests' -S means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmabench::tools::fabtests {

/// "all", "r:first,step,last", "l:one,another", or a number of bytes. Throws Error(usage) for other
/// text, and Skip for messages of no bytes.
std::vector<std::uint64_t> parse_sizes(const std::string& text);

}  // namespace rdmabench::tools::fabtests
