// What carries messages between two endpoints: the transport service, and which operations it has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "rdmabench/transport/operation.h"

namespace rdmabench::inline v1::transport {

/// `automatic`: the back end's usual one, RC or RDM. rc to srd are verbs' queue pair types, rdm and
/// msg libfabric's endpoint types.
enum class Service : std::uint8_t { automatic, rc, uc, ud, xrc, dc, srd, rdm, msg };

inline constexpr std::array<std::string_view, 9> kServiceNames{"auto", "rc",  "uc",  "ud", "xrc",
                                                               "dc",   "srd", "rdm", "msg"};

constexpr std::string_view name(Service service) {
  return kServiceNames[static_cast<std::size_t>(service)];
}

/// Lost messages are sent again until they arrive or the connection fails.
constexpr bool is_reliable(Service service) {
  return service != Service::uc && service != Service::ud;
}

/// Whether a service has an operation at all. Source: InfiniBand Architecture Specification,
/// volume 1, table "Service types and operations"; efadv_create_qp_ex(3) for SRD.
constexpr bool has_operation(Service service, OperationCode code) {
  if (is_extended(code)) return service == Service::automatic || service == Service::rc;
  switch (service) {
    case Service::uc:
      return !is_answered(code);
    case Service::ud:
      return is_two_sided(code);
    case Service::srd:
      return !is_atomic(code);
    default:
      return true;
  }
}

struct EndpointRequest;

/// What an open endpoint takes of a process besides the memory of its messages.
struct Footprint {
  std::uint64_t memory = 0;  ///< bytes
  std::uint64_t descriptors = 0;
};

/// What a back end tells of itself, whether this build has it or not: lib/transport/<name>/row.h.
struct BackendRow {
  std::string_view name{};   ///< that of its folder: "verbs"; a literal
  std::string_view needs{};  ///< the libraries that a build must have; "" = none
  std::span<const Service> services{};  ///< those that no other back end has
  bool reaches_others = true;           ///< other processes, and not this one alone
  /// Whether a request has an option of this back end alone, besides its services.
  bool (*has_own_option)(const EndpointRequest& request) = nullptr;
};

}  // namespace rdmabench::inline v1::transport
