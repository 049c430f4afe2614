#include "rdmabench/transport/ofi/objects.h"

#include <fmt/format.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "accepted.h"
#include "base/shared_memory_files.h"
#include "fabric_abi.h"
#include "fabric_error.h"
#include "fits.h"
#include "memory/gpu_memory.h"
#include "messages.h"
#include "neighbours.h"
#include "provider_info.h"
#include "transport/ofi/gpu_memory.h"
#include "transport/ofi/offload.h"
#include "transport/session_request.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::ofi {
namespace {

/// shm keeps what two processes share in a file of /dev/shm that it names after the process. Where
/// one is there whose process has ended, shm takes it, whoever it belongs to: another user could
/// have put one of his own there, to read and change all that is sent. He cannot guess this name,
/// and by it others see whether its process has ended.
void name_shared_memory(fid_ep& endpoint, const fi_info& info) {
  if (!is_shm(info)) return;
  std::string name = "fi_shm://" + shared_memory_name();
  check(fi_setname(&endpoint.fid, name.data(), name.size() + 1), "fi_setname", info);
}

std::string key_text(const fi_info& info) {
  if ((info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0) return "the provider's choice";
  return fmt::format("random, {} bits",
                     8 * std::min<std::size_t>(info.domain_attr->mr_key_size, 8));
}

/// Posts that may be under way on a queue pair.
std::uint32_t depth_of(const EndpointRequest& request) {
  const bool limited =
      request.options.outstanding_reads > 0 && request.operations.any(is_from_target);
  return limited ? std::min(request.depth, request.options.outstanding_reads) : request.depth;
}

}  // namespace

OpenObjects::OpenObjects() = default;
OpenObjects::~OpenObjects() = default;
OpenObjects::OpenObjects(OpenObjects&& other) noexcept = default;

Objects::Objects(const EndpointRequest& request, std::string_view choice)
    : operations_(request.operations),
      max_size_(request.max_size),
      request_(request),
      route_(std::make_unique<MemoryRoute>()),
      offload_(std::make_unique<Offload>()) {
  info_ = chosen_info(request, choice);
  inject_limit_ = inject_limit(*info_, request);
  write_flags_ = FI_COMPLETION | (info_->tx_attr->op_flags & FI_DELIVERY_COMPLETE);
  accepted_ = std::make_unique<Accepted>();
  receives_.resize(std::size_t{request.receives} * request.options.queue_pairs);
  send_memory_ = make_memory(request, first_buffer(request), request.send_slots);
  receive_memory_ = make_memory(request, request.receive_buffer, request.receive_slots);
  window_memory_ = make_memory(request, first_buffer(request), request.send_slots);
  for (const std::span<std::byte> buffer : more_buffers(request)) {
    memory::Request where = place_of(request);
    where.existing = buffer.data();
    more_memory_.emplace_back(where, buffer.size());
  }
  const std::uint32_t depth = depth_of(request);
  std::uint64_t* operands = nullptr;
  if (request.operations.any(is_atomic)) {
    operand_memory_ = memory::Buffer(std::uint64_t{request.options.queue_pairs} * depth *
                                     ContextPool::kOperands * sizeof(std::uint64_t));
    operands = reinterpret_cast<std::uint64_t*>(operand_memory_.data());
  }
  for (std::uint32_t queue_pair = 0; queue_pair < request.options.queue_pairs; ++queue_pair) {
    contexts_.emplace_back(
        depth, queue_pair,
        operands == nullptr ? nullptr
                            : operands + std::size_t{queue_pair} * depth * ContextPool::kOperands);
  }
  open_queues();
  if (request.options.service != Service::msg) {
    open_datagram_queue_pairs();
  } else if (!request.client) {
    open_listener();
  }
  settle_memory();
  register_memory();
  if (is_shm(*info_)) enter_neighbours(this, names());
}

Objects::~Objects() {
  try {
    if (core_of(info_->fabric_attr->prov_name) == "efa") {  // it listens to nobody
      close_apart();
    } else if (is_shm(*info_)) {
      leave_neighbours(this, std::move(static_cast<OpenObjects&>(*this)));
    } else {
      accepted_->note(names());
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // No memory, say: then strangers' connections stay, and what is open is closed here.
  }
}

memory::Request Objects::place_of(const EndpointRequest& request) const {
  memory::Request where = memory::parse_request(request.memory);
  where.gpu_mapping = request.options.gpu_mapping;
  where.numa = memory::parse_numa(request.numa);
  where.device = nic_of(*info_);
  return where;
}

memory::Buffer Objects::make_memory(const EndpointRequest& request, std::span<std::byte> buffer,
                                    std::uint32_t slots) const {
  return make_slots(place_of(request), buffer, request, slots);
}

void Objects::settle_memory() {
  if (window_memory_.gpu() != nullptr) {
    route_->gpu = true;
    if (route_->refused.empty()) {
      MemoryRoute found =
          find_route(*domain_, *info_, window_memory_, session_of(request_).failed_routes);
      found.peer_to_peer = std::move(route_->peer_to_peer);
      *route_ = std::move(found);
    }
    std::vector<memory::Buffer*> all{&send_memory_, &receive_memory_, &window_memory_};
    for (memory::Buffer& memory : more_memory_) all.push_back(&memory);
    for (memory::Buffer* memory : all) {
      if (!route_->hmem && !(request_.buffers.empty() && request_.receive_buffer.empty())) {
        throw Error(Fault::unavailable,
                    call("memory of the caller on a GPU", *info_) + ": it does not take GPU memory",
                    "Memory of the caller is not copied: name another provider.");
      }
      if (!route_->hmem) {
        memory->stage_through_host();
      } else if (route_->dma_buf && memory != &window_memory_) {
        memory->gpu()->export_dma_buf(memory::GpuMapping::automatic);
      }
    }
  }
  send_region_ = region_of(send_memory_, first_buffer(request_), request_, request_.send_slots);
  receive_region_ =
      region_of(receive_memory_, request_.receive_buffer, request_, request_.receive_slots);
  window_region_ = region_of(window_memory_, first_buffer(request_), request_, request_.send_slots);
  for (std::uint32_t slot = 0; slot < receives_.size(); ++slot) {
    receives_[slot].slot = slot;
    receives_[slot].queue_pair = slot / request_.receives;
    receives_[slot].buffer =
        receive_region_.data + slot % receive_region_.slots * receive_region_.stride;
  }
}

void Objects::open_queues() {
  const bool connected = request_.options.service == Service::msg;
  fid_fabric* fabric = nullptr;
  check(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric", *info_);
  fabric_.reset(fabric);
  if (connected) {
    fi_eq_attr attributes{};
    attributes.wait_obj = FI_WAIT_UNSPEC;
    fid_eq* eq = nullptr;
    check(fi_eq_open(fabric, &attributes, &eq, nullptr), "fi_eq_open", *info_);
    eq_.reset(eq);
  }
  fid_domain* domain = nullptr;
  check(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain", *info_);
  domain_.reset(domain);
  if (!connected) {
    fi_av_attr attributes{};
    attributes.type = FI_AV_TABLE;
    attributes.count = request_.options.queue_pairs;
    fid_av* av = nullptr;
    check(fi_av_open(domain, &attributes, &av, nullptr), "fi_av_open", *info_);
    av_.reset(av);
  }
  fi_cq_attr attributes{};
  attributes.size = completions_of(request_);
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = request_.options.events ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  int opened = fi_cq_open(domain, &attributes, &cq, nullptr);
  cq_.reset(cq);
  if (request_.options.events) {
    if (opened == 0) opened = fi_control(&cq->fid, FI_GETWAIT, &wait_fd_);
    if (opened != 0) {
      throw_fabric_error(Fault::unavailable,
                         call("fi_cq_open", *info_) + " with a descriptor to wait on (FI_WAIT_FD)",
                         opened, "Leave out `events`: this provider can only be polled.");
    }
  }
  check(opened, "fi_cq_open", *info_, "Lower `depth`.");
  writes_take_receives_ = connected && (info_->mode & FI_RX_CQ_DATA) != 0;
}

Fid<fid_ep> Objects::open_endpoint(fi_info& info) {
  fid_ep* endpoint = nullptr;
  check(fi_endpoint(domain_.get(), &info, &endpoint, nullptr), "fi_endpoint", *info_);
  Fid<fid_ep> owner(endpoint);
  name_shared_memory(*endpoint, *info_);
  fid* const bound = av_ != nullptr ? &av_->fid : &eq_->fid;
  check(fi_ep_bind(endpoint, bound, 0), "fi_ep_bind", *info_);
  check(fi_ep_bind(endpoint, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind to the queue", *info_);
  // efa-direct takes the option and has no shared memory.
  const bool shared =
      request_.options.ofi.shared_memory && info_->fabric_attr->name != kDeviceAlone;
  *offload_ = settle_offload(options_of(*endpoint, info_->fabric_attr->prov_name), shared);
  if (window_memory_.gpu() != nullptr && (info_->caps & FI_HMEM) != 0) {
    ask_peer_to_peer(*endpoint, *info_, *route_);
  }
  check(fi_enable(endpoint), "fi_enable", *info_);
  refresh_offload(options_of(*endpoint, info_->fabric_attr->prov_name), *offload_);
  inject_limit_ = std::min(inject_limit_,
                           injectable_bytes(*endpoint, info_->fabric_attr->prov_name, operations_));
  return owner;
}

void Objects::open_datagram_queue_pairs() {
  if (request_.options.queue_pairs > 1 && (info_->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    throw Error(
        Fault::unavailable,
        fmt::format("{} queue pairs on provider {}, which registers memory for one endpoint",
                    request_.options.queue_pairs, info_->fabric_attr->prov_name),
        "Use one queue pair, or another `provider`.");
  }
  for (std::uint32_t queue_pair = 0; queue_pair < request_.options.queue_pairs; ++queue_pair) {
    queue_pairs_.push_back({open_endpoint(*info_), FI_ADDR_UNSPEC});
  }
  check_atomics();
}

void Objects::open_listener() {
  std::random_device random;
  ticket_ = std::uint64_t{random()} << 32 | random();
  fid_pep* listener = nullptr;
  check(fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr), "fi_passive_ep", *info_);
  listener_.reset(listener);
  check(fi_pep_bind(listener, &eq_->fid, 0), "fi_pep_bind", *info_);
  check(fi_listen(listener), "fi_listen", *info_);
}

/// FI_ATOMIC promises atomics, and not each of them on each type.
void Objects::check_atomics() {
  fid_ep* endpoint = queue_pairs_[0].ep.get();
  operations_.any([&](OperationCode code) {
    if (!is_atomic(code)) return false;
    std::size_t count = 0;
    const auto valid_call =
        traits(code).conditional ? fi_compare_atomicvalid : fi_fetch_atomicvalid;
    const int valid = valid_call(endpoint, FI_UINT64, atomic_op(code), &count);
    if (valid == 0 && count >= 1) return false;
    throw_fabric_error(Fault::unavailable, call(name(code), *info_) + " of 8 bytes",
                       valid != 0 ? valid : -FI_EOPNOTSUPP, "Name another `provider`.");
  });
}

ssize_t Objects::receive_into(std::uint32_t slot) noexcept {
  ReceiveContext& receive = receives_[slot];
  return fi_recv(queue_pairs_[receive.queue_pair].ep.get(), receive.buffer, request_.max_size,
                 receive_descriptor_, queue_pairs_[receive.queue_pair].from, &receive);
}

void Objects::repost(void* receive_context) noexcept {
  const ssize_t result = receive_into(static_cast<ReceiveContext*>(receive_context)->slot);
  if (result == 0) return;
  failure_code_ = static_cast<int>(-result);
  reposts_failed_ = true;
}

int Objects::poll_failed(ssize_t result) noexcept {
  failure_code_ = static_cast<int>(-result);
  if (result != -FI_EAVAIL) return -1;
  WithRoom<fi_cq_err_entry> with_room;
  fi_cq_err_entry& error = with_room.known;
  if (fi_cq_readerr(cq_.get(), &error, 0) == 1) {
    failure_code_ = error.err;
    fi_cq_strerror(cq_.get(), error.prov_errno, error.err_data, failure_detail_.data(),
                   failure_detail_.size() - 1);
  }
  return -1;
}

bool Objects::sleep(std::chrono::milliseconds at_most) noexcept {
  std::array<fid*, 1> queues{&cq_->fid};
  const int allowed = fi_trywait(fabric_.get(), queues.data(), 1);
  if (allowed == -FI_EAGAIN) return true;  // something came meanwhile
  if (allowed == 0) {
    pollfd wait{.fd = wait_fd_, .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(at_most.count())) >= 0 || errno == EINTR) return true;
  }
  failure_code_ = allowed != 0 ? -allowed : errno;
  return false;
}

std::string Objects::failure() const {
  if (refused_) {
    return "a post of an operation or a length that the endpoint was not opened for, or outside of "
           "a region";
  }
  if (failure_code_ == 0) return "nothing failed";
  std::string text =
      fmt::format("{}: {}", call("data path", *info_), fabric_error_text(failure_code_));
  if (failure_detail_[0] != '\0')
    text += fmt::format("; the provider says: {}", failure_detail_.data());
  return text + ". Has the peer ended, or the link gone down?";
}

Failure Objects::failed_call() const {
  if (refused_ || failure_code_ == 0) return {};
  return {.code = failure_code_ < FI_ERRNO_OFFSET ? failure_code_ : 0,
          .library = "libfabric",
          .status = fabric_error_text(failure_code_)};
}

Description Objects::describe(std::uint64_t bytes) const {
  const fi_info& info = *info_;
  const bool connected = request_.options.service == Service::msg;
  const std::uint64_t size = bytes != 0 ? bytes : max_size_;
  const bool granted = (info.tx_attr->op_flags & FI_DELIVERY_COMPLETE) != 0;
  const auto level = [&](OperationSet operations) {
    if (operations.any(notifies) && size <= inject_limit_) return std::string_view("inject");
    const bool all = !operations.any([](OperationCode code) { return !is_from_target(code); });
    if (all) return std::string_view("delivery");
    if (!granted) return std::string_view("transmit");
    return granted_level(*offload_, info.fabric_attr->prov_name, info.fabric_attr->name,
                         operations);
  };
  Description description{
      .backend = "ofi",
      .provider = info.fabric_attr->prov_name,
      .device = info.domain_attr->name,
      .transport =
          std::string(name(request_.options.service == Service::msg ? Service::msg : Service::rdm)),
      .completion = std::string(level(operations_)),
      .details = {{"fabric", info.fabric_attr->name},
                  {"protocol", to_text(&info.ep_attr->protocol, FI_TYPE_PROTOCOL)},
                  {"address_format", to_text(&info.addr_format, FI_TYPE_ADDR_FORMAT)},
                  {"interface", version_text(api_version())},
                  {"library", version_text(fi_version())},
                  {"inject_bytes", fmt::format("{}", inject_limit_)},
                  {"send_queue", fmt::format("{}", info.tx_attr->size)},
                  {"receive_queue", fmt::format("{}", info.rx_attr->size)},
                  {"registration", to_text(&info.domain_attr->mr_mode, FI_TYPE_MR_MODE)},
                  {"window_key", key_text(info)},
                  {"receives_from", connected ? "the connected peer"
                                    : (info.caps & FI_DIRECTED_RECV) != 0
                                        ? "the peer alone"
                                        : "any sender: this provider has no directed receives"},
                  {"wait", request_.options.events ? "FI_WAIT_FD" : "polled"},
                  {"retries", fmt::format("{}", retries_)}}};
  operations_.any([&](OperationCode code) {  // one word for all of them may be wrong for one
    if (const auto own = level(code); own != description.completion) {
      description.details.emplace_back(fmt::format("completion_of_{}", name(code)), own);
    }
    return false;
  });
  if (const double gbps = link_gbps(info); gbps > 0) {
    description.details.emplace_back("rate_gbps", fmt::format("{:g}", gbps));
  }
  description.details.emplace_back("memory", request_.memory);
  if (!route_->gpu) {
    description.details.emplace_back("memory_placement", window_memory_.placement());
    description.details.emplace_back("memory_nodes", memory::to_text(window_memory_.nodes()));
  } else {
    const memory::GpuMemory& gpu = *window_memory_.gpu();
    auto& details = description.details;
    description.memory_routes.push_back(route_->text());
    details.emplace_back("memory_route", route_->text());
    details.emplace_back("memory_routes_refused", route_->refused);
    details.emplace_back("gpu", gpu.choice());
    details.emplace_back("gpu_memory", gpu.facts());
    details.emplace_back("gpu_flush", gpu.flush_text());
    if (gpu.staged()) details.emplace_back("memory_on_wire", "pinned host memory, not the GPU's");
    if (route_->hmem) details.emplace_back("gpu_peer_to_peer", route_->peer_to_peer);
  }
  for (auto& fact : offload_facts(*offload_, description.provider, operations_)) {
    description.details.push_back(std::move(fact));
  }
  return description;
}

}  // namespace rdmabench::inline v1::transport::ofi
