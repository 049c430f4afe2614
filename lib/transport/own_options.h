// The options that one back end alone has, and the others refuse.
#pragma once

#include <string_view>

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

}  // namespace rdmabench::inline v1::transport
