// How an endpoint meets its peer.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "messages.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/verbs/core.h"
#include "rdmabench/verbs/device.h"
#include "transport/session_request.h"
#include "transport/verbs/write_order.h"
#include "verbs/connection_manager.h"
#include "verbs/dynamic.h"
#include "verbs/queue_pair.h"
#include "verbs/scalable.h"

namespace rdmabench::inline v1::transport::verbs {
namespace {

namespace ibv = rdmabench::verbs;

constexpr std::string_view kSameRelease = "Run the same release of rdmabench on both sides.";

}  // namespace

void Core::check_peer(const Address& peer) const {
  const auto refuse = [](const std::string& what) {
    throw Error(Fault::failed, what, kSameRelease);
  };
  if (peer.service != plan_.service) {
    refuse(fmt::format("the peer's transport is {} and this side's is {}", name(peer.service),
                       name(plan_.service)));
  }
  if (peer.queue_pairs != plan_.queue_pairs) {
    refuse(fmt::format("the peer has {} queue pairs and this side {}", peer.queue_pairs,
                       plan_.queue_pairs));
  }
  if (!plan_.datagrams() && peer.queues.size() != plan_.local_queue_pairs) {
    refuse(fmt::format("the peer has {} queue pairs and this side {}", peer.queues.size(),
                       plan_.local_queue_pairs));
  }
  // Both sides open the same slots, so what this side touches of the peer's window is its own
  // layout. Who brings memory keeps to peer_window_bytes().
  const Region window = window_.region();
  if (request_.buffers.empty() &&
      (peer.stride != window.stride || peer.window_bytes < window_.bytes())) {
    refuse(
        fmt::format("the peer's window has {} bytes in slots of {}, and this side needs {} in "
                    "slots of {}",
                    peer.window_bytes, peer.stride, window_.bytes(), window.stride));
  }
  if (peer.mtu != local_path_.mtu) {
    refuse(
        fmt::format("the peer's path MTU is {} and this side's is {}", peer.mtu, local_path_.mtu));
  }
  if (request_.operations.any(acts_on_word) && peer.window % kAtomicBytes != 0) {
    refuse("the peer's window is not aligned to the words of atomics");
  }
  if (plan_.service != Service::srd && request_.operations.any(is_answered) && peer.reads_in == 0) {
    refuse("the peer answers no reads and atomics");
  }
  if (manager_ && request_.client && peer.listener == 0) {
    refuse("the server does not listen for rdma_cm");
  }
  for (const QueueAddress& queue : peer.queues) {
    if (plan_.service == Service::xrc && (queue.receiver == 0 || peer.shared_receives == 0)) {
      refuse("the peer names no XRC receive queue");
    }
    if (plan_.service == Service::dc && queue.receiver == 0) {
      refuse("the peer names no DC target");
    }
  }
}

void Core::check_allowed(const Address& peer) const {
  if (!session_of(request_).allowed_peers) return;
  const AllowedPeers& allowed = *session_of(request_).allowed_peers;
  const auto is_own = [&peer] {
    const std::vector<ibv::DeviceInfo> devices = ibv::list_devices();
    return std::any_of(devices.begin(), devices.end(), [&](const ibv::DeviceInfo& device) {
      return std::any_of(device.ports.begin(), device.ports.end(), [&](const auto& port) {
        return std::any_of(port.gids.begin(), port.gids.end(),
                           [&](const auto& entry) { return entry.gid == peer.gid; });
      });
    });
  };
  allowed.check_gid({peer.gid.raw}, peer.lid, {gid_.raw}, allowed.here() && is_own());
}

ibv::ConnectionAttributes Core::connection_to(std::uint16_t lid, const ibv::Gid& gid) const {
  return {.port = local_path_.port,
          .gid_index = local_path_.gid_index,
          .global = local_path_.global,
          .mtu = local_path_.mtu,
          .remote_lid = lid,
          .remote_gid = gid,
          .reads_out = reads_out_,
          .reads_in = plan_.reads_in,
          .path = plan_.path};
}

void Core::connect(std::string_view peer_address) {
  if (!peer_.empty()) throw Error(Fault::usage, "a verbs endpoint was connected twice");
  const Address peer = read_address(peer_address);
  check_peer(peer);
  check_allowed(peer);
  window_address_ = peer.window;
  peer_window_bytes_ = peer.window_bytes;
  peer_regions_ = peer.more_regions;
  peer_regions_.insert(peer_regions_.begin(),
                       RegionEntry{peer.window, peer.window_bytes, peer.queues[0].window_key});
  for (std::uint32_t i = 0; i < plan_.queue_pairs; ++i) {
    window_keys_.push_back(peer.queues[i % peer.queues.size()].window_key);
  }
  reads_out_ = std::min(reads_out_, peer.reads_in);
  if (plan_.service != Service::dc) post_all_receives();
  if (manager_) {
    connect_by_manager(peer);
  } else {
    connect_queue_pairs(peer);
  }
  reach_peers(peer);
  write_order_ = ask_write_order();
  remember(peer);
  for (SendQueue& send_queue : send_queues_) send_queue.limit = depth_;
  const QueueAddress& first = peer.queues.front();
  peer_ = fmt::format("{} LID {} {} {}", to_text(peer.gid), peer.lid,
                      plan_.service == Service::dc ? "DC target" : "queue pair",
                      plan_.service == Service::dc ? first.receiver : first.qpn);
}

void Core::connect_queue_pairs(const Address& peer) {
  ibv::ConnectionAttributes connection = connection_to(peer.lid, peer.gid);
  for (std::uint32_t i = 0; i < plan_.local_queue_pairs; ++i) {
    const QueueAddress& other = peer.queues[i % peer.queues.size()];
    connection.local_psn = first_packets_[i];
    connection.remote_psn = other.psn;
    if (plan_.service == Service::dc) {
      ibv::connect_initiator(*queues_.pairs[i], connection);
      continue;
    }
    if (plan_.service == Service::srd) {
      ibv::connect_scalable(*queues_.pairs[i], connection, plan_.scalable);
      continue;
    }
    connection.remote_qpn = plan_.service == Service::xrc ? other.receiver : other.qpn;
    ibv::connect(*queues_.pairs[i], connection);
    if (plan_.service == Service::xrc) {
      connection.remote_qpn = other.qpn;
      ibv::connect(*queues_.receivers[i], connection);
    }
  }
}

WriteOrder Core::ask_write_order() const {
  const bool ordered = is_reliable(plan_.service) && plan_.service != Service::srd &&
                       !relaxed_ordering() && window_.buffer().gpu() == nullptr;
  if (!ordered) return {};
  const auto& takers = plan_.has_receivers() ? queues_.receivers : queues_.pairs;
  const bool promised = std::all_of(takers.begin(), takers.end(), [](const ibv::QueuePair& taker) {
    return ibv::writes_in_order(*taker);
  });
  if (promised) return {.bytes = request_.max_size, .promised = true};
  return {.bytes = std::min(request_.max_size, assumed_bytes(local_path_.mtu))};
}

/// The IP address that rdma_cm knows this side by.
ibv::Gid Core::manager_address() const {
  if (link_layer_ == ibv::LinkLayer::ethernet) return gid_;
  const auto address = ibv::parse_gid(request_.local_ip);
  if (address) return *address;
  throw Error(
      Fault::unavailable, "rdma_cm on InfiniBand without an IP address",
      "It needs one of an IPoIB interface: reach the server by it, or leave `rdma_cm` out.");
}

/// A server listens from the start, because its address is what the client connects to.
void Core::open_manager() {
  manager_ = std::make_unique<ibv::ConnectionManager>();
  if (request_.client) return;
  std::random_device random;
  session_ = std::uint64_t{random()} << 32 | random();
  listener_ = manager_->listen(manager_address(), plan_.queue_pairs);
}

void Core::connect_by_manager(const Address& peer) {
  const ibv::ManagedConnection with{.device = local_path_.device,
                                    .port = local_path_.port,
                                    .session = request_.client ? peer.session : session_,
                                    .mtu = local_path_.mtu,
                                    .reads_out = reads_out_,
                                    .reads_in = plan_.reads_in,
                                    .path = plan_.path,
                                    .timeout = request_.timeout,
                                    .stop = request_.stop};
  if (request_.client) {
    manager_->connect(manager_address(), peer.manager, peer.listener, queues_.pairs, with);
  } else {
    manager_->accept(queues_.pairs, with);
  }
}

/// From 1, one for each queue pair of each worker. libmlx5 and libhns make the UDP source port of
/// an address handle from it, and take a random one where it is 0: then packets would take other
/// paths through the network in each run. Source: rdma-core 65, mlx5_ah_set_udp_sport() in
/// providers/mlx5/verbs.c, get_ah_udp_sport() in providers/hns/hns_roce_u_verbs.c.
std::uint32_t Core::flow_label_to_peer(std::uint32_t queue_pair) const noexcept {
  constexpr std::uint32_t kMost = (1U << 20) - 1;
  if (link_layer_ != ibv::LinkLayer::ethernet || request_.options.verbs.path.flow_label >= 0)
    return plan_.path.flow_label;
  return (request_.worker * plan_.queue_pairs + queue_pair) % kMost + 1;
}

/// What the work requests must say of the peer, where the queue pair does not know it.
void Core::reach_peers(const Address& peer) {
  if (plan_.service == Service::xrc) remote_shared_receives_ = peer.shared_receives;
  if (!plan_.extended && !plan_.names_peers()) return;
  const bool dynamic = plan_.service == Service::dc;
  ibv::ConnectionAttributes connection = connection_to(peer.lid, peer.gid);
  for (std::uint32_t i = 0; i < send_queues_.size(); ++i) {
    ibv_qp& pair = *send_queues_[i].queue_pair;
    const QueueAddress& other = peer.queues[i % peer.queues.size()];
    if (plan_.names_peers()) {
      connection.path.flow_label = flow_label_to_peer(i);
      address_handles_.push_back(ibv::create_address_handle(*domain_, connection));
    }
    destinations_.push_back(
        {.queue_pair = plan_.extended ? ibv_qp_to_qp_ex(&pair) : nullptr,
         .dynamic = dynamic ? ibv::dynamic_requests(pair) : nullptr,
         .handle = plan_.names_peers() ? address_handles_.back().get() : nullptr,
         .number = dynamic ? other.receiver : other.qpn,
         .q_key = peer.q_key,
         .dc_key = peer.dc_key});
  }
}

/// A DC target has no number before it can take messages, so its receives are posted before the
/// peer can know of it.
void Core::open_targets() {
  post_all_receives();
  const ibv::ConnectionAttributes here = connection_to(lid_, gid_);
  for (const ibv::QueuePair& target : queues_.receivers) {
    ibv::open_target(*target, here);
  }
}

int Core::post_receive(const ReceiveSlot& slot, std::uint32_t index) noexcept {
  receive_piece_.addr = slot.address;
  receive_request_.wr_id = kReceiveBit | index;
  ibv_recv_wr* refused = nullptr;
  if (queues_.shared_receives != nullptr) {
    return ibv_post_srq_recv(static_cast<ibv_srq*>(slot.queue), &receive_request_, &refused);
  }
  if (!keyed_queues_.empty()) return post_to_keyed_queue(slot.queue, &receive_request_, &refused);
  return ibv_post_recv(static_cast<ibv_qp*>(slot.queue), &receive_request_, &refused);
}

void Core::post_all_receives() {
  for (std::uint32_t i = 0; i < receive_slots_.size(); ++i) {
    if (const int code = post_receive(receive_slots_[i], i); code != 0) {
      throw Error(Fault::failed,
                  fmt::format("ibv_post_recv({} of {})", i + 1, receive_slots_.size()),
                  "Lower `depth`.", code);
    }
  }
}

}  // namespace rdmabench::inline v1::transport::verbs
