// What an endpoint will be, once its request has been checked against the device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"
#include "rdmabench/verbs/handles.h"

namespace rdmabench::inline v1::transport::verbs {

/// What the client chose for one side: where its queue pairs are and how packets leave it.
struct LocalPath {
  std::string device;
  std::uint8_t port = 1;
  std::uint8_t gid_index = 0;
  bool global = true;     ///< packets carry the global header: always on RoCE
  std::uint32_t mtu = 0;  ///< path MTU, bytes; the same on both sides
  double gbps = 0;        ///< of the slower of the two ends; 0 where they do not say
  std::string slower{};   ///< name of the slower part if it is no port (a PCIe link); for texts
  bool bond = false;      ///< it is some ports of a bond that has others
  std::string reason;
};

inline constexpr std::uint32_t kMaxQueuePairs = 16384;

struct Plan {
  Service service = Service::rc;  ///< never `automatic`
  std::uint32_t queue_pairs = 1;
  std::uint32_t local_queue_pairs =
      1;                           ///< of this side; queue pair l uses number l % local_queue_pairs
  std::uint32_t regions = 1;       ///< of the memory: one for each of these, or one
  std::uint32_t depth = 1;         ///< posts of a queue pair
  std::uint32_t receives = 1;      ///< of a queue pair
  std::uint32_t signal_every = 1;  ///< at most depth - post_list + 1: a list must always fit
  std::uint32_t post_list = 1;
  std::uint32_t segments = 1;
  std::uint64_t stride = 64;       ///< of the slots
  std::uint32_t inline_bytes = 0;  ///< wanted
  std::uint8_t reads_out = 0;
  std::uint8_t reads_in = 0;
  bool shared_receives = false;  ///< by request, or because XRC and DC have no other
  bool separate_queues = false;
  bool extended = false;  ///< posted to by ibv_wr_post(3)
  rdmabench::verbs::PathAttributes path{};
  rdmabench::verbs::ScalableLimits scalable{};  ///< SRD
  std::vector<std::string> reduced;  ///< "depth 16384 reduced to 4096: max_qp_wr of rxe0"

  bool datagrams() const noexcept { return service == Service::ud; }
  /// Each request names the peer.
  bool names_peers() const noexcept {
    return datagrams() || service == Service::dc || service == Service::srd;
  }
  /// Posting and receiving queue pairs are different ones (XRC INI and TGT, DCI and DCT).
  bool has_receivers() const noexcept { return service == Service::xrc || service == Service::dc; }
};

/// Throws Error: usage where the request contradicts itself, unavailable where the device lacks
/// what it asks for; both name the value and the limit. Depth and receives beyond the device's
/// max_qp_wr or max_cqe are reduced; what a queue pair takes is known only when it was made.
Plan make_plan(const EndpointRequest& request, const LocalPath& local, ibv_context& context);

/// Lowers depth and receives to what the queue pairs of `device` were made with, and says so.
/// Throws Error(usage) where nothing is left.
void fit_granted(Plan& plan, std::uint32_t depth, std::uint32_t receives, std::string_view device);

/// The service a request means, with what contradicts it refused before anything is opened.
Service service_of(const EndpointRequest& request);

}  // namespace rdmabench::inline v1::transport::verbs
