// The table of nccl-tests as that prints it, for programs that read its columns.
#pragma once

#include <string>

#include "import/nccl_tests.h"

namespace rdmabench::inline v1::report {

using import::NcclTestsCell;
using import::NcclTestsRank;
using import::NcclTestsRow;
using import::NcclTestsTable;

/// As nccl-tests 2.19.6 prints it, column for column. What has no number is "N/A": a bus bandwidth
/// with one rank, and an operation in place that NCCL does not have (which nccl-tests times all the
/// same). The first line names us.
std::string to_nccl_tests(const NcclTestsTable& table);

}  // namespace rdmabench::inline v1::report
