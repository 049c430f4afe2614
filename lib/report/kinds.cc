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
    return std::string_view(one.source).substr(0, one.source.rfind('#'));
  };
  const bool is_launch =
      launches_of(json_of(document)) == 1 && std::ranges::any_of(all, [&](const Document& one) {
        return one.schema == document.schema && file_of(one) == file_of(document) &&
               launches_of(json_of(one)) > 1;
      });
  return is_launch ? std::vector<Judgement>() : judgements(document);
}

void for_each_measured(const Document& document,
                       const std::function<void(const Measured&)>& visit) {
  if (const DocumentKind* const kind = find_kind(document.schema)) kind->measure(document, visit);
}

}  // namespace rdmabench::inline v1::report
