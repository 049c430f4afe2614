// Documents as JUnit XML, for what runs tests and shows which failed.
#pragma once

#include <span>
#include <string>

#include "rdmabench/report/documents.h"

namespace rdmabench::report {

/// A testsuite for each document; a testcase for each finding, each measured row and each cell of a
/// fabric. FAIL becomes a failure with reason and remedy, SKIP skipped, ERROR an error; a WARN
/// passes with its text in system-out, as JUnit has no word for it. Of a fabric with more than
/// kJunitCells cells only those that failed are cases, and the suite's property says so. Characters
/// that XML cannot have are written as U+FFFD. Source: the JUnit schema of Apache Ant.
std::string to_junit(std::span<const Document> documents);

inline constexpr std::size_t kJunitCells = 20'000;

}  // namespace rdmabench::report
