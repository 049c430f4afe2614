// Runs that other tools measured, as documents of our own.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/report/nccl_tests.h"

namespace rdmabench::report {

/// One between two sides. What the tool did not say is left out, and null in the document.
struct ImportedRun {
  std::string tool{};  ///< "perftest"
  std::string test{};  ///< in the tool's own words
  /// Ours; the tool's own words where it is none of ours; "unknown", then its direction and kind
  /// too.
  std::string operation{};
  std::string backend{};  ///< "verbs", "ofi", "mpi"
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

// Tables that give a mean for each size: those of OSU's micro-benchmarks and of fabtests.

bool is_mean_table(std::string_view text) noexcept;

/// A document for each table. `program` is what printed it, where the text does not say:
/// "fi_rma_bw";
/// "": what the file's name begins with. Throws Error(usage) with `source` and the line.
std::vector<nlohmann::ordered_json> mean_table_documents(std::string_view text,
                                                         const std::string& source,
                                                         const std::string& program);

/// Whether a table of OSU's or of fabtests, or its program's command, begins in this line.
bool begins_mean_table(std::string_view line) noexcept;

/// Whether a run of perftest, or its table, begins in this line.
bool begins_perftest(std::string_view line) noexcept;

/// A document of rdmabench/1 for each run that one of perftest's programs printed, with launchers'
/// tags before its lines too, or for its JSON. MB and MiB are both 2^20 bytes, as in its sources;
/// in JSON, which names no unit, the message rate tells it. What it does not say is null; a table
/// without rows, and a run that failed, have an error. Throws Error(usage) with `source` and the
/// line for a table that makes no sense. `program`: as above.
std::vector<nlohmann::ordered_json> perftest_documents(std::string_view text,
                                                       const std::string& source,
                                                       const std::string& program);

/// Text or JSON of nccl-tests as documents of rdmabench-coll/1, one for each run in it: every
/// placement of a row is a result. What it does not tell is null, and the notes say what was left
/// out. `program` is what printed it, where the text does not say; "": see nccl_tests_program().
/// Throws Error(usage).
std::vector<nlohmann::ordered_json> nccl_tests_documents(std::string_view text,
                                                         const std::string& source,
                                                         const std::string& program = "");
bool is_nccl_tests_program(const std::string& name);
nlohmann::ordered_json nccl_tests_document(const NcclTestsTable& table, const std::string& source);

}  // namespace rdmabench::report
