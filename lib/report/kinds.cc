#include "kinds.h"

#include <algorithm>
#include <array>

namespace rdmabench::report {
namespace {

template <std::vector<Section> (&kOf)(const Json&)>
std::vector<Section> of(const Document& document) {
  return kOf(document.body);
}

#define KIND(name) &(name),
constexpr auto kKinds = std::to_array<const DocumentKind*>({
#include "kinds.inc"
});
#undef KIND

}  // namespace

const DocumentKind kFabricKind{kFabricSchema,      "Fabric",      "",
                               "rdmabench fabric", judge_fabric,  measure_fabric,
                               fabric_sections,    fabric_details};
const DocumentKind kDoctorKind{kDoctorSchema, "Node checks", "findings",  "rdmabench doctor",
                               judge_doctor,  no_figures,    no_sections, of<doctor_details>};
const DocumentKind kCollKind{kCollSchema, "Collectives", "results",         "rdmabench coll",
                             judge_coll,  measure_coll,  of<coll_sections>, of<coll_details>};
const DocumentKind kCompareKind{kCompareSchema,         "Comparison",     "families",
                                "rdmabench compare",    judge_comparison, measure_comparison,
                                of<comparison_sections>};
const DocumentKind kProjectKind{kProjectSchema,         "Projection",     "rows",
                                "rdmabench project",    judge_projection, measure_projection,
                                of<projection_sections>};
const DocumentKind kDecideKind{kDecideSchema, "Decision", "rows", "rdmabench decide",
                               judge_decision};
const DocumentKind kRunKind{kRunSchema, "Other runs", "results",        "rdmabench lat, bw, load",
                            judge_run,  measure_run,  of<run_sections>, of<run_details>};

std::span<const DocumentKind* const> document_kinds() {
  return kKinds;
}

const DocumentKind* find_kind(std::string_view schema) {
  const auto* const found = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const DocumentKind* one) { return one->schema == schema; });
  return found == kKinds.end() ? nullptr : *found;
}

}  // namespace rdmabench::report
