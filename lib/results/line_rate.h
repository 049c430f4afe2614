// What the link of a run can carry.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "rdmabench/results/result.h"

namespace rdmabench::inline v1::report {

struct LineRate {
  double bits_per_s = 0;  ///< payload, one way, over all devices; NaN where it is not known
  std::string origin;     ///< how it was computed, or why it could not be
};

/// Of "resolved" in a document of rdmabench/1: the slower port of the two ends times the devices,
/// less the headers of each packet at the path's MTU. Sources: InfiniBand Architecture
/// Specification 1.5, chapter 5 and annex A17 (headers); IEEE 802.3 (preamble and gap).
LineRate line_rate(const nlohmann::ordered_json& resolved);
LineRate line_rate(const Resolved& resolved);

}  // namespace rdmabench::inline v1::report
