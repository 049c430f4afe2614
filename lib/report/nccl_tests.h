// The table of nccl-tests as that prints it, for programs that read its columns.
#pragma once

#include <cstddef>
#include <string>

#include "import/nccl_tests.h"

namespace rdmabench::inline v1::report {

using import::NcclTestsCell;
using import::NcclTestsRank;
using import::NcclTestsRow;
using import::NcclTestsTable;

/// to_nccl_tests() of a table whose rows are told as they are finished.
class NcclTestsText {
 public:
  /// `with_spread`: with the columns of -I.
  explicit NcclTestsText(bool with_spread) : with_spread_(with_spread) {}

  /// What stands above the rows at first, then the rows that the table has more than at the last
  /// call, but for a last one that may still get its numbers in place; the `last` call ends it.
  std::string more(const NcclTestsTable& table, bool last);

 private:
  bool with_spread_;
  bool begun_ = false;
  std::size_t told_ = 0;  ///< rows
};

/// As nccl-tests 2.19.6 prints it, column for column. What has no number is "N/A": a bus bandwidth
/// with one rank, and an operation in place that NCCL does not have (which nccl-tests times all the
/// same). The first line names us.
std::string to_nccl_tests(const NcclTestsTable& table);

}  // namespace rdmabench::inline v1::report
