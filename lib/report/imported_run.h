// A run that another tool measured between two sides, as a document of our own.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rdmabench::report {

/// What the tool did not say is left out, and null in the document.
struct ImportedRun {
  std::string tool{};       ///< "perftest"
  std::string test{};       ///< in the tool's own words
  std::string operation{};  ///< ours; the tool's own words where it is none of ours
  std::string backend{};    ///< "verbs", "ofi", "mpi"
  std::string device{};
  std::string transport{};
  bool latency = false;
  bool both_ways = false;
  std::uint64_t depth = 0;  ///< 0: not told
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
  /// By the keys of our results: "size_bytes", "iterations", "mean_ns", "bits_per_s", ...
  std::vector<std::map<std::string, double>> rows{};
  std::string error{};
  std::vector<std::string> notes{};
};

nlohmann::ordered_json document_of(const ImportedRun& run);

}  // namespace rdmabench::report
