// The records of a rdmabench-fabric/1 stream, put together again.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "base/walk.h"
#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// Of a pair's texts, and of their number.
inline constexpr std::size_t kMaxWord = 256;
inline constexpr std::size_t kMaxText = 1000;
inline constexpr std::size_t kMaxNotes = 16;

/// What both sides of a message know is left out: round, pattern, sender.
void walk_cell(MessageFields& fields, PairMeasurement& pair);
void walk(MessageFields& fields, PairMeasurement& pair);

/// What a list of records must be.
bool is_list_of_objects(const nlohmann::ordered_json& json);

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
  void add(nlohmann::ordered_json& record, std::vector<Document>& documents, const Refuse& refuse);
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

}  // namespace rdmabench::report
