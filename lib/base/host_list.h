// Slurm's notation of hosts.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmabench::inline v1 {

/// The names of a list in its order: "n1" and "n2" of "n[1-2]", "rack02n8" first of
/// "rack[02-04]n[8,11]". `refuse` is called with what is wrong, and throws: an empty name or one of
/// more than 255 characters, brackets or ranges that are none, more than `most` names. Source:
/// scontrol(1), "show hostnames".
std::vector<std::string> host_names(std::string_view list, std::size_t most,
                                    const std::function<void(const std::string& what)>& refuse);

}  // namespace rdmabench::inline v1
