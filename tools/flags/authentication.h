// --token-file, --auth and --insecure, of every command that listens or connects.
#pragma once

#include <string>
#include <vector>

#include "flag.h"
#include "rdmabench/control/channel.h"

namespace rdmabench::tools {

// One option each. Throws Error(usage) for those that exclude one another.
void set_token_file(control::Authentication& to, const Given& given);
void set_auth(control::Authentication& to, const Given& given);
void set_insecure(control::Authentication& to, const Given& given);

/// Takes these options out of a command line in another suite's language, which has none of the
/// same names: "--token-file PATH", "--token-file=PATH" and so on, up to "--". Throws Error(usage).
control::Authentication take_authentication(std::vector<std::string>& words);

/// For the first line of what listens: "" or that anyone is served.
std::string who_is_served(const control::Authentication& authentication);

}  // namespace rdmabench::tools
