// The two ends of a check in two processes, which are usually on two hosts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "rdmabench/control/channel.h"
#include "rdmabench/netplugin/check.h"

namespace rdmabench::netplugin {

inline constexpr std::uint16_t kDefaultPort = 18517;

/// The client: its side sends, the server's receives. Thread rule and errors as check_here();
/// a server that is lost ends the run, and Check::error says so.
Check check_with(const Options& options, control::Channel& server, const OnProgress& on_progress);

/// Answers one client until it leaves, with the plugin in `file`. Nothing that the client sends is
/// believed: names are looked up, numbers held against their bounds. Throws Error when the client
/// is lost or sends what is no request. No other thread may run.
void serve(const std::string& file, control::Channel& client,
           const std::function<void(const std::string&)>& log);

}  // namespace rdmabench::netplugin
