// A pattern of NCCL's network: the receiver writes a clear-to-send into the sender's memory for
// each message that it has room for, and the sender answers each by a write with immediate.
#pragma once

#include <string_view>

namespace rdmabench::inline v1::run {

inline constexpr std::string_view kClearToSend = "rdmabench/clear-to-send";

/// Registers it with this process, once.
void add_clear_to_send();

}  // namespace rdmabench::inline v1::run
