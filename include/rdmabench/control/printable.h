// Text from the other side, made fit for an error message or a log line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmabench::control {

/// `text` with everything but printable ASCII replaced by '?', so that a peer can neither break a
/// log line nor steer a terminal; cut after `limit` characters, which "..." then shows.
std::string printable(std::string_view text, std::size_t limit = 1000);

}  // namespace rdmabench::control
