#include "rdmabench/report/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "digest.h"

namespace rdmabench::report {
namespace {

constexpr std::string_view kRowEnd = "\r\n";

/// Labels and values by their keys. Of a key that is not here nothing is written: new columns come
/// at the end, so that a script which counts them goes on working.
constexpr auto kColumns = std::to_array<std::string_view>({
    "source",
    "schema",
    "kind",
    "client",
    "server",
    "sender",
    "receiver",
    "sender_host",
    "receiver_host",
    "rail",
    "round",
    "pattern",
    "metric",
    "operation",
    "memory",
    "backend",
    "provider",
    "device",
    "transport",
    "direction",
    "completion",
    "size_bytes",
    "load",
    "iterations",
    "depth",
    "bits_per_s",
    "bits_per_s_low",
    "bits_per_s_high",
    "messages_per_s",
    "offered_messages_per_s",
    "achieved_messages_per_s",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "p9999_ns",
    "max_ns",
    "mean_ns",
    "stddev_ns",
    "median_low_ns",
    "median_high_ns",
    "lost",
    "knee",
    "stable",
    "suspect",
    "error",
    "group",
    "subject",
    "id",
    "status",
    "text",
    "remedy",
    "test",
    "unit",
    "verdict",
    "a",
    "b",
    "a_units",
    "b_units",
    "ratio",
    "ratio_low",
    "ratio_high",
    "axis",
    "at",
    "side",
    "step_s",
    "step_low_s",
    "step_high_s",
    "compute_s",
    "communication_s",
    "plugin",
    "api_version",
});
using Cells = std::array<std::string, kColumns.size()>;

void set(Cells& cells, std::string_view column, std::string text) {
  const auto* const found = std::find(kColumns.begin(), kColumns.end(), column);
  if (found != kColumns.end()) {
    cells[static_cast<std::size_t>(found - kColumns.begin())] = std::move(text);
  }
}

std::string quoted(const std::string& text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string out;
  if (!text.empty() && kFormula.find(text.front()) != std::string_view::npos) out += '\'';
  if (text.find_first_of(",\"\r\n") == std::string::npos) return out += text;
  out.insert(out.begin(), '"');
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out += '"';
}

void append(std::string& text, const Cells& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) text += ',';
    text += quoted(cells[i]);
  }
  text += kRowEnd;
}

Cells cells_of(const Document& document, std::string_view kind) {
  Cells cells;
  set(cells, "source", document.source);
  set(cells, "schema", document.schema);
  set(cells, "kind", std::string(kind));
  return cells;
}

void append_judgements(std::string& text, const Document& document) {
  for (const Judgement& one : judgements(document)) {
    if (one.group == "fabric.pair" || one.group.rfind("compare.", 0) == 0 ||
        one.group == "project" || (one.group.rfind("run.", 0) == 0 && one.text.empty())) {
      continue;  // a measured row says it
    }
    Cells cells = cells_of(document, "judgement");
    set(cells, "group", one.group);
    set(cells, "subject", one.subject);
    set(cells, "id", one.id);
    set(cells, "status", std::string(name(one.outcome)));
    set(cells, "text", one.text);
    set(cells, "remedy", one.remedy);
    append(text, cells);
  }
}

}  // namespace

std::string to_csv(std::span<const Document> documents) {
  std::string text = fmt::format("{}{}", fmt::join(kColumns, ","), kRowEnd);
  for (const Document& document : documents) {
    for_each_measured(document, [&](const Measured& measured) {
      Cells cells = cells_of(document, measured.kind);
      for (const Label& label : measured.labels) {
        if (label.first != "kind") set(cells, label.first, label.second);
      }
      for (const Value& value : measured.values) {
        set(cells, value.first, fmt::format("{}", value.second));
      }
      set(cells, "error", measured.error);
      append(text, cells);
    });
    append_judgements(text, document);
  }
  return text;
}

}  // namespace rdmabench::report
