// A run's rows as text that is written while they are measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "rdmabench/results/result.h"
#include "sections.h"

namespace rdmabench::inline v1::report {

/// to_table() in parts.
class RunTable {
 public:
  /// `sizes`: those that the run measures; the column is as wide as the widest of them.
  explicit RunTable(bool verbose = false, std::size_t width = kUsualWidth,
                    std::span<const std::uint64_t> sizes = {});
  ~RunTable();
  RunTable& operator=(RunTable&&) = delete;

  /// At first what was measured over, then the rows that the report has more than at the last call.
  /// The `last` call has what is said of rows, and the next one begins with another report.
  std::string rows(const Report& report, bool last);

  /// The notes and suspicions of the reports.
  std::string end(std::span<const Report> reports) const;

 private:
  template <class Result>
  std::string add(const Report& report, const std::vector<Result>& results, bool last);

  bool verbose_;
  std::size_t width_;
  std::size_t widest_size_ = 0;
  std::string over_{};  ///< what was measured over
  std::string heading_{};
  std::unique_ptr<TableText> table_{};  ///< under that heading
  std::size_t first_ = 0;               ///< row of it
  std::size_t told_ = 0;                ///< rows of this report
};

/// The text of a document of collectives in parts.
class CollTable {
 public:
  explicit CollTable(std::size_t width = kUsualWidth) : width_(width) {}

  /// `body`: the document, with the rows alone that are new, but all of them where it is the
  /// `last` call. At first what is known of the run, then the rows, and at last what came of it.
  /// `expected`: rows of what is measured, by which the columns are chosen; of the first call.
  std::string more(const Json& body, const Json& expected, bool last);

 private:
  /// The verdict, where it says that and was not told yet.
  std::string not_rdma(const Json& body);

  std::size_t width_;
  std::optional<TableText> table_{};
  std::size_t told_ = 0;  ///< rows
  bool said_not_rdma_ = false;
};

}  // namespace rdmabench::inline v1::report
