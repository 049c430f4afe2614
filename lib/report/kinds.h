// The kinds of documents: all that reading, judging and writing ask of each. A new one is a file
// that ends with its DocumentKind, as netplugin.cc does, and a row of kinds.inc.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "digest.h"
#include "sections.h"

namespace rdmabench::inline v1::report {

using VisitMeasured = std::function<void(const Measured&)>;

inline void no_figures(const Document& /*document*/, const VisitMeasured& /*visit*/) {}
inline std::vector<Section> no_sections(const Document& /*document*/) {
  return {};
}

struct DocumentKind {
  std::string_view schema;
  std::string_view title;       ///< on the page
  std::string_view list;        ///< of objects, which each has
  std::string_view written_by;  ///< the commands: "coll"
  std::vector<Judgement> (&judge)(const Document&);
  void (&measure)(const Document&, const VisitMeasured&) = no_figures;  ///< for CSV and Prometheus
  std::vector<Section> (&sections)(const Document&) = no_sections;
  std::vector<Section> (&details)(const Document&) =
      no_sections;  ///< what only a page has room for
};
#define KIND(name) extern const DocumentKind name;
#include "kinds.inc"
#undef KIND

/// In the order of the page.
std::span<const DocumentKind* const> document_kinds();

/// nullptr where there is none.
const DocumentKind* find_kind(std::string_view schema);

/// What another tool printed, its runs as documents of rdmabench/1 or rdmabench-coll/1. What it
/// does not say is null, never guessed. `program` is that of parse_documents(). Throws Error(usage)
/// with `source` and the line.
std::vector<Json> imported_documents(std::string_view text, const std::string& source,
                                     const std::string& program);

}  // namespace rdmabench::inline v1::report
