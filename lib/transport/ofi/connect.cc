// How an endpoint and its peer find each other.
#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>

#include "base/network.h"
#include "fabric_error.h"
#include "fits.h"
#include "messages.h"
#include "neighbours.h"
#include "provider_info.h"
#include "rdmabench/base/error.h"
#include "rdmabench/transport/ofi/objects.h"
#include "transport/session_request.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::ofi {

/// What fi_eq_read(3) writes: fi_eq_cm_entry, whose array has no length, and the bytes that a
/// connection brought.
struct Objects::Event {
  fid_t fid;
  fi_info* info;
  std::array<std::byte, 512> data;
  std::size_t bytes;  ///< of data
};

namespace {

constexpr auto kNap = std::chrono::microseconds(100);  // of a wait for an event

std::string name_of(fid& object, const fi_info& info) {
  std::array<char, kMaxEndpointName> name{};
  std::size_t length = name.size();
  check(fi_getname(&object, name.data(), &length), "fi_getname", info);
  return {name.data(), length};
}

/// Providers read as many bytes as their kind of address has, whatever the peer sent: zeros follow
/// it.
std::array<char, kMaxEndpointName + 1> padded(const std::string& name) {
  std::array<char, kMaxEndpointName + 1> bytes{};
  std::copy(name.begin(), name.end(), bytes.begin());
  return bytes;
}

IpAddress ip_of(const char* socket, const std::string& provider) {
  sockaddr any{};
  std::memcpy(&any, socket, sizeof any);
  const auto found = address_of(any.sa_family, socket);
  if (found) return *found;
  throw Error(Fault::failed, fmt::format("the peer's address for provider {} is of family {}, not "
                                         "an IP address",
                                         provider, any.sa_family));
}

IpAddress gid_at(const char* bytes) {
  IpAddress gid;
  std::memcpy(gid.bytes.data(), bytes, gid.bytes.size());
  return gid;
}

}  // namespace

/// Throws Error(failed) for one that this side is not to send to.
void Objects::check_allowed(const char* name, const std::string& own) const {
  if (!session_of(request_).allowed_peers) return;
  const AllowedPeers& allowed = *session_of(request_).allowed_peers;
  const std::string provider = info_->fabric_attr->prov_name;
  const auto check_gid = [&](std::size_t offset) {
    IpAddress local;
    if (own.size() >= offset + sizeof local) local = gid_at(own.data() + offset);
    const IpAddress gid = gid_at(name + offset);
    allowed.check_gid(gid, 0, local, gid == local);
  };
  constexpr std::size_t kGidOfSockaddrIb = 8;  // rdma/ib.h: family, pkey, flow label, GID
  switch (info_->addr_format) {
    case FI_SOCKADDR:
    case FI_SOCKADDR_IN:
    case FI_SOCKADDR_IN6:
      return allowed.check_ip(ip_of(name, provider));
    case FI_ADDR_EFA:
      return check_gid(0);  // fi_efa(7): a GID, then the queue pair
    case FI_SOCKADDR_IB:
      return check_gid(kGidOfSockaddrIb);
    default:
      return allowed.check_provider(provider, "its addresses do not identify a host");
  }
}

std::string Objects::address() const {
  Address address{.provider = info_->fabric_attr->prov_name,
                  .protocol = info_->ep_attr->protocol,
                  .protocol_version = info_->ep_attr->protocol_version,
                  .addr_format = info_->addr_format,
                  .names = {},
                  .ticket = ticket_,
                  .window_base = remote_base(window_region_.data, window_memory_),
                  .window_bytes = window_bytes(window_region_, request_),
                  .window_key = fi_mr_key(window_registration_.get())};
  address.names = names();
  for (std::size_t i = 0; i < more_memory_.size(); ++i) {
    const memory::Buffer& memory = more_memory_[i];
    address.more_regions.push_back({.base = remote_base(memory.data(), memory),
                                    .bytes = memory.size(),
                                    .key = fi_mr_key(more_registrations_[i].get())});
  }
  return write_address(address);
}

std::uint64_t Objects::remote_base(const std::byte* data, const memory::Buffer& memory) const {
  return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0
             ? reinterpret_cast<std::uintptr_t>(data)
             : static_cast<std::uint64_t>(data - memory.data());
}

