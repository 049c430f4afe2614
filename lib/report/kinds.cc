#include "kinds.h"

#include <algorithm>
#include <array>

namespace rdmabench::report {
namespace {

void no_figures(const Document& /*document*/, const VisitMeasured& /*visit*/) {}

std::vector<Section> no_sections(const Document& /*document*/) {
  return {};
}

template <std::vector<Section> (&kOf)(const Json&)>
std::vector<Section> of(const Document& document) {
  return kOf(document.body);
}

constexpr auto kKinds = std::to_array<DocumentKind>({
    {kFabricSchema, "Fabric", "", "rdmabench fabric", judge_fabric, measure_fabric, fabric_sections,
     fabric_details},
    {kDoctorSchema, "Node checks", "findings", "rdmabench doctor", judge_doctor, no_figures,
     no_sections, of<doctor_details>},
    {kNetPluginSchema, "Network plugin", "cases", "rdmabench netplugin", judge_netplugin,
     measure_netplugin, of<netplugin_sections>, no_sections},
    {kCollSchema, "Collectives", "results", "rdmabench coll", judge_coll, measure_coll,
     of<coll_sections>, of<coll_details>},
    {kCompareSchema, "Comparison", "families", "rdmabench compare", judge_comparison,
     measure_comparison, of<comparison_sections>, no_sections},
    {kProjectSchema, "Projection", "rows", "rdmabench project", judge_projection,
     measure_projection, of<projection_sections>, no_sections},
    {kDecideSchema, "Decision", "rows", "rdmabench decide", judge_decision, no_figures, no_sections,
     no_sections},
    {kRunSchema, "Other runs", "results", "rdmabench lat, bw, load", judge_run, measure_run,
     of<run_sections>, of<run_details>},
});

}  // namespace

std::span<const DocumentKind> document_kinds() {
  return kKinds;
}

const DocumentKind* find_kind(std::string_view schema) {
  const auto* const found = std::find_if(
      kKinds.begin(), kKinds.end(), [&](const DocumentKind& one) { return one.schema == schema; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace rdmabench::report
