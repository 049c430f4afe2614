// What perftest tells of a run before its rows, for its text and for its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/report/result.h"

namespace rdmabench::report {

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

/// As perftest writes a switch.
constexpr std::string_view on_off(bool value) {
  return value ? "ON" : "OFF";
}

struct PerftestInfo {
  std::vector<std::string> test;  ///< words of the title: "RDMA_Write", "Bidirectional", "BW"
  bool bandwidth = false;
  std::string device;  ///< without its port
  std::uint64_t queue_pairs = 1;
  std::string transport_type;   ///< "IB", "IW", or the back end where it is not verbs
  std::string connection_type;  ///< "RC"
  bool shared_receives = false;
  bool relaxed_ordering = false;
  bool wr_api = false;
  std::uint64_t depth = 1;
  std::uint64_t post_list = 1;
  std::optional<std::uint64_t> receives;  ///< printed where this side receives too
  std::uint64_t signal_every = 1;
  std::uint64_t mtu = 0;
  std::string link_type;
  std::optional<std::uint64_t> gid_index;
  bool from_target = false;  ///< reads and atomics: `outstanding_reads` is printed, else `inlined`
  std::uint64_t inlined = 0;
  std::uint64_t outstanding_reads = 0;
  bool connection_manager = false;
  std::optional<std::uint64_t> completion_vector;  ///< with events
};

PerftestInfo perftest_info(const Report& report);

/// The latency results, those under load among them; empty for bandwidth.
std::vector<LatencyResult> latency_results(const Report& report);

/// Whether the run was one by duration, and of latency: perftest has a short table for it.
bool is_perftest_short(const Report& report);

}  // namespace rdmabench::report