std::vector<std::string> Objects::names() const {
  std::vector<std::string> all;
  if (listener_ != nullptr) {
    all.push_back(name_of(listener_->fid, *info_));
  } else if (av_ != nullptr) {
    for (const QueuePair& queue_pair : queue_pairs_)
      all.push_back(name_of(queue_pair.ep->fid, *info_));
  }
  return all;
}

void Objects::check_peer(const Address& peer) const {
  const Address own = read_address(address());
  if (peer.provider != own.provider || peer.protocol != own.protocol ||
      peer.protocol_version != own.protocol_version || peer.addr_format != own.addr_format) {
    throw Error(Fault::failed,
                fmt::format("the peer uses {} (protocol {}, version {}, address format {}), this "
                            "side {} ({}, {}, {})",
                            peer.provider, peer.protocol, peer.protocol_version, peer.addr_format,
                            own.provider, own.protocol, own.protocol_version, own.addr_format),
                "Use the same libfabric on both sides.");
  }
  if (request_.buffers.empty() && peer.window_bytes != own.window_bytes) {
    throw Error(Fault::failed,
                fmt::format("the peer's window has {} bytes, this side's {}", peer.window_bytes,
                            own.window_bytes),
                "Both sides must be opened for the same messages.");
  }
  const bool connected = request_.options.service == Service::msg;
  const std::size_t names = !connected ? request_.options.queue_pairs : request_.client ? 1 : 0;
  if (peer.names.size() != names) {
    throw Error(
        Fault::failed,
        fmt::format("the peer has {} addresses of endpoints, not {}", peer.names.size(), names),
        "Both sides must be opened for the same queue pairs and transport.");
  }
}

void Objects::connect(std::string_view peer_address) {
  const Address peer = read_address(peer_address);
  check_peer(peer);
  if (av_ != nullptr) {
    insert_peers(peer);
  } else if (request_.client) {
    connect_queue_pairs(peer);
  } else {
    accept_queue_pairs();
  }
  ends_.remote_base = peer.window_base;
  ends_.remote_key = peer.window_key;
  peer_window_bytes_ = peer.window_bytes;
  peer_regions_ = peer.more_regions;
  peer_regions_.insert(peer_regions_.begin(),
                       PeerRegion{peer.window_base, peer.window_bytes, peer.window_key});
}

void Objects::post_receives(std::uint32_t queue_pair) {
  const std::uint32_t first = queue_pair * request_.receives;
  const Deadline deadline = Deadline::after(request_.timeout);
  for (std::uint32_t i = 0; i < request_.receives; ++i) {
    ssize_t result = receive_into(first + i);
    // cxi's queue of commands may be full, until it has made progress.
    while (result == -FI_EAGAIN && !deadline.passed() && !request_.stop.stop_requested()) {
      fi_cq_read(cq_.get(), nullptr, 0);  // progress alone: nothing is taken
      result = receive_into(first + i);
    }
    if (result == 0) continue;
    if (request_.stop.stop_requested()) throw Cancelled();
    throw_fabric_error(
        Fault::failed,
        fmt::format("{}: it took {} of {} receives", call("fi_recv", *info_), i, request_.receives),
        result, "Lower `depth`.");
  }
}

void Objects::insert_peers(const Address& peer) {
  if (is_shm(*info_)) meet_neighbours(this, peer.names);
  for (std::uint32_t queue_pair = 0; queue_pair < request_.options.queue_pairs; ++queue_pair) {
    const auto name = padded(peer.names[queue_pair]);
    check_allowed(name.data(), name_of(queue_pairs_[queue_pair].ep->fid, *info_));
    const int inserted =
        fi_av_insert(av_.get(), name.data(), 1, &queue_pairs_[queue_pair].peer, 0, nullptr);
    if (inserted != 1) {
      throw_fabric_error(Fault::failed, call("fi_av_insert", *info_),
                         inserted < 0 ? inserted : -FI_EINVAL,
                         "Can this side reach the peer's address?");
    }
    if ((info_->caps & FI_DIRECTED_RECV) != 0) {
      queue_pairs_[queue_pair].from = queue_pairs_[queue_pair].peer;
    }
    post_receives(queue_pair);
  }
}

