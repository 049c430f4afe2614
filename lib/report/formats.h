// Documents in the format of a name.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "rdmabench/report/documents.h"

namespace rdmabench::inline v1::report {

inline constexpr std::array<std::string_view, 5> kFormats{"html", "junit", "prometheus", "csv",
                                                          "markdown"};

/// One of kFormats.
std::string to_format(std::span<const Document> documents, std::string_view format);

/// Now, as a page shows when it was made: "2026-03-01 12:00 UTC".
std::string time_of_page();

}  // namespace rdmabench::inline v1::report
