// The result of a check of the node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/base/status.h"

namespace rdmabench::inline v1::health {

/// Where an expectation came from.
enum class Source : std::uint8_t {
  none,      ///< there was none
  standard,  ///< a specification, or the documentation of a driver or of a tool
  derived,   ///< from other facts of this node: rate, MTU, PCIe path, its other ports
  profile,   ///< the file of --profile
  peers,     ///< what the majority of the peers has
  user,      ///< --expect
  earlier,   ///< what this node had in an earlier document
};

/// "", "standard", "derived", "profile", "peers", "user", "earlier".
std::string_view name(Source source) noexcept;

struct Finding {
  std::string id;       ///< of its check: "port.state"
  std::string subject;  ///< "mlx5_0:1", "0000:17:00.0", "node"
  Status status = Status::error;
  std::string reason;    ///< of SKIP and ERROR
  std::string observed;  ///< "" if nothing could be read
  std::string expected;
  Source source = Source::none;       ///< of `expected`
  std::string remedy;                 ///< of WARN and FAIL
  std::vector<std::string> evidence;  ///< the files that were read, under the root
  std::string_view action{};          ///< static text; "": that of its check
};

/// How many findings have each status.
struct Tally {
  std::uint32_t pass = 0, warn = 0, fail = 0, skip = 0, error = 0;

  bool failed() const noexcept { return fail + error > 0; }
};

/// All that `doctor` found on one node.
struct Diagnosis {
  std::string host;  ///< the node's name; "" if it is unknown
  std::string root;  ///< what was read: "/", a folder, a tar file
  std::vector<Finding> findings;

  Tally tally() const noexcept;
};

}  // namespace rdmabench::inline v1::health