void Objects::connect_queue_pairs(const Address& peer) {
  const auto name = padded(peer.names[0]);
  for (std::uint32_t queue_pair = 0; queue_pair < request_.options.queue_pairs; ++queue_pair) {
    const Deadline deadline = Deadline::after(request_.timeout);
    queue_pairs_.push_back({open_endpoint(*info_), FI_ADDR_UNSPEC});
    if (queue_pair == 0) check_atomics();
    post_receives(queue_pair);
    check(fi_connect(queue_pairs_[queue_pair].ep.get(), name.data(), &peer.ticket,
                     sizeof peer.ticket),
          "fi_connect", *info_, "Can this side reach the peer's address?");
    await_connected(*queue_pairs_[queue_pair].ep, deadline);
  }
}

void Objects::accept_queue_pairs() {
  for (std::uint32_t queue_pair = 0; queue_pair < request_.options.queue_pairs; ++queue_pair) {
    const Deadline deadline = Deadline::after(request_.timeout);
    const Info request = next_request(deadline);
    queue_pairs_.push_back({open_endpoint(*request), FI_ADDR_UNSPEC});
    if (queue_pair == 0) check_atomics();
    post_receives(queue_pair);
    check(fi_accept(queue_pairs_[queue_pair].ep.get(), nullptr, 0), "fi_accept", *info_);
    await_connected(*queue_pairs_[queue_pair].ep, deadline);
  }
}

/// Whoever reaches the listener may ask for a connection; the peer alone has its ticket.
void Objects::keep_or_reject(const Event& event) {
  Info info(event.info);
  std::uint64_t ticket = 0;
  if (event.bytes >= sizeof ticket) {
    std::memcpy(&ticket, event.data.data(), sizeof ticket);
    if (ticket == ticket_) {
      requests_.push_back(std::move(info));
      return;
    }
  }
  fi_reject(listener_.get(), info->handle, nullptr, 0);
}

Info Objects::next_request(const Deadline& deadline) {
  while (requests_.empty()) {
    Event event{};
    const std::uint32_t kind = next_event(event, deadline, "connection of the peer");
    if (kind == FI_CONNREQ) keep_or_reject(event);
  }
  Info first = std::move(requests_.front());
  requests_.erase(requests_.begin());
  return first;
}

void Objects::await_connected(const fid_ep& endpoint, const Deadline& deadline) {
  for (;;) {
    Event event{};
    const std::uint32_t kind = next_event(event, deadline, "answer of the peer");
    if (kind == FI_CONNREQ) keep_or_reject(event);
    if (event.fid != &endpoint.fid) continue;
    if (kind == FI_CONNECTED) return;
    if (kind == FI_SHUTDOWN) {
      throw Error(Fault::failed, call("connection", *info_) + ": the peer closed it",
                  "See what the other side says.");
    }
  }
}

std::uint32_t Objects::next_event(Event& event, const Deadline& deadline,
                                  std::string_view waiting_for) {
  static_assert(offsetof(Event, data) == sizeof(fi_eq_cm_entry));
  while (!deadline.passed() && !request_.stop.stop_requested()) {
    std::uint32_t kind = 0;
    const ssize_t read = fi_eq_read(eq_.get(), &kind, &event, offsetof(Event, bytes), 0);
    if (read >= 0) {
      const auto bytes = static_cast<std::size_t>(read);
      event.bytes = bytes - std::min(bytes, sizeof(fi_eq_cm_entry));
      return kind;
    }
    if (read == -FI_EAVAIL) {
      fi_eq_err_entry error{};
      const ssize_t told = fi_eq_readerr(eq_.get(), &error, 0);
      if (told >= 0 && listener_ != nullptr && error.fid == &listener_->fid)
        continue;  // a stranger's
      throw_fabric_error(Fault::failed, call("connection", *info_),
                         told < 0 ? told : -static_cast<ssize_t>(error.err),
                         "Can the client reach the server's address, and is it still there?");
    }
    if (read != -FI_EAGAIN) throw_fabric_error(Fault::failed, call("fi_eq_read", *info_), read);
    std::this_thread::sleep_for(kNap);
  }
  if (request_.stop.stop_requested()) throw Cancelled();
  throw Error(Fault::failed,
              fmt::format("{}: no {} within {} ms", call("connection", *info_), waiting_for,
                          request_.timeout / std::chrono::milliseconds(1)),
              "Does a firewall let the provider's own connections through?", ETIMEDOUT);
}

}  // namespace rdmabench::inline v1::transport::ofi
