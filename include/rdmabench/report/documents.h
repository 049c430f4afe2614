// The documents of rdmabench: read back from files, held against limits, and written in other
// formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

/// The content of a document: JSON, held as the library has it. Thread rule: a value. One that was
/// moved from may be assigned to and destroyed.
class Body {
 public:
  struct Value;  ///< the library's own

  Body();  ///< null
  explicit Body(std::unique_ptr<Value> value) noexcept;
  Body(const Body& other);
  Body(Body&& other) noexcept;
  Body& operator=(const Body& other);
  Body& operator=(Body&& other) noexcept;
  ~Body();

  /// For the library.
  Value& value() noexcept { return *value_; }
  const Value& value() const noexcept { return *value_; }

 private:
  std::unique_ptr<Value> value_;
};

/// One document: a run, a node's checks, a fabric, collectives, a comparison or a projection.
///
/// Its texts are those of the file, with markup and control characters: every writer escapes them.
/// Of `body`, which to_json() has as text, only the shape was checked: that lists are lists and
/// their items objects.
struct Document {
  std::string source;  ///< the file's name, and "#2" after it for the second document of one
  std::string schema;  ///< "rdmabench-doctor/1"
  /// As in the file. Of a fabric: {"schema", "plan", "nodes", "lost": [...], "verdict":
  /// {...}|null}.
  Body body{};
  std::vector<PairMeasurement> pairs{};  ///< of a fabric, in the file's order
  std::vector<std::string> notes{};      ///< what reading left out; whole sentences
};

/// Of one run, as to_json() has it.
Document to_document(const Report& report);

/// Its body, ended by a newline. Of a fabric it lacks the pairs' measurements.
std::string to_json(const Document& document);

/// Anything larger is refused.
struct ReadLimits {
  std::size_t file_bytes = std::size_t{512} << 20;
  std::size_t document_bytes = std::size_t{64} << 20;  ///< and of one line of JSON Lines
  std::size_t tool_bytes = std::size_t{16} << 20;      ///< of what another tool printed
  int depth = 32;                                      ///< of lists and objects in one another
  std::size_t keys = 256;                              ///< of one object
  std::size_t pairs = 8'000'000;
};

inline constexpr std::string_view kFabricSchema = "rdmabench-fabric/1";
inline constexpr std::string_view kDoctorSchema = "rdmabench-doctor/1";
inline constexpr std::string_view kCompareSchema = "rdmabench-compare/1";
inline constexpr std::string_view kProjectSchema = "rdmabench-project/1";
inline constexpr std::string_view kDecideSchema = "rdmabench-decide/1";
inline constexpr std::string_view kCollSchema = "rdmabench-coll/1";
inline constexpr std::string_view kNetPluginSchema = "rdmabench-netplugin/1";

/// Reads JSON or JSON Lines of any of the schemas above, or what another tool printed;
/// {"documents": [...]} and a list are taken apart. Of what another tool printed each run becomes
/// a document of rdmabench/1 or rdmabench-coll/1; what it does not say is null, never guessed.
/// `program` names that tool's program, where neither the text nor the file's name says so:
/// "all_gather_perf", "fi_rma_bw". An incomplete last line, as of a run that was killed, is left
/// out with a note. Anything else that is not valid throws Error(usage) with `source` and the line.
std::vector<Document> parse_documents(std::string_view text, const std::string& source,
                                      const std::string& program = "",
                                      const ReadLimits& limits = {});

/// The path itself, or the files of a folder that end in one of `endings` (".json"); where it has
/// none of them, what other tools printed: *.txt, *.log and *.out. By name. Throws Error(usage)
/// where there is none.
std::vector<std::string> document_files(const std::string& path,
                                        const std::set<std::string>& endings);

/// The documents of a file. Throws Error(usage) as above, where the file cannot be read, and for
/// "-": standard input is the program's own, which may read it and call parse_documents().
std::vector<Document> read_documents(const std::string& path, const std::string& program = "",
                                     const ReadLimits& limits = {});

