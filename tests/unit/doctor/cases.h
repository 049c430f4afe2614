// One row for each way that a check can go.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rdmabench/health/doctor.h"

namespace rdmabench::inline v1::health {

struct Case {
  std::string check;
  Status status;
  std::string tree{};                ///< the fixture
  std::vector<std::string> edits{};  ///< lines of a .tree file; "$D0" and the like as cases.cc says
  std::vector<std::string> expect{};  ///< KEY=VALUE
  std::string subject{};              ///< "": the check's first finding
};

std::span<const Case> cases();

}  // namespace rdmabench::inline v1::health
