#include "verify.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "memory/gpu_memory.h"
#include "rdmabench/base/units.h"
#include "results/facts.h"
#include "results/number_column.h"

namespace rdmabench::inline v1::run {
namespace {

using report::value_of;

/// A double that is whole may have become an integer on its way.
std::optional<double> number_of(const report::Facts& facts, std::string_view name) {
  if (const auto whole = value_of<std::uint64_t>(facts, name)) return static_cast<double>(*whole);
  return value_of<double>(facts, name);
}

std::string route_text(std::string_view side, const report::Facts& facts) {
  const auto memory = value_of<std::string>(facts, "memory");
  const auto route = value_of<std::string>(facts, "memory_route");
  if (!memory || !route) return fmt::format("the {}'s memory is the host's", side);
  const auto relaxed = value_of<std::string>(facts, kRelaxedOrdering);
  return fmt::format("the {}'s {} by {}{}", side, ascii_only(*memory), ascii_only(*route),
                     !relaxed             ? ""
                     : *relaxed == "true" ? ", relaxed ordering asked for"
                                          : ", no relaxed ordering");
}

std::string cost_text(std::string_view side, std::uint64_t bytes, double from_ns, double to_ns) {
  return fmt::format(
      "staged: at the {} the wire moved pinned host memory and not the GPU's; copies of {}, not in "
      "these figures, take {} from the GPU and {} to it (medians).",
      side, format_size(bytes), report::time_text(from_ns), report::time_text(to_ns));
}

/// Calls `visit` with the size and the notes of each row.
template <class Visit>
void for_each_row(report::Report& report, Visit&& visit) {
  std::visit(
      [&](auto& rows) {
        for (auto& row : rows) {
          if constexpr (requires { row.latency.notes; }) {
            visit(row.latency.size_bytes, row.latency.validated, row.latency.notes);
          } else {
            visit(row.size_bytes, row.validated, row.notes);
          }
        }
      },
      report.results);
}

void note_own_staging(memory::GpuMemory& gpu, report::Report& report) {
  std::map<std::uint64_t, memory::CopyTimes> measured;
  for_each_row(report, [&](std::uint64_t size, bool, std::vector<std::string>& notes) {
    const auto found = measured.find(size);
    const memory::CopyTimes times =
        found != measured.end() ? found->second
                                : measured.emplace(size, gpu.measure_copies(size)).first->second;
    notes.push_back(cost_text("client", times.bytes, times.from_device_ns, times.to_device_ns));
  });
  for (const auto& [size, times] : measured) {
    report.resolved.details.push_back(
        {fmt::format("staging_from_device_{}_bytes_ns", size), times.from_device_ns});
    report.resolved.details.push_back(
        {fmt::format("staging_to_device_{}_bytes_ns", size), times.to_device_ns});
  }
}

}  // namespace

std::string routes_text(const Session& session, const report::Facts& server) {
  return fmt::format("{}; {}", route_text("client", session.memory_facts()),
                     route_text("server", server));
}

void add_gpu_notes(Session& session, const report::Facts& server, report::Report& report) {
  const std::string routes = routes_text(session, server);
  report.resolved.details.push_back({"memory_routes", routes});
  report.notes.push_back(fmt::format("GPU memory: {}.", routes));
  for (const auto& [side, facts] :
       {std::pair("client", session.memory_facts()), std::pair("server", server)}) {
    const auto gpu = value_of<std::string>(facts, "gpu");
    if (gpu) report.notes.push_back(fmt::format("At the {}: {}.", side, ascii_only(*gpu)));
  }
  for_each_row(report, [](std::uint64_t, bool validated, std::vector<std::string>& notes) {
    if (!validated) return;
    notes.emplace_back(
        "validated outside of the timed part: all slots were written before each epoch, and after it every byte of "
        "the message that came last to each was compared; earlier ones of an epoch were counted "
        "where the operation tells its target, and not compared.");
  });
  memory::GpuMemory* const own = session.worker().gpu_memory();
  if (own != nullptr && own->staged()) note_own_staging(*own, report);
  const auto bytes = value_of<std::uint64_t>(server, "staging_copy_bytes");
  const auto to = number_of(server, "staging_to_device_ns");
  const auto from = number_of(server, "staging_from_device_ns");
  if (!bytes || !to || !from) return;
  for_each_row(report, [&](std::uint64_t, bool, std::vector<std::string>& notes) {
    notes.push_back(cost_text("server", *bytes, *from, *to));
  });
}

}  // namespace rdmabench::inline v1::run
