// Reading what other tools printed.
#pragma once

#include <string>
#include <string_view>

#include "base/number.h"
#include "base/text.h"

namespace rdmabench::report {

/// Of a text what tells whose it is: launchers and libraries may speak first.
std::string_view beginning_of(std::string_view text) noexcept;

/// Without "[1,0]<stdout>:" of Open MPI, "0: " of srun -l, "node1: " of pdsh, "[pod/name/main] " of
/// kubectl, a time as of RFC 3339 or syslog, with the host and program behind it, and several of
/// these.
std::string_view without_tag(std::string_view line) noexcept;

/// Without the terminal's colours (ECMA-48, "select graphic rendition").
std::string without_colours(std::string_view text);

bool has(std::string_view line, std::string_view part) noexcept;

/// What stands after `mark`, without blanks around it; "" where there is no mark.
std::string rest_after(std::string_view line, std::string_view mark);

}  // namespace rdmabench::report
