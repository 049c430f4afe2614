// --token-file, --auth and --insecure, of every command that listens or connects.
#pragma once

#include <span>
#include <string>

#include "flag.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::tools {

/// The three of them, each of which throws Error(usage) where another one excludes it. The command
/// lines of other suites, which have none of the same names, take them too.
std::span<const Flag<control::Authentication>> authentication_flags();

/// For the first line of what listens: "" or that anyone is served.
std::string who_is_served(const control::Authentication& authentication);

}  // namespace rdmabench::tools
