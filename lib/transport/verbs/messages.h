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

#include "rdmabench/transport/verbs/core.h"
#include "rdmabench/verbs/device.h"
#include "verbs/path.h"

namespace rdmabench::inline v1::transport::verbs {

std::string write_offer(std::span<const rdmabench::verbs::Candidate> candidates);
/// `whose` is "client" or "server", for errors.
std::vector<rdmabench::verbs::Candidate> read_offer(std::string_view text, std::string_view whose);

std::string write_local_path(const LocalPath& local);
LocalPath read_local_path(std::string_view text);

/// One queue pair of the peer.
struct QueueAddress {
  std::uint32_t qpn = 0;         ///< 24 bits
  std::uint32_t psn = 0;         ///< 24 bits
  std::uint32_t receiver = 0;    ///< XRC and DC: the queue pair that ours sends to, 24 bits; else 0
  std::uint32_t window_key = 0;  ///< by which requests of the queue pair reach the window
};

/// What an endpoint must know of the other one.
struct Address {
  Service service = Service::rc;
  std::uint32_t queue_pairs = 1;
  std::vector<QueueAddress> queues;   ///< 1 to `queue pairs`
  std::uint32_t q_key = 0;            ///< UD and SRD
  std::uint64_t dc_key = 0;           ///< DC: what opens the receivers
  std::uint32_t shared_receives = 0;  ///< XRC: number of the shared receive queue
  std::uint16_t lid = 0;
  rdmabench::verbs::Gid gid;
  std::uint32_t mtu = 0;
  std::uint8_t reads_in = 0;       ///< reads that side answers at a time
  std::uint64_t window = 0;        ///< address of the window in that process
  std::uint64_t window_bytes = 0;  ///< window + window_bytes does not wrap
  std::uint64_t stride = 0;
  std::uint16_t listener = 0;               ///< rdma_cm port of a server; 0 where it is not used
  rdmabench::verbs::Gid manager{};          ///< IP address by which rdma_cm reaches that side
  std::uint64_t session = 0;                ///< tells its rdma_cm connections from another client's
  std::vector<RegionEntry> more_regions{};  ///< behind region 0, which is the window
};

std::string write_address(const Address& address);
Address read_address(std::string_view text);

}  // namespace rdmabench::inline v1::transport::verbs
