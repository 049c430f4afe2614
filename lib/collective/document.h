// The document of a run of collectives, before it is text.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "rdmabench/collective/run.h"
#include "report/run_text.h"
#include "results/csv.h"

namespace rdmabench::inline v1::collective {

/// "NOT RDMA: measured over nccl, NET/Socket, no RDMA device on 8 of 8 nodes", where the library's
/// log says so and nobody asked for that network; "" where it was another one, where one node
/// measured, or where nobody knows. Pure.
std::string not_rdma(const Run& run);

/// With its rows from `first` on.
nlohmann::ordered_json to_document(const Run& run, std::size_t first = 0);

/// to_table() or to_csv() in parts, for who prints rows as they are finished.
class RowsText {
 public:
  enum class As : bool { table, csv };

  explicit RowsText(As as, std::size_t width = report::kUsualWidth) : as_(as), table_(width) {}

  /// What stands above the rows at first, then the rows that the run has more than at the last
  /// call; the `last` call has what is said of the run. `calls`: those that are measured, by which
  /// the first call chooses the columns.
  std::string more(const Run& run, std::span<const Call> calls, bool last);

 private:
  As as_;
  report::CollTable table_;
  std::optional<report::Csv> csv_{};
  std::size_t told_ = 0;  ///< rows
};

}  // namespace rdmabench::inline v1::collective