struct FolderDocuments {
  std::vector<Document> documents{};
  std::vector<std::string> left_out{};  ///< why, with the name, of each file that was not taken
};

/// The documents of all `paths`. Of a folder a file that cannot be read as one does not keep the
/// others from being read. Throws Error(usage) for a file that is named itself, and for a folder
/// of which none is taken.
FolderDocuments read_folders(const std::vector<std::string>& paths,
                             const std::set<std::string>& endings, const std::string& program = "");

/// Whether another tool that is known seems to have written the text.
bool is_imported(std::string_view text) noexcept;

struct Baseline;

/// A number that results must keep, as `--expect` takes it: docs/expect.md.
struct Limit {
  enum class Of : std::uint8_t { absolute, line, baseline };

  std::string text;      ///< as the user wrote it
  std::string quantity;  ///< "bw", "p99", "busbw", or a key of a row: "register_p50_ns"
  bool at_least = true;  ///< >=, else <=
  double value = 0;      ///< bit/s, byte/s, ns or 1/s; a share, 0.9, where `of` is not absolute
  Of of = Of::absolute;
  std::string baseline;          ///< the path of a document, where `of` says so
  std::uint64_t least_size = 0;  ///< bytes: messages of these sizes
  std::uint64_t most_size = std::numeric_limits<std::uint64_t>::max();
  bool of_profile = false;  ///< where others of the profile apply, it may have no row
  std::shared_ptr<const Baseline> read{};  ///< of a baseline: see read_baseline()
};

/// "bw>=360Gb/s", "p99<=5us", "bw>=90%line", "p50<=110%old.json", "busbw>=40GB/s@64M" (of this
/// size) or "@64M+" (from this size on). Throws Error(usage) that names what is wrong in the text.
/// The baseline "-" is wrong, as above.
Limit parse_limit(std::string_view text);

/// The list "expect" of a profile, which is a file of JSON. Throws Error(usage) that names it.
std::vector<Limit> read_profile(const std::string& path);

/// Reads the baseline of a limit that has one and was not read yet: each document is a launch.
/// judge() does so itself; before a measurement a file that cannot be read costs no results. Throws
/// Error(usage).
void read_baseline(Limit& limit);

/// What came of one limit for one row.
struct LimitFinding {
  std::string limit{};            ///< "bw>=90%line"
  std::string row{};              ///< "write of 64K"; "": the whole result
  Status status = Status::open;   ///< pass, fail or open
  std::string text{};             ///< both numbers, and why it is open
  std::optional<double> value{};  ///< bit/s, byte/s, ns or 1/s, as all four
  std::optional<double> low{};    ///< of its 95 % interval, as launches differ
  std::optional<double> high{};
  std::optional<double> bound{};                   ///< the limit, of a share the product
  std::optional<std::uint32_t> launches{};         ///< that `value` is over
  std::optional<std::uint32_t> launches_needed{};  ///< of open: in all, that would decide
};

/// Judges every row that has the quantity, and writes the findings as body["expectations"] in place
/// of earlier ones: of each limit those that FAIL first, then the open ones, of each status at most
/// kMostJudged with the number of the rest. `launches`: the documents that `document` is over, see
/// over_launches(); without them it is one run.
///
/// A row PASSes or FAILs where its value lies further from the limit than launches differ by, of
/// one run also by the samples within it; else it is OPEN. What FAILs is judged together, by Holm's
/// rule over all rows that have a limit. A limit of which there is no row, or whose baseline has
/// none of the rows, FAILs; one of a profile is OPEN instead where another one of the profile has a
/// row. "line" is the payload that the devices' link can carry, from what the document says of both
/// ends; where it says too little the finding is OPEN with the reason. That a run ended early is no
/// finding. Throws Error(usage) for a baseline that cannot be read.
std::vector<LimitFinding> judge(Document& document, const std::vector<Limit>& limits,
                                std::span<const Document> launches = {});
