// Documents as one page of HTML.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// One file that needs nothing else: it works from a disk, and its policy forbids the browser to
/// ask anything of a network. The documents lie in it as JSON, which no word of theirs can leave.
/// `generated` says when, as a reader should see it: "2026-03-01 12:00 UTC".
/// Throws Error(unavailable) in a build without the page (RDMABENCH_WEB).
std::string to_html(std::span<const Document> documents, std::string_view generated);

}  // namespace rdmabench::report
