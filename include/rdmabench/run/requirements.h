// Conditions that a user sets for a run, as in "rdma-write,no-shm,fabric=efa-direct".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::run {

/// One condition on an open endpoint.
///   rdma-write, rdma-read   the device does writes, or reads, and not software
///   no-shm                  a peer on the same host is not reached through shared memory
///   in-order-128            each 128 aligned bytes arrive in order, and once
///   fabric=NAME             libfabric's fabric has that name: efa, efa-direct
struct Requirement {
  std::string name;
  std::string value;  ///< of fabric; "" for the others

  bool operator==(const Requirement&) const = default;
};

/// Parses a comma-separated list. Throws Error(usage) that names the unknown word and lists the
/// known ones.
std::vector<Requirement> parse_requirements(std::string_view text);

struct Unmet {
  Requirement requirement;
  std::string reason;  ///< a whole sentence
};

/// The requirements that the endpoint does not meet. A fact that the endpoint does not tell counts
/// as not met.
std::vector<Unmet> unmet(std::span<const Requirement> requirements,
                         const transport::Description& endpoint);

}  // namespace rdmabench::run
