// The options that some back ends alone have, and the others refuse.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rdmabench/base/error.h"
#include "rdmabench/transport/transport.h"

namespace rdmabench::inline v1::transport {

/// The first one that a request has, as errors name it; "" = none.
inline std::string_view verbs_option(const EndpointRequest& request) {
  const VerbsOptions& options = request.options.verbs;
  const PathOptions& path = options.path;
  return options.shared_receives          ? "`shared_receives`"
         : options.completion_vector >= 0 ? "`completion_vector`"
         : options.region_per_queue_pair  ? "`region_per_queue_pair`"
         : options.rdma_cm                ? "`rdma_cm`"
         : options.mtu != 0               ? "`mtu`"
         : path.service_level >= 0        ? "`service_level`"
         : path.traffic_class >= 0        ? "`traffic_class`"
         : path.flow_label >= 0           ? "`flow_label`"
         : path.hop_limit >= 0            ? "`hop_limit`"
         : path.partition_index >= 0      ? "`partition_index`"
         : path.timeout >= 0              ? "`qp_timeout`"
         : path.retry_count >= 0          ? "`retry_count`"
         : path.rnr_retry_count >= 0      ? "`rnr_retry_count`"
         : path.rnr_timer >= 0            ? "`rnr_timer`"
         : options != VerbsOptions{}      ? "option of verbs alone"
                                          : "";
}

/// `delivery` and `shared_memory` are none that others refuse: where messages are acknowledged they
/// do the first one anyhow, and the second one is leave.
inline std::string_view ofi_option(const EndpointRequest& request) {
  return !request.options.ofi.provider.empty() ? "`provider`"
         : !request.fabric.empty()             ? "`fabric`"
                                               : "";
}

inline std::string_view ucx_option(const EndpointRequest& request) {
  return request.options.ucx != UcxOptions{} ? "`ucx_tls`" : "";
}

/// What some back ends have, and one that only copies has no use for.
struct OptionOfSome {
  std::string_view name;                         ///< as in errors, without backquotes
  std::string_view who;                          ///< has it
  std::string (*asked)(const EndpointRequest&);  ///< what for; "" = it is not
};

inline constexpr std::array<OptionOfSome, 7> kOptionsOfSome{{
    {"memory", "verbs or ofi",
     [](const EndpointRequest& r) {
       return r.memory.empty() || r.memory == "host" ? "" : "memory '" + r.memory + "'";
     }},
    {"gid_index", "verbs",
     [](const EndpointRequest& r) {
       return std::string(r.gid_index == kAnyGid ? "" : "`gid_index`");
     }},
    {"events", "verbs, ofi or ucx",
     [](const EndpointRequest& r) {
       return std::string(r.options.events ? "`events` (completion events)" : "");
     }},
    {"segments", "verbs",
     [](const EndpointRequest& r) {
       return std::string(r.options.segments > 1 ? "scatter/gather lists" : "");
     }},
    {"separate_queues", "verbs",
     [](const EndpointRequest& r) {
       return std::string(r.options.separate_queues ? "second completion queue" : "");
     }},
    {"on_demand", "verbs",
     [](const EndpointRequest& r) {
       return std::string(r.options.on_demand ? "on-demand paging" : "");
     }},
    {"relaxed_ordering", "verbs",
     [](const EndpointRequest& r) {
       return std::string(r.options.relaxed_ordering ? "choice of relaxed ordering" : "");
     }},
}};

/// The options that one back end alone has, besides those of which it is not the only one.
struct OwnOption {
  std::string_view who;
  std::string_view (*asked)(const EndpointRequest&);
};

inline constexpr std::array<OwnOption, 3> kOwnOptions{{
    {"verbs", &verbs_option},
    {"ofi", &ofi_option},
    {"ucx", &ucx_option},
}};

/// What an endpoint lacks, and who has it.
struct Lack {
  std::string what{};  ///< "" = nothing
  std::string_view who{};
};

/// The first option that is another back end's own.
inline Lack foreign_option(const EndpointRequest& request, std::string_view backend) {
  for (const OwnOption& one : kOwnOptions) {
    if (one.who == backend) continue;
    if (const auto what = one.asked(request); !what.empty()) return {std::string(what), one.who};
  }
  return {};
}

/// The first thing that is asked for, but for what `takes` names of kOptionsOfSome.
inline Lack lack_of(const EndpointRequest& request, std::string_view backend,
                    std::span<const std::string_view> takes = {}) {
  for (const OptionOfSome& one : kOptionsOfSome) {
    if (std::ranges::find(takes, one.name) != takes.end()) continue;
    if (std::string what = one.asked(request); !what.empty()) return {std::move(what), one.who};
  }
  return foreign_option(request, backend);
}

/// A service that is none of those that the back end has.
inline Lack lack_of_service(const EndpointRequest& request, std::span<const Service> services) {
  const Service asked = request.options.service;
  if (asked == Service::automatic || std::ranges::find(services, asked) != services.end()) {
    return {};
  }
  return {.what = fmt::format("`service` {}", name(asked)), .who = {}};
}

/// What each back end says of it. Throws where there is a lack.
inline void refuse_lack(std::string_view backend, const Lack& lack,
                        Fault fault = Fault::unavailable) {
  if (lack.what.empty()) return;
  throw Error(fault, fmt::format("the {} back end has no {}", backend, lack.what),
              lack.who.empty() ? "Leave it out, or use another `backend`."
                               : fmt::format("Use `backend` {}, or leave it out.", lack.who));
}

}  // namespace rdmabench::inline v1::transport
