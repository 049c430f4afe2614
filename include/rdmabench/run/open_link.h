// How a back end's table of links names an endpoint type without compiling its loops.
#pragma once

#include <memory>
#include <string_view>

#include "rdmabench/run/link.h"

namespace rdmabench::run {

/// Opens an endpoint of type T as a Link. Throws what T's constructor does. Defined in link_of.h
/// and instantiated in a file of its own for each type, which CMake writes: what one type needs
/// cannot change the code of another, and they are compiled side by side.
template <class T>
std::unique_ptr<Link> open_link(const transport::EndpointRequest& request, std::string_view choice);

}  // namespace rdmabench::run