std::vector<LimitFinding> judge(const Report& report, const std::vector<Limit>& limits);

inline constexpr std::size_t kMostJudged = 64;

/// Whether one is a FAIL.
bool failed(const std::vector<LimitFinding>& findings) noexcept;

/// A document whose rows are those of the launches, without those that were cut off where a launch
/// has the whole row: "launches" of each, sums of its counts, geometric means of its times and
/// rates, and in place of the intervals within a run the 95 % intervals by Student's t over the
/// launches' logs. Errors, suspicions and notes are of all. The loads of a curve are alike where
/// their shares of the capacity are. Of fabrics it has each pair once, and the findings of all with
/// the number of their launches. Throws Error(usage), which names two of them, where they are not
/// launches of one run (of one kind and test, with the same configuration, back end, provider and
/// sort of device) or one is a copy of another, which would count as evidence; and where there is
/// none.
Document over_launches(std::span<const Document> launches);

/// The transport, a table with one line for each size, the notes, the suspicions and the error.
///
/// The rows fit into `width` columns: what is less asked for is left out, and named. Latency is in
/// microseconds, with no digit below the clock's resolution, and "-" for a percentile that the
/// samples cannot support; bandwidth is in Gb/s (10^9 bits) and MiB/s. Rows of another kind, signal
/// or completion begin another table. What several reports have in common is written once.
/// Suspicions of one code become one line with one remedy, unless `verbose` asks for each with its
/// numbers. Lines that tell of what was left out name the command's options: --verbose is
/// `verbose`, --wide a greater `width`.
///
/// Several reports are launches of the same run where they are load curves: the knee is then given
/// with the interval over the launches.
std::string to_table(std::span<const Report> reports, bool verbose = false,
                     std::size_t width = kUsualWidth);
inline std::string to_table(const Report& report) {
  return to_table(std::span(&report, 1));
}

/// CSV: a line of names, then a line for each measurement (kind latency, bandwidth, load,
/// registration, pair, ...) and for each judgement (kind judgement) of all documents. The columns
/// are source, schema, kind and every key that a document has. A text that a spreadsheet would take
/// for a formula gets an apostrophe before it. Source: RFC 4180.
std::string to_csv(std::span<const Document> documents);

/// One file that needs nothing else: it works from a disk, and its policy forbids the browser to
/// load anything. The documents are in it as escaped JSON. `generated` is the time as the page
/// shows it: "2026-03-01 12:00 UTC".
std::string to_html(std::span<const Document> documents, std::string_view generated);

/// A testsuite for each document; a testcase for each finding, each measured row and each cell of a
/// fabric. FAIL becomes a failure with reason and remedy, SKIP skipped, ERROR an error; a WARN
/// passes with its text in system-out, as JUnit has no word for it. Of a fabric with more than
/// kJunitCells cells only those that failed are cases, and the suite's property says so. Characters
/// that XML cannot have are written as U+FFFD. Source: the JUnit schema of Apache Ant.
std::string to_junit(std::span<const Document> documents);

inline constexpr std::size_t kJunitCells = 20'000;

/// A section for each document: what failed first, with remedies, then tables of what was measured
/// (of a fabric each node's medians; at most kMarkdownRows rows of any table, and how many were
/// left out). Words from the files stand as text: what Markdown or HTML would take for markup is
/// escaped. Source: GitHub Flavored Markdown.
std::string to_markdown(std::span<const Document> documents);

inline constexpr std::size_t kMarkdownRows = 64;

/// Gauges rdmabench_..., in base units at the end of their names, each family with HELP and TYPE
/// and no series twice. Of a fabric the medians of each node as sender and as receiver, not its
/// pairs: their number grows with the square of the nodes. Percentiles that the samples do not
/// support are left out. Source: the text exposition format 0.0.4.
std::string to_prometheus(std::span<const Document> documents);

}  // namespace rdmabench::inline v1::report
