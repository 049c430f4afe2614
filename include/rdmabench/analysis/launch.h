// Finished results, as read back from rdmabench/1 and rdmabench-coll/1 documents.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rdmabench/features.h"

namespace rdmabench::inline v1::report {
struct Document;
struct Report;
}  // namespace rdmabench::inline v1::report

namespace rdmabench::inline v1::analysis {

/// What of a row is compared.
enum class Metric : std::uint8_t { p50, p99, p999, bandwidth, mean };

inline constexpr std::array kMetrics{Metric::p50, Metric::p99, Metric::p999, Metric::bandwidth,
                                     Metric::mean};

/// "p50", "p99", "p99.9", "bandwidth", "mean": of a latency that has no percentiles.
std::string_view name(Metric metric) noexcept;

/// Throws Error(usage) that lists them.
Metric parse_metric(std::string_view text);

/// One percentile of a latency row.
struct Percentile {
  double percent = 0;  ///< 99.9
  double value_ns = 0;
  bool supported = false;  ///< at least 10 samples lie beyond it
};

/// One operation at one size of one launch.
struct Row {
  std::string operation;
  std::string kind;  ///< what a latency spans, or which bytes a bandwidth counts
  std::uint64_t size_bytes = 0;
  std::uint64_t samples = 0;                 ///< timed iterations
  std::optional<double> load;                ///< of a load test: offered rate over capacity
  std::vector<Percentile> percentiles;       ///< rising; empty for a bandwidth
  std::optional<double> mean_ns;             ///< of a latency without percentiles
  std::optional<double> bits_per_s;          ///< payload
  std::map<std::string, std::string> facts;  ///< completion, signal, depth: what the number means
};

/// One run of one test.
struct Launch {
  std::string source;                           ///< "a.json", or "demo.json#2" of several documents
  std::string test;                             ///< "latency", "bandwidth", "load" or "collective"
  std::optional<std::string> error;             ///< why it ended early
  std::string not_rdma;                         ///< as its document says it; "" where it was RDMA
  bool watched = false;                         ///< whether the document says what disturbed it
  std::vector<std::string> suspicions;          ///< codes: "migration", ...
  std::map<std::string, std::string> remedies;  ///< by code of suspicion, where the document has it
  std::map<std::string, std::uint64_t> disturbances;  ///< by counter class; only what is not zero
  std::map<std::string, std::string> facts;  ///< "environment.client.kernel", "config.depth", ...
  std::optional<double> time_s;              ///< when it ran, in seconds since 1970
  std::string pair;                          ///< "node1 node2": the two sides' names
  std::vector<Row> rows;
  std::string document;  ///< as JSON in one line
};

/// Reads a document, or the documents of several runs. Throws Error(usage) that names `source` and
/// what is wrong: no JSON, another schema, a key of the wrong type, no results and no error. Keys
/// that it does not know are left alone. `program` is for report::parse_documents().
std::vector<Launch> read_launches(const std::string& text, const std::string& source,
                                  const std::string& program = "");

/// Of a document that was read, or of a run of this process, which `source` names in errors. Throws
/// Error(usage) as above.
Launch to_launch(const report::Document& document);
Launch to_launch(const report::Report& report, const std::string& source = "the result");

/// Of files, of the *.json of directories, by name, and of documents themselves: texts that begin
/// with '{'. Throws Error(usage) for what cannot be read, for a path that holds nothing, and for
/// two launches that are the same. With `left_out`, a directory's file that cannot be read is left
/// out, and why it was is added there; one that holds no other is still an error.
std::vector<Launch> load_launches(const std::vector<std::string>& paths,
                                  const std::string& program = "",
                                  std::vector<std::string>* left_out = nullptr);

/// Names of two sides by the paths they were loaded from: what tells these apart and no more, as
/// "ib" and "roce" for runs/ib/*.json and runs/roce/*.json. "A" and "B" where the paths do not. `b`
/// may be empty, where there is one side alone.
std::pair<std::string, std::string> side_names(const std::vector<std::string>& a,
                                               const std::vector<std::string>& b);

/// Throws Error(usage) that names two launches which are one and the same: a copied file would
/// count as evidence.
void refuse_copies(const std::vector<Launch>& a, const std::vector<Launch>& b);

}  // namespace rdmabench::inline v1::analysis
