// web/report.html, as it lies in this program.
#pragma once

#include <string_view>

namespace rdmabench::report {

std::string_view page_template() noexcept;

/// Stands once in the page, where the data go.
inline constexpr std::string_view kDataMark = "@RDMABENCH_DATA@";

}  // namespace rdmabench::report
