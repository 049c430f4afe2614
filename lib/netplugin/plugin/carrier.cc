#include "carrier.h"

#include <fmt/format.h>

#include "rdmabench/base/error.h"
#include "rdmabench/features.h"
#include "rdmabench/transport/loop/backend.h"
#if RDMABENCH_HAVE_VERBS
#include "rdmabench/transport/verbs/backend.h"
#endif
#if RDMABENCH_HAVE_OFI
#include "rdmabench/transport/ofi/backend.h"
#endif

namespace rdmabench::netplugin::plugin {
namespace {

using transport::PostStatus;

template <class Endpoint>
class CarrierOf final : public Carrier {
 public:
  CarrierOf(const transport::EndpointRequest& request, std::string_view choice)
      : endpoint_(request, choice), bytes_(request.max_size) {
    unreturned_.reserve(request.receives);
  }

  std::string address() const override { return endpoint_.address(); }
  std::string failure() const override { return endpoint_.failure(); }

  void connect(std::string_view peer_address) override {
    endpoint_.connect(peer_address);
    endpoint_.prepare(transport::OperationCode::send, bytes_);
  }

  std::byte* slot(std::uint32_t index) noexcept override {
    const transport::Region region = endpoint_.send_region();
    return region.data + index * region.stride;
  }

  PostStatus post(std::uint32_t slot) noexcept override {
    return endpoint_.template post<transport::Send>(slot * endpoint_.send_region().stride, 0,
                                                    transport::Signal::now);
  }

  bool idle() const noexcept override { return endpoint_.posted() == endpoint_.completed(); }

  bool needs_progress() const noexcept override { return Endpoint::kNeedsProgress; }

  bool poll(Arrivals& arrivals) noexcept override {
    while (!unreturned_.empty() && give_back(unreturned_.back())) unreturned_.pop_back();
    const int seen = endpoint_.poll([&](const transport::Received& received) noexcept {
      if (received.slot == transport::kNoSlot) return;
      const transport::Region region = endpoint_.receive_region();
      arrivals.arrived(region.data + received.slot % region.slots * region.stride, bytes_);
      if (!give_back(received.slot)) unreturned_.push_back(received.slot);
    });
    return seen >= 0 && !failed_;
  }

 private:
  bool give_back(std::uint32_t slot) noexcept {
    const PostStatus status = endpoint_.post_receive(slot);
    failed_ = failed_ || status == PostStatus::failed;
    return status != PostStatus::busy;
  }

  Endpoint endpoint_;
  std::uint64_t bytes_;
  std::vector<std::uint32_t> unreturned_;  // receives that the provider did not take back yet
  bool failed_ = false;
};

template <class Endpoint>
std::unique_ptr<Carrier> open(const transport::EndpointRequest& request, std::string_view choice) {
  return std::make_unique<CarrierOf<Endpoint>>(request, choice);
}

}  // namespace

const std::vector<BackendCalls>& backends() {
  static const std::vector<BackendCalls> kAll {
#if RDMABENCH_HAVE_VERBS
    {transport::verbs::kName, &transport::verbs::offer, &transport::verbs::choose,
     &transport::verbs::devices, &open<transport::verbs::Endpoint>},
#endif
#if RDMABENCH_HAVE_OFI
        {transport::ofi::kName, &transport::ofi::offer, &transport::ofi::choose,
         &transport::ofi::devices, &open<transport::ofi::Endpoint>},
#endif
        {transport::loop::kName, &transport::loop::offer, &transport::loop::choose,
         &transport::loop::devices, &open<transport::loop::Endpoint>},
  };
  return kAll;
}

const BackendCalls& find_backend(std::string_view name) {
  std::string known;
  for (const BackendCalls& one : backends()) {
    if (one.name == name) return one;
    known += fmt::format(", {}", one.name);
  }
  const bool left_out = name == "verbs" || name == "ofi";
  throw Error(left_out ? Fault::unavailable : Fault::usage,
              fmt::format("RDMABENCH_NET_BACKEND={}", name),
              fmt::format("It may be auto{}.", known));
}

transport::EndpointRequest request_of(std::uint32_t bytes, std::uint32_t slots, bool client) {
  transport::EndpointRequest request;
  request.client = client;
  request.operation = transport::OperationCode::send;
  request.latency = false;
  request.both_ways = true;
  request.max_size = bytes;
  request.depth = slots;
  request.receives = slots;
  request.send_slots = slots;
  request.receive_slots = slots;
  return request;
}

}  // namespace rdmabench::netplugin::plugin
