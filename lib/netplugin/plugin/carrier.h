// An endpoint of one back end as the plugin uses it: slots of one size, sent and received.
//
// The one place where the plugin erases a transport's type: once for each call of NCCL's, and not
// in a loop that is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rdmabench/transport/transport.h"

namespace rdmabench::netplugin::plugin {

/// Who takes what arrives.
class Arrivals {
 public:
  /// `bytes` of the slot may be read, whatever the peer wrote into them.
  virtual void arrived(const std::byte* slot, std::uint64_t bytes) noexcept = 0;

 protected:
  ~Arrivals() = default;
};

class Carrier {
 public:
  virtual ~Carrier() = default;
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  virtual std::string address() const = 0;
  virtual void connect(std::string_view peer_address) = 0;
  virtual std::byte* slot(std::uint32_t index) noexcept = 0;
  /// The slot may be written again when the peer has confirmed it, or idle() is true.
  virtual transport::PostStatus post(std::uint32_t slot) noexcept = 0;
  /// Whether all posts have completed, as of the last poll.
  virtual bool idle() const noexcept = 0;
  /// Whether posts that are not yet complete wait for polls.
  virtual bool needs_progress() const noexcept = 0;
  /// False when something failed.
  virtual bool poll(Arrivals& arrivals) noexcept = 0;
  virtual std::string failure() const = 0;
};

/// The back ends that may be named, those that 'auto' takes first.
struct BackendCalls {
  std::string_view name;
  std::string (*offer)(const transport::EndpointRequest&);
  transport::Choice (*choose)(const transport::EndpointRequest&, std::string_view client_offer,
                              std::string_view server_offer);
  std::vector<transport::DeviceInfo> (*devices)();
  std::unique_ptr<Carrier> (*open)(const transport::EndpointRequest&, std::string_view choice);
};

const std::vector<BackendCalls>& backends();
/// Throws Error(unavailable) for one that is not in this build, Error(usage) for an unknown one.
const BackendCalls& find_backend(std::string_view name);

/// Messages of `bytes`, `slots` of them under way each way.
transport::EndpointRequest request_of(std::uint32_t bytes, std::uint32_t slots, bool client);

}  // namespace rdmabench::netplugin::plugin
