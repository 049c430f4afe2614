// The records of a rdmabench-fabric/1 stream, put together again, and what they say of each node.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/walk.h"
#include "digest.h"
#include "sections.h"

namespace rdmabench::inline v1::report {

/// Of a pair's texts, and of their number.
inline constexpr std::size_t kMaxWord = 256;
inline constexpr std::size_t kMaxText = 1000;
inline constexpr std::size_t kMaxNotes = 16;

/// What both sides of a message know is left out: round, pattern, sender.
void walk_cell(MessageFields& fields, PairMeasurement& pair);
void walk(MessageFields& fields, PairMeasurement& pair);

/// What a list of records must be.
bool is_list_of_objects(const Json& json);

/// Feeds on the records of one file in their order. A plan begins a document. The same plan again
/// is another attempt at the same run: what it measures takes the place of what was there, and only
/// its own losses and its own verdict count.
class FabricStream {
 public:
  using Refuse = std::function<void(const std::string& why)>;  ///< throws

  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t,
                         Metric, bool>;

  explicit FabricStream(const ReadLimits& limits) : limits_(limits) {}

  /// `record` is an object with "schema"; a kind of record that is not known is passed over.
  void add(Json& record, std::vector<Document>& documents, const Refuse& refuse);
  /// The same of one measurement.
  void measure(const nlohmann::json& record, std::vector<Document>& documents,
               const Refuse& refuse);

 private:
  Document* current(std::vector<Document>& documents) const;
  void begin_attempt(Document& document);
  void put(Document& document, PairMeasurement pair);

  ReadLimits limits_;
  std::size_t pairs_ = 0;
  std::map<Key, std::size_t> earlier_;  ///< where earlier attempts' measurements stand
};

/// A rank or the number of a rail; 0 where there is none.
std::uint64_t rank_in(const Json& object, std::string_view key);

/// How the nodes of a fabric are called.
class FabricNames {
 public:
  explicit FabricNames(const Document& fabric);

  /// "node3"; "node 3" where the plan names none.
  std::string host(std::uint64_t rank) const;
  /// The same with the rank where several nodes are on one host.
  std::string node(std::uint64_t rank) const;
  /// "node 3 (node3)": beside texts that give numbers.
  std::string numbered(std::uint64_t rank) const;
  /// "mlx5_0", or "rail 1" where the plan names none. What was asked for as "auto" is the device
  /// that its measurements came over.
  std::string rail(std::uint64_t rank, std::uint64_t rail) const;

 private:
  struct Node {
    std::string host{};
    std::vector<std::string> rails{};
  };
  std::map<std::uint64_t, Node> nodes_;
  std::set<std::string> shared_;
};

/// "eth0" of PairMeasurement::over; "" where it names none.
std::string_view device_of(std::string_view over);

/// What the verdict holds its findings against, of a metric and size, or of one rail of it; NaN
/// where it has none.
double typical_of(const Json& verdict, Metric metric, std::uint64_t size_bytes,
                  std::optional<std::uint32_t> rail = std::nullopt);

/// What a verdict comes to.
struct FabricSummary {
  std::vector<std::string> lost{};  ///< nodes, as FabricNames::numbered()
  std::size_t nodes = 0;
  std::size_t findings = 0;
  bool judged = false;              ///< in a metric and size
  std::string not_rdma{};           ///< not_rdma_of()
  std::vector<std::string> less{};  ///< nodes that lack something that the others have
};
/// "NOT RDMA: measured over ofi, provider tcp, device eth0, no RDMA device on 8 of 8 nodes"; ""
/// where it was RDMA, or TCP was asked for by name.
std::string not_rdma_of(const Document& fabric);
/// "1 of 8 nodes lost: node 3 (c); among the other 7 nothing stands out"
std::string text_of(const FabricSummary& summary);
/// Of one run.
FabricSummary summary_of(const Document& fabric);

/// The judgement of each part that a verdict could not judge: its text begins with the part.
inline constexpr std::string_view kNotJudged = "not judged";

/// What a verdict could not judge; earlier files call it "doubts".
const Json& not_judged_of(const Json& verdict);

/// By metric and size, whether its nodes could be judged.
std::map<std::string, bool> judged_slices(const Json& verdict);

/// In percent, of typical: the lower the slower. Less than one has one digit; "-" is none.
std::string whole_percent(double share);

/// Which finding of the verdict a row of measure_fabric() is a symptom of: "node2 sends at 40 % of
/// typical"; "" for none.
std::string cause_of(const FabricNames& names, const Json& verdict, const Measured& row);

/// Who is at fault, by the part that the finding names.
std::string suspect_of(const FabricNames& names, const Json& finding);

/// A cell of a fabric's matrix, without what came of it.
Judgement cell_of(const FabricNames& names, const PairMeasurement& pair);

/// The medians over a node's partners, of one metric and size on one rail.
struct NodeMedian {
  std::uint32_t rank = 0;
  std::uint32_t rail = 0;
  Metric metric = Metric::bandwidth;
  std::uint64_t size_bytes = 0;
  double as_sender = 0;  ///< bits per second or nanoseconds; 0 = it never was one
  double as_receiver = 0;
  double typical = 0;  ///< the verdict's; without one the median of these measurements

  /// 1 = as the typical one, 0.5 = half as good: of latency the smaller is the better.
  double relative(double value) const;
};

/// Confirming tests left out: they choose their pairs. Ordered by metric, size, rail and rank.
std::vector<NodeMedian> node_medians(const Document& fabric);

// In sections_fabric.cc.
std::vector<Section> fabric_sections(const Document& document);
std::vector<Section> fabric_details(const Document& document);

}  // namespace rdmabench::inline v1::report
