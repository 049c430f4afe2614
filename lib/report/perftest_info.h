// What perftest tells of a run before its rows, for its text and for its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/results/result.h"
#include "results/row.h"

namespace rdmabench::inline v1::report {

/// The whole number, decimal or 0x..., that the text begins with.
std::optional<std::uint64_t> leading_number(std::string_view text);

/// The values that a run's facts are looked up by. A detail comes before a config of that name.
class FactReader {
 public:
  explicit FactReader(const Report& report) : report_(report) {}

  /// As text without control characters; nothing where there is no such fact.
  std::optional<std::string> text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view absent) const;
  /// A whole number, decimal or 0x...; `absent` where there is none.
  std::uint64_t number(std::string_view name, std::uint64_t absent) const;
  /// A true bool, or a word for it: "true", "on", "yes".
  bool flag(std::string_view name) const;

 private:
  const Report& report_;
};

/// One thing that perftest tells of a run.
struct PerftestField {
  std::string_view label;  ///< in its text; "" where only the JSON has it
  std::string_view key;    ///< in its JSON
  Json value;
  std::string_view unit{};   ///< in its text
  bool begins_pair = false;  ///< the next one stands in the same line of text
};

struct PerftestInfo {
  std::vector<std::string> test;      ///< words of the title: "RDMA_Write", "Bidirectional", "BW"
  std::vector<PerftestField> fields;  ///< in its order
  std::string device;                 ///< without its port
  bool has_gid = false;
  bool from_target = false;  ///< reads and atomics: `outstanding_reads` is printed
  std::uint64_t outstanding_reads = 0;
  bool connection_manager = false;
  std::optional<std::uint64_t> completion_vector;  ///< with events
};

PerftestInfo perftest_info(const Report& report);

/// The latency results, those under load among them; empty for bandwidth.
std::vector<LatencyResult> latency_results(const Report& report);

/// Whether the run was one by duration, and of latency: perftest has a short table for it.
bool is_perftest_short(const Report& report);

}  // namespace rdmabench::inline v1::report
