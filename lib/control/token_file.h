// The file with the secret of a user.
#pragma once

#include <memory>
#include <string>

#include "secret.h"

namespace rdmabench::inline v1::control {

/// RDMABENCH_TOKEN_FILE; "" where it is not set.
std::string named_token_file();

/// rdmabench/token of $XDG_CONFIG_HOME or ~/.config. Throws Error(usage) where the environment has
/// none of these, or a HOME that is no absolute path; a relative XDG_CONFIG_HOME is ignored.
std::string own_token_file();

/// What the file holds. Only its owner may be able to read or write it, and that is this user or
/// root. Throws Error(usage) that names the file and what is wrong with it.
std::shared_ptr<const Secret> read_token_file(const std::string& path);

/// The same; one that is not there yet is made with 32 random bytes, mode 0600. Of several
/// processes that make it at once, one does, and all read that one.
std::shared_ptr<const Secret> read_or_make_token_file(const std::string& path);

}  // namespace rdmabench::inline v1::control
