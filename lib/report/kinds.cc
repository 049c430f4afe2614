#include "kinds.h"

#include <algorithm>
#include <array>

#include "launches.h"

namespace rdmabench::inline v1::report {
namespace {

#define KIND(name) &(name),
constexpr auto kKinds = std::to_array<const DocumentKind*>({
#include "kinds.inc"
});
#undef KIND

}  // namespace

std::span<const DocumentKind* const> document_kinds() {
  return kKinds;
}

const DocumentKind* find_kind(std::string_view schema) {
  const auto* const found = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const DocumentKind* one) { return one->schema == schema; });
  return found == kKinds.end() ? nullptr : *found;
}

std::vector<Judgement> judgements(const Document& document) {
  const DocumentKind* const kind = find_kind(document.schema);
  std::vector<Judgement> list;
  if (kind != nullptr) list = kind->judge(document);
  // Of --expect and --require.
  for (const Json& judged : list_of(json_of(document), "expectations")) {
    Judgement& one = list.emplace_back(
        Judgement{"expect", text_of(judged, "row"), text_of(judged, "expectation"),
                  status_of(text_of(judged, "status")), text_of(judged, "text")});
    const std::string cause = text_of(judged, "cause");
    if (!one.subject.empty()) one.alike = cause.empty() ? one.id : one.id + ": " + cause;
    one.add_details(judged, {"launches", "launches_needed"});
    if (one.outcome == Status::fail) {
      one.details.emplace_back("action",
                               one.id.starts_with("require ") ? "change setting" : "run doctor");
    }
  }
  return list;
}

std::vector<Judgement> judgements(const Document& document, std::span<const Document> all) {
  const auto file_of = [](const Document& one) {  // "run.jsonl" of "run.jsonl#2"
    const std::string_view source = one.source;
    const std::size_t mark = source.rfind('#');
    const bool is_number =
        mark != std::string_view::npos &&
        source.find_first_not_of("0123456789", mark + 1) == std::string_view::npos;
    return source.substr(0, is_number ? mark : source.npos);
  };
  // Launches come before the document over them.
  const auto self = std::ranges::find(all, &document, [](const Document& one) { return &one; });
  const auto over = std::find_if(self, all.end(), [&](const Document& one) {
    return one.schema != document.schema || file_of(one) != file_of(document) ||
           launches_of(json_of(one)) > 1;
  });
  if (over == self || over == all.end() || over->schema != document.schema ||
      file_of(*over) != file_of(document)) {
    return judgements(document);
  }
  const bool is_launch = static_cast<std::size_t>(over - self) <= launches_of(json_of(*over));
  return is_launch ? std::vector<Judgement>() : judgements(document);
}

void for_each_measured(const Document& document,
                       const std::function<void(const Measured&)>& visit) {
  if (const DocumentKind* const kind = find_kind(document.schema)) kind->measure(document, visit);
}

}  // namespace rdmabench::inline v1::report
