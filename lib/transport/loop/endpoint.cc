#include "rdmabench/transport/loop/endpoint.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <mutex>

#include "rdmabench/base/error.h"
#include "row.h"
#include "transport/own_options.h"
#include "transport/slots.h"

namespace rdmabench::inline v1::transport::loop {
namespace {

static_assert(Transport<Endpoint>);
static_assert(Transport<ManyEndpoint>);

/// The open endpoints of this process by address: a peer names one, and never sends a pointer.
class Registry {
 public:
  std::string add(const std::shared_ptr<Port>& port) {
    const std::lock_guard lock(mutex_);
    std::string id = fmt::format("loop-{}", ++last_);
    ports_[id] = port;
    return id;
  }

  void remove(const std::string& id) {
    const std::lock_guard lock(mutex_);
    ports_.erase(id);
  }

  std::shared_ptr<Port> find(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = ports_.find(id);
    return found == ports_.end() ? nullptr : found->second.lock();
  }

 private:
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::string, std::weak_ptr<Port>> ports_;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

/// Throws for what was asked for and would silently not be done.
void check(const EndpointRequest& request, bool many_queue_pairs) {
  static constexpr std::array kServices{Service::rc};
  refuse_lack(kRow.name, lack_of_service(request, kServices), Fault::usage);
  refuse_lack(kRow.name, lack_of(request, kRow.name), Fault::usage);
  check_messages(request);
  if (request.options.queue_pairs == 0 || (request.options.queue_pairs > 1 && !many_queue_pairs)) {
    throw Error(Fault::usage, fmt::format("{} queue pairs in this endpoint of loop",
                                          request.options.queue_pairs));
  }
}

/// `first`, and behind it what the caller brings besides.
std::vector<std::span<std::byte>> regions_of(std::span<std::byte> first,
                                             const EndpointRequest& request) {
  const auto more = more_buffers(request);
  std::vector<std::span<std::byte>> regions{first};
  regions.insert(regions.end(), more.begin(), more.end());
  return regions;
}

}  // namespace

Port::Port(const EndpointRequest& request)
    : receive_memory(make_slots({}, request.receive_buffer, request, request.receive_slots)),
      window_memory(make_slots({}, first_buffer(request), request, request.send_slots)),
      receive_region(
          region_of(receive_memory, request.receive_buffer, request, request.receive_slots)),
      window(region_of(window_memory, first_buffer(request), request, request.send_slots)),
      bytes(window_bytes(window, request)),
      regions(regions_of({window.data, bytes}, request)) {
  for (std::uint32_t queue_pair = 0; queue_pair < request.options.queue_pairs; ++queue_pair) {
    queue_pairs.push_back(std::make_unique<QueuePairPort>(request.receives));
  }
}

EndpointBase::EndpointBase(const EndpointRequest& request, bool many_queue_pairs)
    : port_((check(request, many_queue_pairs), std::make_shared<Port>(request))),
      send_memory_(make_slots({}, first_buffer(request), request, request.send_slots)),
      send_region_(region_of(send_memory_, first_buffer(request), request, request.send_slots)),
      send_bytes_(window_bytes(send_region_, request)),
      regions_(regions_of({send_region_.data, send_bytes_}, request)),
      operations_(request.operations),
      brings_memory_(!request.buffers.empty()),
      depth_(request.depth),
      receives_(request.receives),
      max_size_(request.max_size),
      longest_list_(request.options.post_list),
      signal_every_(request.signal_every),
      counts_(request.options.queue_pairs, QueuePairCount{.until_signal = request.signal_every}) {
  id_ = registry().add(port_);
}

EndpointBase::~EndpointBase() {
  registry().remove(id_);
}

std::string EndpointBase::address() const {
  return id_;
}

void EndpointBase::connect(std::string_view peer_address) {
  peer_ = registry().find(std::string(peer_address));
  if (peer_ == nullptr) {
    throw Error(Fault::failed, fmt::format("no loop endpoint '{}' in this process", peer_address),
                "The loop back end joins two threads of one process.");
  }
  const bool alike =
      peer_->window.stride == port_->window.stride && peer_->window.slots == port_->window.slots;
  if ((!alike && !brings_memory_) || peer_->queue_pairs.size() != port_->queue_pairs.size()) {
    throw Error(Fault::failed, "the two loop endpoints were opened for different messages");
  }
  for (std::uint32_t queue_pair = 0; queue_pair < port_->queue_pairs.size(); ++queue_pair) {
    for (std::uint32_t i = 0; i < receives_; ++i) {
      port_->queue_pairs[queue_pair]->receives.push(queue_pair * receives_ + i);
    }
  }
}

Description EndpointBase::describe(std::uint64_t /*bytes*/) const {
  return {.backend = "loop",
          .provider = "loop",
          .device = "memory",
          .transport = "rc",
          .completion = "delivery",
          .details = {}};
}

}  // namespace rdmabench::inline v1::transport::loop
