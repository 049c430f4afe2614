#include "rdmabench/transport/loop/endpoint.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "rdmabench/base/error.h"

namespace rdmabench::transport::loop {
namespace {

static_assert(Transport<Endpoint>);

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

Region region_of(const memory::Buffer& memory, std::uint64_t max_size, std::uint32_t slots) {
  return {memory.data(), memory::slot_stride(max_size), slots};
}

}  // namespace

Port::Port(const EndpointRequest& request)
    : receive_memory(memory::slot_stride(request.max_size) * request.receive_slots),
      window_memory(memory::slot_stride(request.max_size) * request.send_slots),
      receive_region(region_of(receive_memory, request.max_size, request.receive_slots)),
      window(region_of(window_memory, request.max_size, request.send_slots)),
      receives(request.receives),
      arrivals(request.receives) {}

Endpoint::Endpoint(const EndpointRequest& request, std::string_view /*choice*/)
    : port_(std::make_shared<Port>(request)),
      send_memory_(memory::slot_stride(request.max_size) * request.send_slots),
      send_region_(region_of(send_memory_, request.max_size, request.send_slots)),
      depth_(request.depth),
      receives_(request.receives),
      max_size_(request.max_size),
      signal_every_(request.signal_every),
      until_signal_(request.signal_every) {
  id_ = registry().add(port_);
}

Endpoint::~Endpoint() {
  registry().remove(id_);
}

std::string Endpoint::address() const {
  return id_;
}

void Endpoint::connect(std::string_view peer_address) {
  peer_ = registry().find(std::string(peer_address));
  if (peer_ == nullptr) {
    throw Error(Fault::failed, fmt::format("no loop endpoint '{}' in this process", peer_address),
                "The loop back end joins two threads of one process.");
  }
  if (peer_->window.stride != port_->window.stride || peer_->window.slots != port_->window.slots) {
    throw Error(Fault::failed, "the two loop endpoints were opened for different messages");
  }
  for (std::uint32_t slot = 0; slot < receives_; ++slot) post_receive(slot);
}

void Endpoint::prepare(OperationCode /*code*/, std::uint64_t size) {
  if (size == 0 || size > max_size_) {
    throw Error(Fault::usage, fmt::format("a message of {} bytes", size),
                fmt::format("This endpoint was opened for 1 to {} bytes.", max_size_));
  }
  size_ = size;
  posted_ = signalled_ = completed_ = 0;
  until_signal_ = signal_every_;
}

Description Endpoint::describe() const {
  return {.backend = "loop",
          .provider = "loop",
          .device = "memory",
          .transport = "rc",
          .completion = "delivery",
          .details = {}};
}

}  // namespace rdmabench::transport::loop
