// Documents as Markdown, for a chat or an issue.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// A section for each document: what failed first, with remedies, then tables of what was measured
/// (of a fabric each node's medians; at most kMarkdownRows rows of any table, and how many were
/// left out). Words from the files stand as text: what Markdown or HTML would take for markup is
/// escaped. Source: GitHub Flavored Markdown.
std::string to_markdown(std::span<const Document> documents);

inline constexpr std::size_t kMarkdownRows = 64;

}  // namespace rdmabench::report
