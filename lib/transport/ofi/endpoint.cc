#include "rdmabench/transport/ofi/endpoint.h"

#include <fmt/format.h>
#include <rdma/fi_cm.h>

#include <limits>
#include <utility>

#include "fabric_error.h"
#include "fits.h"
#include "messages.h"
#include "rdmabench/base/error.h"

namespace rdmabench::transport::ofi {
namespace {

static_assert(Transport<Endpoint>);

constexpr std::size_t kQueueMargin = 16;

// Memory keys are the caller's to choose unless the provider does
// (FI_MR_PROV_KEY), and may not repeat within a domain (-FI_ENOKEY). Each
// endpoint has its own domain.
enum : std::uint64_t { kSendKey = 1, kReceiveKey = 2, kWindowKey = 3 };

Info find_chosen(const EndpointRequest& request, const Fit& chosen) {
  for (Found& found : find_fits(request)) {
    if (found.fit == chosen) return std::move(found.info);
  }
  throw Error(Fault::failed,
              fmt::format("libfabric no longer offers {} on {}", chosen.provider, chosen.domain),
              "Has a device or an address of this machine changed? Try again.");
}

/// The same entry with one attribute changed, or nothing when the provider does
/// not go along.
template <class Change>
Info refined(const fi_info& info, Change&& change) {
  const Info hints(fi_dupinfo(&info));
  if (hints == nullptr) throw Error(Fault::failed, "fi_dupinfo", "Free memory.", ENOMEM);
  change(*hints);
  Info list = get_info(*hints);
  for (const fi_info* entry = list.get(); entry != nullptr; entry = entry->next) {
    if (std::string_view(entry->fabric_attr->prov_name) == info.fabric_attr->prov_name) {
      return Info(fi_dupinfo(entry));
    }
  }
  return nullptr;
}

/// The attributes give a default that the caller may raise up to a limit that
/// only trying tells.
Info with_queues(Info info, const EndpointRequest& request) {
  const std::size_t depth = std::max<std::size_t>(info->tx_attr->size, request.depth);
  const std::size_t receives = std::max<std::size_t>(info->rx_attr->size, request.receives);
  if (depth == info->tx_attr->size && receives == info->rx_attr->size) return info;
  Info larger = refined(*info, [&](fi_info& hints) {
    hints.tx_attr->size = depth;
    hints.rx_attr->size = receives;
  });
  if (larger != nullptr) return larger;
  throw Error(Fault::usage,
              fmt::format("a depth of {} with {} receives on provider {}", request.depth,
                          request.receives, info->fabric_attr->prov_name),
              fmt::format("It takes at most {} and {}: lower --depth.", info->tx_attr->size,
                          info->rx_attr->size));
}

/// A stream of writes ends with a token that may overtake them, so their
/// completions must mean that the data is in the target's memory. Where the
/// provider has no such level, on hardware, an acknowledged write is the most
/// there is. Source: fi_cq(3), "completion level".
Info with_completion_level(Info info, const EndpointRequest& request) {
  const bool writes =
      request.operation == OperationCode::write || request.operation == OperationCode::write_imm;
  if (request.latency || !writes) return info;
  Info delivery =
      refined(*info, [](fi_info& hints) { hints.tx_attr->op_flags |= FI_DELIVERY_COMPLETE; });
  return delivery != nullptr ? std::move(delivery) : std::move(info);
}

/// Only a ping-pong injects: a stream counts completions, and injected messages
/// give none.
std::uint64_t inject_limit(const fi_info& info, const EndpointRequest& request) {
  if (!request.latency) return 0;
  const std::uint64_t limit = info.tx_attr->inject_size;
  if (request.inline_limit < 0) return limit;
  return std::min<std::uint64_t>(limit, static_cast<std::uint64_t>(request.inline_limit));
}

void check_message_size(const fi_info& info, std::uint64_t size) {
  if (size <= info.ep_attr->max_msg_size) return;
  throw Error(Fault::usage,
              fmt::format("messages of {} bytes on provider {}", size, info.fabric_attr->prov_name),
              fmt::format("It takes at most {}: lower --size.", info.ep_attr->max_msg_size));
}

/// "CALL(tcp on lo)" for the text of an error.
std::string call(std::string_view name, const fi_info& info) {
  return fmt::format("{}({} on {})", name, info.fabric_attr->prov_name, info.domain_attr->name);
}

void check(int result, std::string_view name, const fi_info& info, std::string_view remedy = {}) {
  if (result != 0) throw_fabric_error(Fault::failed, call(name, info), result, remedy);
}

Region region_of(const memory::Buffer& memory, std::uint64_t max_size, std::uint32_t slots) {
  return {memory.data(), memory::slot_stride(max_size), slots};
}

/// fi_tostr(3) in a buffer of our own: the plain form shares one between all
/// callers.
std::string to_text(const void* value, fi_type type) {
  char text[512] = "";
  return fi_tostr_r(text, sizeof text, value, type);
}

/// efa moves data between processes of one host through shared memory unless told not to, and a
/// network is what is measured here. A provider without the option refuses it, and is left as it
/// is; before 1.21 there is only FI_EFA_ENABLE_SHM_TRANSFER=0. Source: fi_endpoint(3), fi_efa(7).
void refuse_shared_memory([[maybe_unused]] fid_ep* endpoint) {
#if FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(1, 21))
  bool permitted = false;
  fi_setopt(&endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &permitted,
            sizeof permitted);
#endif
}

}  // namespace

Endpoint::Endpoint(const EndpointRequest& request, std::string_view choice)
    : contexts_(request.depth),
      receives_(request.receives),
      send_memory_(memory::slot_stride(request.max_size) * request.send_slots),
      receive_memory_(memory::slot_stride(request.max_size) * request.receive_slots),
      window_memory_(memory::slot_stride(request.max_size) * request.send_slots),
      send_region_(region_of(send_memory_, request.max_size, request.send_slots)),
      receive_region_(region_of(receive_memory_, request.max_size, request.receive_slots)),
      window_region_(region_of(window_memory_, request.max_size, request.send_slots)),
      max_size_(request.max_size),
      operation_(request.operation) {
  for (std::uint32_t slot = 0; slot < request.receives; ++slot) {
    receives_[slot].slot = slot;
    receives_[slot].buffer =
        receive_region_.data + slot % receive_region_.slots * receive_region_.stride;
  }
  info_ =
      with_completion_level(with_queues(find_chosen(request, read_fit(choice)), request), request);
  check_message_size(*info_, request.max_size);
  inject_limit_ = inject_limit(*info_, request);
  open(request);
  register_memory();
}

void Endpoint::open(const EndpointRequest& request) {
  info_->domain_attr->threading = FI_THREAD_DOMAIN;  // the info names what the provider could bear
  fid_fabric* fabric = nullptr;
  check(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric", *info_);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain", *info_);
  domain_.reset(domain);

  fi_av_attr av_attr{};
  av_attr.type = FI_AV_TABLE;
  av_attr.count = 1;
  fid_av* av = nullptr;
  check(fi_av_open(domain, &av_attr, &av, nullptr), "fi_av_open", *info_);
  av_.reset(av);

  // Besides our own completions there are the peer's writes with data, as many
  // as it may have outstanding. A full queue is not every provider's to
  // prevent: efa's manual page says that it may be overrun.
  fi_cq_attr cq_attr{};
  cq_attr.size = 2 * std::size_t{request.depth} + request.receives + kQueueMargin;
  cq_attr.format = FI_CQ_FORMAT_DATA;
  cq_attr.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  check(fi_cq_open(domain, &cq_attr, &cq, nullptr), "fi_cq_open", *info_, "Lower --depth.");
  cq_.reset(cq);

  fid_ep* endpoint = nullptr;
  check(fi_endpoint(domain, info_.get(), &endpoint, nullptr), "fi_endpoint", *info_);
  ep_.reset(endpoint);
  check(fi_ep_bind(endpoint, &av->fid, 0), "fi_ep_bind to the address vector", *info_);
  check(fi_ep_bind(endpoint, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind to the queue", *info_);
  refuse_shared_memory(endpoint);
  check(fi_enable(endpoint), "fi_enable", *info_);
}

void Endpoint::register_memory() {
  const int mode = info_->domain_attr->mr_mode;
  if ((mode & FI_MR_RAW) != 0) {
    throw Error(Fault::unavailable, call("fi_mr_reg", *info_) + " with raw keys (FI_MR_RAW)",
                "Name another --provider.");
  }
  const auto registered = [&](const memory::Buffer& memory, std::uint64_t access,
                              std::uint64_t key) {
    fid_mr* registration = nullptr;
    check(fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0, &registration,
                    nullptr),
          fmt::format("fi_mr_reg of {} bytes", memory.size()), *info_,
          "Raise 'ulimit -l', or lower --size or --depth.");
    Fid<fid_mr> owner(registration);
    if ((mode & FI_MR_ENDPOINT) != 0) {
      check(fi_mr_bind(registration, &ep_->fid, 0), "fi_mr_bind", *info_);
      check(fi_mr_enable(registration), "fi_mr_enable", *info_);
    }
    return owner;
  };
  if ((mode & FI_MR_LOCAL) != 0) {
    send_registration_ = registered(send_memory_, FI_SEND | FI_READ | FI_WRITE, kSendKey);
    receive_registration_ = registered(receive_memory_, FI_RECV, kReceiveKey);
    send_descriptor_ = fi_mr_desc(send_registration_.get());
    receive_descriptor_ = fi_mr_desc(receive_registration_.get());
  }
  window_registration_ = registered(window_memory_, FI_REMOTE_READ | FI_REMOTE_WRITE, kWindowKey);
  if (fi_mr_key(window_registration_.get()) == FI_KEY_NOTAVAIL) {
    throw Error(Fault::unavailable, call("fi_mr_key", *info_) + ": no key of 64 bits",
                "Name another --provider.");
  }
}

std::string Endpoint::address() const {
  std::array<char, kMaxEndpointName> name;
  std::size_t length = name.size();
  check(fi_getname(&ep_->fid, name.data(), &length), "fi_getname", *info_);
  const bool virtual_addresses = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  return write_address({.api = api_version(),
                        .provider = info_->fabric_attr->prov_name,
                        .protocol = info_->ep_attr->protocol,
                        .addr_format = info_->addr_format,
                        .name = std::string(name.data(), length),
                        .window_base = virtual_addresses
                                           ? reinterpret_cast<std::uintptr_t>(window_memory_.data())
                                           : 0,
                        .window_bytes = window_memory_.size(),
                        .window_key = fi_mr_key(window_registration_.get())});
}

void Endpoint::connect(std::string_view peer_address) {
  const Address peer = read_address(peer_address);
  const Address own = read_address(address());
  if (peer.api != own.api || peer.provider != own.provider || peer.protocol != own.protocol ||
      peer.addr_format != own.addr_format) {
    throw Error(Fault::failed,
                fmt::format("the peer uses {} (interface {}, protocol {}, "
                            "address format {}), this "
                            "side {} ({}, {}, {})",
                            peer.provider, version_text(peer.api), peer.protocol, peer.addr_format,
                            own.provider, version_text(own.api), own.protocol, own.addr_format),
                "Use the same build and the same libfabric on both sides.");
  }
  if (peer.window_bytes != own.window_bytes) {
    throw Error(Fault::failed,
                fmt::format("the peer's window has {} bytes, this side's {}", peer.window_bytes,
                            own.window_bytes),
                "Both sides must be opened for the same messages.");
  }
  // Providers read as many bytes as their kind of address has, whatever the
  // peer sent: zeros follow it.
  std::array<char, kMaxEndpointName + 1> name{};
  std::copy(peer.name.begin(), peer.name.end(), name.begin());
  const int inserted = fi_av_insert(av_.get(), name.data(), 1, &peer_, 0, nullptr);
  if (inserted != 1) {
    throw_fabric_error(Fault::failed, call("fi_av_insert", *info_),
                       inserted < 0 ? inserted : -FI_EINVAL,
                       "Can this side reach the peer's address?");
  }
  remote_base_ = peer.window_base;
  remote_key_ = peer.window_key;
  for (const ReceiveContext& receive : receives_) {
    if (post_receive(receive.slot) == PostStatus::posted) continue;
    throw Error(Fault::failed,
                fmt::format("{}: it took {} of {} receives", call("fi_recv", *info_), receive.slot,
                            receives_.size()),
                "Lower --depth.");
  }
}

void Endpoint::prepare(OperationCode code, std::uint64_t size) {
  if (size == 0 || size > max_size_) {
    throw Error(Fault::usage, fmt::format("a message of {} bytes", size),
                fmt::format("This endpoint was opened for 1 to {} bytes.", max_size_));
  }
  if (code == OperationCode::write_imm &&
      info_->domain_attr->cq_data_size < sizeof(std::uint32_t)) {
    throw Error(Fault::unavailable,
                fmt::format("provider {} carries {} bytes of remote completion data",
                            info_->fabric_attr->prov_name, info_->domain_attr->cq_data_size),
                "A write with immediate needs 4.");
  }
  operation_ = code;
  size_ = size;
  posted_ = 0;
}

int Endpoint::poll_failed(ssize_t result) noexcept {
  failure_code_ = static_cast<int>(-result);
  if (result != -FI_EAVAIL) return -1;
  fi_cq_err_entry error{};
  if (fi_cq_readerr(cq_.get(), &error, 0) == 1) {
    failure_code_ = error.err;
    fi_cq_strerror(cq_.get(), error.prov_errno, error.err_data, failure_detail_.data(),
                   failure_detail_.size() - 1);
  }
  return -1;
}

std::string Endpoint::failure() const {
  if (failure_code_ == 0) return "nothing failed";
  std::string text =
      fmt::format("{}: {}", call(name(operation_), *info_), fabric_error_text(failure_code_));
  if (failure_detail_[0] != '\0')
    text += fmt::format("; the provider says: {}", failure_detail_.data());
  return text + ". Has the peer ended, or the link gone down?";
}

Description Endpoint::describe() const {
  const fi_info& info = *info_;
  const bool notifies = operation_ == OperationCode::send || operation_ == OperationCode::write_imm;
  const bool injected = notifies && size_ <= inject_limit_;
  const bool delivered =
      operation_ == OperationCode::read || (info.tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0;
  return {.backend = "ofi",
          .provider = info.fabric_attr->prov_name,
          .device = info.domain_attr->name,
          .transport = "rdm",
          .completion = injected    ? "inject"
                        : delivered ? "delivery"
                                    : "transmit",
          .details = {{"fabric", info.fabric_attr->name},
                      {"protocol", to_text(&info.ep_attr->protocol, FI_TYPE_PROTOCOL)},
                      {"address_format", to_text(&info.addr_format, FI_TYPE_ADDR_FORMAT)},
                      {"interface", version_text(api_version())},
                      {"library", version_text(fi_version())},
                      {"inject_bytes", fmt::format("{}", inject_limit_)},
                      {"send_queue", fmt::format("{}", info.tx_attr->size)},
                      {"receive_queue", fmt::format("{}", info.rx_attr->size)},
                      {"registration", to_text(&info.domain_attr->mr_mode, FI_TYPE_MR_MODE)},
                      {"retries", fmt::format("{}", retries_)}}};
}

}  // namespace rdmabench::transport::ofi
