// The texts that the two sides exchange: offers, choices and addresses. Private to this back end.
//
// Each is one JSON object. Reading one checks the presence, the type and the bounds of every field,
// and throws Error(failed) that names the field.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/verbs/endpoint.h"
#include "rdmabench/verbs/gid.h"
#include "rdmabench/verbs/path.h"

namespace rdmabench::transport::verbs {

std::string write_offer(std::span<const rdmabench::verbs::Candidate> candidates);
/// `whose` is "client" or "server", for errors.
std::vector<rdmabench::verbs::Candidate> read_offer(std::string_view text, std::string_view whose);

std::string write_placement(const Placement& placement);
Placement read_placement(std::string_view text);

/// What a queue pair must know of the other one.
struct Address {
  std::uint32_t qpn = 0;  ///< 24 bits
  std::uint32_t psn = 0;  ///< 24 bits
  std::uint16_t lid = 0;
  rdmabench::verbs::Gid gid;
  std::uint32_t mtu = 0;
  std::uint8_t reads_in = 0;  ///< reads that side answers at a time
  std::uint32_t window_key = 0;
  std::uint64_t window = 0;        ///< address of the window in that process
  std::uint64_t window_bytes = 0;  ///< window + window_bytes does not wrap
  std::uint64_t stride = 0;
};

std::string write_address(const Address& address);
Address read_address(std::string_view text);

}  // namespace rdmabench::transport::verbs
